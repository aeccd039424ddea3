// Requests to a node's BMC and its answers, as the API shows them.

import { Type } from 'typebox';
import { BOOT_DEVICES } from '../../bmc/bmc.ts';
import { POWER_ACTIONS } from '../power-actions.ts';
import { component, nullable, PageSize, Time } from './shared.ts';

const closed = { additionalProperties: false } as const;

const Mode = Type.Enum(['real', 'recorder'], {
  description: "`recorder`: the site's BMCs are not used; the trail records what would be done",
});

const Power = Type.Enum(['on', 'off', 'unknown']);

const Health = Type.Enum(['ok', 'warning', 'critical', 'unknown']);

/** The first fields of every answer about one node's BMC. */
const Answered = { node: Type.String({ description: 'Host name' }), mode: Mode };

export const PowerRequest = Type.Object(
  {
    action: Type.Enum([...POWER_ACTIONS], {
      description:
        'on, off: it is so afterwards. cycle: off and on. reset: starts anew without losing power. ' +
        'soft: its operating system is asked to shut down',
    }),
  },
  closed,
);

export const PowerAnswer = Type.Object({
  ...Answered,
  power: Power,
  note: Type.Optional(Type.String({ description: 'What this start does to the work that is under way' })),
});

export const BootRequest = Type.Object(
  {
    device: Type.Enum([...BOOT_DEVICES], { description: 'none: the boot order of the firmware' }),
    persistent: Type.Optional(Type.Boolean({ description: 'Every boot, not only the next one (default: false)' })),
    firmware: Type.Optional(Type.Enum(['efi', 'legacy'], { description: 'Left out: the BMC decides' })),
  },
  closed,
);

export const BootAnswer = Type.Object({
  ...Answered,
  device: Type.Enum([...BOOT_DEVICES], { description: 'As read back from the BMC' }),
  differences: Type.Array(Type.String(), {
    description: 'Differences between the requested and the read-back settings',
  }),
});

export const IdentifyRequest = Type.Object(
  {
    light: Type.Union([Type.Enum(['on', 'off']), Type.Integer({ minimum: 1, maximum: 255 })], {
      description: 'on, off, or on for a number of seconds',
    }),
  },
  closed,
);

export const IdentifyAnswer = Type.Object(Answered);

export const Sensor = Type.Object({
  name: Type.String(),
  kind: Type.String(),
  value: nullable(Type.Number()),
  unit: Type.String(),
  health: Health,
  states: Type.Array(Type.String()),
});

export const SensorsAnswer = Type.Object({ ...Answered, sensors: Type.Array(Sensor) });

export const EventLogEntry = Type.Object({
  id: Type.String(),
  at: nullable(Time),
  severity: Health,
  message: Type.String(),
});

export const EventLogAnswer = Type.Object({ ...Answered, entries: Type.Array(EventLogEntry) });

export const ClearAnswer = Type.Object(Answered);

export const ConsoleLogQuery = Type.Object(
  {
    lines: PageSize(200, 5000),
    boot: Type.Optional(Type.Enum(['current', 'previous'], { description: 'Which boot (default: current)' })),
  },
  closed,
);

export const ConsoleLogAnswer = Type.Object({
  node: Type.String({ description: 'Host name' }),
  boot: Type.Enum(['current', 'previous']),
  captured: Type.Boolean({ description: 'Whether its console is being captured now' }),
  lines: Type.Array(Type.Object({ at: Time, text: Type.String() }), {
    description: 'The last lines, oldest first, without control characters and secrets',
  }),
  unfinished: nullable(Type.String({ description: 'The line that is not ended yet, such as a prompt' })),
});

export const CredentialsRequest = Type.Object(
  {
    username: Type.String({ minLength: 1, maxLength: 64 }),
    password: Type.String({ minLength: 1, maxLength: 128, description: 'Encrypted at once; no answer contains it' }),
    key: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: 'The BMC key (Kg) of IPMI' })),
    check: Type.Optional(
      Type.Boolean({ description: 'Test the login, and store the credentials only if it works (default: true)' }),
    ),
  },
  closed,
);

export const CredentialsAnswer = Type.Object({
  node: Type.String(),
  username: Type.String(),
  checked: Type.Boolean({ description: 'Whether a login with them was tested and works' }),
});

export const RotateAnswer = Type.Object({
  ...Answered,
  username: Type.String({ description: 'The user whose password was changed' }),
});

export const Quirk = component(
  'BmcQuirk',
  Type.Object({
    vendor: Type.String(),
    product: Type.String(),
    firmware: Type.String(),
    method: Type.String(),
    worked: Type.Integer({ description: 'How often the machine then booted from the network' }),
    ignored: Type.Integer({ description: 'How often the BMC accepted and the firmware ignored' }),
    last_at: Time,
  }),
);

export const ScanRequest = Type.Object(
  {
    networks: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: 32,
        description: 'Networks within bmc.scan of the site file (default: all)',
      }),
    ),
  },
  closed,
);

const Found = Type.Object({
  address: Type.String(),
  node: nullable(Type.String({ description: 'The node whose BMC it is, if one is declared' })),
  ipmi: nullable(
    Type.Object({ ipmi2: nullable(Type.Boolean({ description: 'False: IPMI 1.5 only, without encryption' })) }),
  ),
  redfish: nullable(
    Type.Object({ vendor: nullable(Type.String()), product: nullable(Type.String()), version: Type.String() }),
  ),
});

export const ScanAnswer = Type.Object({ found: Type.Array(Found) });
