// The boot override: set with values that this firmware accepts, then read back, because BMCs accept values without storing them.

import { BOOT_DEVICES, type BootChoice, type BootDevice, type BootReadBack } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { change } from './change.ts';
import type { Quirks } from './quirks.ts';
import { hasMessage, isRefusal, oneLine } from './refusal.ts';
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

/** The property values of a choice: what is set, and what must read back. */
interface Override {
  readonly target: string;
  readonly enabled: 'Once' | 'Continuous' | 'Disabled';
  readonly mode: 'UEFI' | 'Legacy' | null;
}

export async function setBoot(bmc: RedfishCaller, choice: BootChoice): Promise<BootReadBack> {
  const { systemPath, quirks } = await bmc.service();
  const system = await bmc.read(systemPath);
  const requested = overrideFor(choice, resourceAt(system.resource, 'Boot'), quirks);
  const place = await settingsResource(bmc, system);
  const bodies = bodiesFor(requested, resourceAt(place.resource, 'Boot') ?? {}, quirks);
  const changed = await patchFirstAccepted(bmc, place, bodies);
  return readBack(bmc, changed, choice, requested, quirks);
}

export function overrideFor(choice: BootChoice, boot: Resource | null, quirks: Quirks): Override {
  if (boot === null) throw new BmcError('unsupported', 'this BMC does not support a boot override');
  if (choice.device === 'none') return { target: 'None', enabled: 'Disabled', mode: null };
  if (choice.device === 'http' && choice.firmware === 'legacy') {
    throw new BmcError('unsupported', 'HTTP boot needs UEFI; it is not available in legacy mode');
  }
  const names = targetsOf(choice.device, quirks);
  const allowed = textsAt(boot, `${TARGET}@Redfish.AllowableValues`);
  const target = names.find((name) => allowed.length === 0 || allowed.includes(name));
  if (target === undefined) {
    const list = allowed.join(', ');
    throw new BmcError('unsupported', `this machine cannot boot from ${names.join(' or ')}; the BMC offers ${list}`);
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

/** Some BMCs have a separate resource for pending settings: AMI's `/SD`, Lenovo's `/Pending`. */
async function settingsResource(bmc: RedfishCaller, system: Read): Promise<Read> {
  const path = settingsPath(system.resource);
  if (path === null) return system;
  const settings = await bmc.read(path).catch((error: unknown) => {
    if (isRefusal(error)) return null;
    throw error;
  });
  return settings && has(settings.resource, 'Boot', TARGET) ? settings : system;
}

const settingsPath = (system: Resource): string | null => linkAt(system, '@Redfish.Settings', 'SettingsObject');

/** The bodies to try, the most complete first: a firmware that rejects one field may accept the others. */
export function bodiesFor(requested: Override, boot: Resource, quirks: Quirks): readonly Resource[] {
  const basic = { [TARGET]: requested.target, [ENABLED]: requested.enabled };
  const mode = modeToSend(requested, boot, quirks);
  const withMode = mode === null ? basic : { ...basic, [MODE]: mode };
  // Null: the address comes from DHCP, and not from an earlier setting.
  const resetUri = requested.target === 'UefiHttp' && has(boot, 'HttpBootUri') ? { HttpBootUri: null } : {};
  const once = { ...withMode, [ENABLED]: 'Once' };
  const bodies = [
    { ...withMode, ...resetUri },
    withMode,
    basic,
    ...(requested.enabled === 'Continuous' ? [once, { ...basic, [ENABLED]: 'Once' }] : []),
    ...(requested.enabled === 'Disabled' ? [{ [ENABLED]: 'Disabled' }] : []),
  ];
  const distinct = new Map(bodies.map((body) => [JSON.stringify(body), body]));
  return [...distinct.values()].map((body) => ({ Boot: body }));
}

function modeToSend(requested: Override, boot: Resource, quirks: Quirks): string | null {
  if (quirks.startMode === 'never') return null;
  const current = textAt(boot, MODE);
  if (quirks.startMode === 'always') return requested.mode ?? current;
  // A BMC that shows no mode has none to set.
  return current === null ? null : requested.mode;
}

async function patchFirstAccepted(bmc: RedfishCaller, place: Read, bodies: readonly Resource[]): Promise<Read> {
  let first: unknown = null;
  for (const body of bodies) {
    try {
      await change(bmc, place, body);
      return place;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const settings = settingsPath(place.resource);
      if (settings !== null && hasMessage(error, 'OperationSupportedInFutureStateURI')) {
        return patchFirstAccepted(bmc, await bmc.read(settings), bodies);
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
  requested: Override,
  quirks: Quirks,
): Promise<BootReadBack> {
  let boot: Resource = {};
  const matches = await bmc.until(bmc.limits.settle, async () => {
    boot = resourceAt((await bmc.read(place.path)).resource, 'Boot') ?? {};
    return deviceOf(boot, quirks) === choice.device ? true : null;
  });
  if (matches === null) {
    const shown = `${textAt(boot, TARGET) ?? 'nothing'} (${textAt(boot, ENABLED) ?? 'not reported'})`;
    const message = `the BMC accepted boot from ${requested.target} (${requested.enabled}), but reads back ${shown}`;
    throw new BmcError('contradiction', message, { readBack: oneLine(shown) });
  }
  return { device: choice.device, differences: differences(choice, requested, boot) };
}

/** An override that is not enabled counts as none, whatever its target is. */
export function deviceOf(boot: Resource, quirks: Quirks): BootDevice | null {
  const target = textAt(boot, TARGET);
  if (textAt(boot, ENABLED) === 'Disabled' || target === 'None') return 'none';
  return BOOT_DEVICES.find((device) => target !== null && targetsOf(device, quirks).includes(target)) ?? null;
}

function differences(choice: BootChoice, requested: Override, boot: Resource): string[] {
  if (choice.device === 'none') return [];
  const enabled = textAt(boot, ENABLED);
  const enabledRequested = choice.persistent ? 'Continuous' : 'Once';
  const mode = textAt(boot, MODE);
  const list: string[] = [];
  if (enabled !== enabledRequested) {
    list.push(
      choice.persistent && enabled === 'Once'
        ? 'the override is for the next boot only: this BMC does not support a persistent one'
        : `${ENABLED} reads back as ${oneLine(enabled ?? 'nothing')}, requested was ${enabledRequested}`,
    );
  }
  if (requested.mode !== null && mode !== requested.mode) {
    list.push(`the boot mode reads back as ${oneLine(mode ?? 'nothing')}, requested was ${requested.mode}`);
  }
  return list;
}
