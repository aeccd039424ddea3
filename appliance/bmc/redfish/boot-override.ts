// What the next start is from: set in the words this firmware has, then read back, because BMCs accept what they do not keep.

import { BOOT_DEVICES, type BootChoice, type BootDevice, type BootReadBack } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { change } from './change.ts';
import type { Quirks } from './quirks.ts';
import { inOneLine, isAnswerNo, saysOneOf } from './refusal.ts';
import { has, linkAt, type Resource, resourceAt, textAt, textsAt } from './resource.ts';

const TARGETS: Readonly<Record<Exclude<BootDevice, 'cdrom'>, readonly string[]>> = {
  network: ['Pxe'],
  http: ['UefiHttp'],
  disk: ['Hdd'],
  setup: ['BiosSetup'],
  none: ['None'],
};

const TARGET = 'BootSourceOverrideTarget';
const ENABLED = 'BootSourceOverrideEnabled';
const MODE = 'BootSourceOverrideMode';

const targetsOf = (device: BootDevice, quirks: Quirks): readonly string[] =>
  device === 'cdrom' ? quirks.cdTargets : TARGETS[device];

/** The words for a choice: what is set, and what has to be seen afterwards. */
interface Override {
  readonly target: string;
  readonly enabled: 'Once' | 'Continuous' | 'Disabled';
  readonly mode: 'UEFI' | 'Legacy' | null;
}

export async function setBoot(bmc: RedfishCaller, choice: BootChoice): Promise<BootReadBack> {
  const { systemPath, quirks } = await bmc.service();
  const system = await bmc.read(systemPath);
  const wanted = overrideFor(choice, resourceAt(system.resource, 'Boot'), quirks);
  const place = await placeToSet(bmc, system);
  const bodies = bodiesFor(wanted, resourceAt(place.resource, 'Boot') ?? {}, quirks);
  const changed = await setOne(bmc, place, bodies);
  return readBack(bmc, changed, choice, wanted, quirks);
}

export function overrideFor(choice: BootChoice, boot: Resource | null, quirks: Quirks): Override {
  if (boot === null) throw new BmcError('unsupported', 'this BMC cannot say what a machine starts from');
  if (choice.device === 'none') return { target: 'None', enabled: 'Disabled', mode: null };
  if (choice.device === 'http' && choice.firmware === 'legacy') {
    throw new BmcError('unsupported', 'HTTP boot is of UEFI; a legacy start has no such thing');
  }
  const names = targetsOf(choice.device, quirks);
  const allowed = textsAt(boot, `${TARGET}@Redfish.AllowableValues`);
  const target = names.find((name) => allowed.length === 0 || allowed.includes(name));
  if (target === undefined) {
    const list = allowed.join(', ');
    throw new BmcError(
      'unsupported',
      `this machine cannot be told to start from ${names.join(' or ')}; it offers ${list}`,
    );
  }
  const firmware = choice.device === 'http' ? 'efi' : choice.firmware;
  return {
    target,
    enabled: choice.persistent && canPersist(boot, quirks) ? 'Continuous' : 'Once',
    mode: firmware === null ? null : firmware === 'efi' ? 'UEFI' : 'Legacy',
  };
}

function canPersist(boot: Resource, quirks: Quirks): boolean {
  const allowed = textsAt(boot, `${ENABLED}@Redfish.AllowableValues`);
  return quirks.persistentOverride && (allowed.length === 0 || allowed.includes('Continuous'));
}

/** Some keep what is to come in a resource of its own: AMI's `/SD`, Lenovo's `/Pending`. */
async function placeToSet(bmc: RedfishCaller, system: Read): Promise<Read> {
  const path = settingsPath(system.resource);
  if (path === null) return system;
  const settings = await bmc.read(path).catch((error: unknown) => {
    if (isAnswerNo(error)) return null;
    throw error;
  });
  return settings && has(settings.resource, 'Boot', TARGET) ? settings : system;
}

const settingsPath = (system: Resource): string | null => linkAt(system, '@Redfish.Settings', 'SettingsObject');

/** What to send, the fullest first: a firmware that chokes on one field may take the others. */
export function bodiesFor(wanted: Override, boot: Resource, quirks: Quirks): readonly Resource[] {
  const basic = { [TARGET]: wanted.target, [ENABLED]: wanted.enabled };
  const mode = modeToSend(wanted, boot, quirks);
  const withMode = mode === null ? basic : { ...basic, [MODE]: mode };
  // Null: the address comes from DHCP, and not from whoever set one before.
  const forgetting = wanted.target === 'UefiHttp' && has(boot, 'HttpBootUri') ? { HttpBootUri: null } : {};
  const once = { ...withMode, [ENABLED]: 'Once' };
  const bodies = [
    { ...withMode, ...forgetting },
    withMode,
    basic,
    ...(wanted.enabled === 'Continuous' ? [once, { ...basic, [ENABLED]: 'Once' }] : []),
    ...(wanted.enabled === 'Disabled' ? [{ [ENABLED]: 'Disabled' }] : []),
  ];
  const different = new Map(bodies.map((body) => [JSON.stringify(body), body]));
  return [...different.values()].map((body) => ({ Boot: body }));
}

function modeToSend(wanted: Override, boot: Resource, quirks: Quirks): string | null {
  if (quirks.startMode === 'never') return null;
  const current = textAt(boot, MODE);
  if (quirks.startMode === 'always') return wanted.mode ?? current;
  // Who does not show a mode has none to set.
  return current === null ? null : wanted.mode;
}

async function setOne(bmc: RedfishCaller, place: Read, bodies: readonly Resource[]): Promise<Read> {
  let first: unknown = null;
  for (const body of bodies) {
    try {
      await change(bmc, place, body);
      return place;
    } catch (error) {
      if (!isAnswerNo(error)) throw error;
      const elsewhere = settingsPath(place.resource);
      if (elsewhere !== null && saysOneOf(error, 'OperationSupportedInFutureStateURI')) {
        return setOne(bmc, await bmc.read(elsewhere), bodies);
      }
      first ??= error;
    }
  }
  throw first;
}

async function readBack(
  bmc: RedfishCaller,
  place: Read,
  choice: BootChoice,
  wanted: Override,
  quirks: Quirks,
): Promise<BootReadBack> {
  let boot: Resource = {};
  const isSo = await bmc.until(bmc.limits.settle, async () => {
    boot = resourceAt((await bmc.read(place.path)).resource, 'Boot') ?? {};
    return deviceOf(boot, quirks) === choice.device ? true : null;
  });
  if (isSo === null) {
    const shown = `${textAt(boot, TARGET) ?? 'nothing'} (${textAt(boot, ENABLED) ?? 'no word whether'})`;
    const message = `the BMC accepted a start from ${wanted.target} (${wanted.enabled}), and shows ${shown}`;
    throw new BmcError('contradiction', message);
  }
  return { device: choice.device, differences: differences(choice, wanted, boot) };
}

/** An override that is not enabled is none, whatever stands beside it. */
export function deviceOf(boot: Resource, quirks: Quirks): BootDevice | null {
  const target = textAt(boot, TARGET);
  if (textAt(boot, ENABLED) === 'Disabled' || target === 'None') return 'none';
  return BOOT_DEVICES.find((device) => target !== null && targetsOf(device, quirks).includes(target)) ?? null;
}

function differences(choice: BootChoice, wanted: Override, boot: Resource): string[] {
  if (choice.device === 'none') return [];
  const enabled = textAt(boot, ENABLED);
  const asked = choice.persistent ? 'Continuous' : 'Once';
  const mode = textAt(boot, MODE);
  const list: string[] = [];
  if (enabled !== asked) {
    list.push(
      choice.persistent && enabled === 'Once'
        ? 'it holds for the next start only: this BMC keeps no override for longer'
        : `how long it holds is shown as ${inOneLine(enabled ?? 'nothing')}, asked for was ${asked}`,
    );
  }
  if (wanted.mode !== null && mode !== wanted.mode) {
    list.push(`the kind of start is shown as ${inOneLine(mode ?? 'nothing')}, asked for was ${wanted.mode}`);
  }
  return list;
}
