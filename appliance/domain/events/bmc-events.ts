// Events of BMCs: commands of operators and of the machine's lifecycle, and the attempts to boot from the network.

import { type Static, Type } from 'typebox';
import { EFFECT_KINDS } from '../effect.ts';
import { also, flag, nullable, number, optional, rowsOf, type Severity, text, texts } from './event-row.ts';

const row = rowsOf('bmc');

export const BMC_COMMANDS = ['power', 'bootdev', 'identify', 'rotate', 'console', 'clear-event-log'] as const;
export type BmcCommand = (typeof BMC_COMMANDS)[number];

const COMMAND_NAMES: Readonly<Record<BmcCommand, string>> = {
  power: 'power',
  bootdev: 'set boot device',
  identify: 'identify light',
  rotate: 'change password',
  console: 'open console',
  'clear-event-log': 'clear event log',
};

const effect = Type.Enum([...EFFECT_KINDS]);

/** A BMC command: an effect of the lifecycle, or an operator's command with its details. */
const commandFields = {
  effect: optional(effect),
  what: optional(Type.Enum([...BMC_COMMANDS])),
  action: optional(text),
  device: optional(text),
  firmware: optional(nullable(text)),
  persistent: optional(flag),
  light: optional(Type.Union([text, number])),
  steal: optional(flag),
  read_only: optional(flag),
};
const CommandData = Type.Object(commandFields);

function command({
  effect,
  what,
  action,
  device,
  firmware,
  persistent,
  light,
  steal,
  read_only,
}: Static<typeof CommandData>): string {
  if (effect !== undefined) return effect;
  const name = what === undefined ? 'command' : COMMAND_NAMES[what];
  const flags = [persistent ? 'persistent' : null, steal ? 'take over' : null, read_only ? 'read only' : null];
  const details = [action, device, firmware, light, ...flags];
  return [name, ...details.filter((detail) => detail !== null && detail !== undefined)].join(' ');
}

const byHand = (toDo: string | undefined): string => also(toDo, (words) => `. To do by hand: ${words}`);

/** One attempt to boot a machine from the network. `words` is a sentence of `bmc/verified.ts`. */
const attempt = {
  effect: optional(effect),
  method: text,
  words: text,
  /** The boot device as the BMC reports it after it accepted the setting, and which other bits differ. */
  read_back: optional(Type.Object({ device: text, differences: texts })),
};
const attempted = (severity: Severity) =>
  row(severity, attempt, ({ method, words }) => `Boot override${method === 'none' ? '' : ` ${method}`}: ${words}`);

export const BMC_EVENTS = {
  'bmc.recorded': row(
    'info',
    { ...commandFields, action: text, address: text },
    (data) => `BMC command ${data.action} is recorded only: the site is in recorder mode`,
  ),
  'bmc.skipped': row(
    'info',
    { effect, reason: text, to_do: optional(text) },
    (data) => `BMC is not used for ${data.effect}: ${data.reason}${byHand(data.to_do)}`,
  ),
  'bmc.absent': row(
    'warning',
    { effect, to_do: text },
    (data) => `No BMC is declared for ${data.effect}${byHand(data.to_do)}`,
  ),
  'bmc.done': row(
    'info',
    { ...commandFields, address: optional(text) },
    (data) => `BMC command succeeded: ${command(data)}`,
  ),
  'bmc.failed': row(
    'error',
    { ...commandFields, reason: text },
    (data) => `BMC command failed: ${command(data)}: ${data.reason}`,
  ),
  'bmc.console-closed': row('info', { because: text }, (data) => `Console closed: ${data.because}`),
  'bmc.boot-lasting': attempted('warning'),
  'bmc.boot-asked': attempted('info'),
  'bmc.boot-obeyed': attempted('info'),
  'bmc.boot-ignored': attempted('warning'),
  'bmc.boot-refused': attempted('warning'),
  'bmc.boot-no-time': attempted('warning'),
  'bmc.boot-undone': attempted('info'),
  'bmc.boot-not-undone': attempted('error'),
  'bmc.broken-off': row('info', { effect, reason: text }, (data) => `Network boot was cancelled: ${data.reason}`),
};
