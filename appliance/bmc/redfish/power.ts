// Power verbs, as bmc.ts specifies them: the final state is verified, and a repetition is harmless.

import { SECOND } from '../../domain/instant.ts';
import type { PowerState } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { RedfishCaller } from './caller.ts';
import { hasMessage, isTemporary, RedfishRefusal } from './refusal.ts';
import { asResource, linkAt, listAt, pathOf, type Resource, resourceAt, textAt, textsAt } from './resource.ts';

type ShownPower = PowerState | 'powering-on' | 'powering-off';

const SHOWN_POWER: ReadonlyMap<string | null, ShownPower> = new Map([
  ['On', 'on'],
  ['Paused', 'on'],
  ['Off', 'off'],
  ['PoweringOn', 'powering-on'],
  ['PoweringOff', 'powering-off'],
]);

/** In transition the old state still counts. */
const POWER_STATES: Readonly<Record<ShownPower, PowerState>> = {
  on: 'on',
  off: 'off',
  unknown: 'unknown',
  'powering-on': 'off',
  'powering-off': 'on',
};

/** Redfish's reset types, in order of preference. Power-off has no fallback: a button press only requests a shutdown. */
const RESET_TYPES = {
  on: ['On', 'ForceOn', 'PushPowerButton'],
  off: ['ForceOff'],
  cycle: ['PowerCycle', 'ForceRestart'],
  reset: ['ForceRestart', 'PowerCycle'],
  soft: ['GracefulShutdown', 'PushPowerButton'],
} as const satisfies Record<string, readonly string[]>;

type PowerAction = keyof typeof RESET_TYPES;

export const powerState = async (bmc: RedfishCaller): Promise<PowerState> =>
  POWER_STATES[shownPower(await system(bmc))];

export const powerOn = (bmc: RedfishCaller): Promise<void> => setPower(bmc, 'on');

export const powerOff = (bmc: RedfishCaller): Promise<void> => setPower(bmc, 'off');

/** Off and on as two steps where the BMC supports them: each is verified. */
export async function powerCycle(bmc: RedfishCaller): Promise<void> {
  const reset = await resetAction(bmc);
  if (reset.typeFor('off') !== null || (await settled(bmc)) === 'off') {
    await powerOff(bmc);
    await powerOn(bmc);
  } else {
    await reset.request('cycle');
  }
}

/** Sent once: a lost reply must not reset the machine twice. */
export async function powerReset(bmc: RedfishCaller): Promise<void> {
  if ((await settled(bmc)) === 'off') await powerOn(bmc);
  else await (await resetAction(bmc)).request('reset');
}

export async function powerSoft(bmc: RedfishCaller): Promise<void> {
  if ((await settled(bmc)) !== 'off') await (await resetAction(bmc)).request('soft');
}

const system = async (bmc: RedfishCaller): Promise<Resource> =>
  (await bmc.read((await bmc.service()).systemPath)).resource;

const shownPower = (resource: Resource): ShownPower => SHOWN_POWER.get(textAt(resource, 'PowerState')) ?? 'unknown';

/** Waits for the end of a transition; if it does not end, the old state counts. */
async function settled(bmc: RedfishCaller): Promise<PowerState> {
  let shown: ShownPower = 'unknown';
  await bmc.until(bmc.limits.power, async () => {
    shown = shownPower(await system(bmc));
    return shown === 'powering-on' || shown === 'powering-off' ? null : true;
  });
  return POWER_STATES[shown];
}

async function setPower(bmc: RedfishCaller, target: 'on' | 'off'): Promise<void> {
  if ((await settled(bmc)) === target) return;
  const reset = await resetAction(bmc);
  const isReached = async (): Promise<boolean> => (await powerState(bmc)) === target;
  let refusal: unknown = null;
  const accepted = await bmc.until(bmc.limits.retry, async () => {
    try {
      await reset.request(target);
      return true;
    } catch (error) {
      // It reached the state by itself, or with the request that is now refused.
      if (await isReached()) return true;
      if (!mayRetry(error)) throw error;
      refusal = error;
      return null;
    }
  });
  if (accepted === null) throw refusal;
  if (await bmc.until(bmc.limits.power, async () => ((await isReached()) ? true : null))) return;
  const limit = bmc.limits.power / SECOND;
  const message = `the BMC accepted power ${target}, but after ${limit} s the machine is not ${target}`;
  throw new BmcError('contradiction', message);
}

/** iDRAC 10 replies to a power-on with a conflict for some seconds after a power-off; iLO refuses during the self-test. */
const mayRetry = (error: unknown): boolean =>
  error instanceof RedfishRefusal && (isTemporary(error) || hasMessage(error, 'ActionParameterValueConflict'));

interface ResetAction {
  /** Null: this BMC does not support it. */
  typeFor(action: PowerAction): string | null;
  request(action: PowerAction): Promise<void>;
}

async function resetAction(bmc: RedfishCaller): Promise<ResetAction> {
  const reset = resourceAt(await system(bmc), 'Actions', '#ComputerSystem.Reset');
  const path = pathOf(textAt(reset, 'target'));
  if (reset === null || path === null) throw new BmcError('unsupported', 'this BMC offers no power control');
  const allowed = await allowedTypes(bmc, reset);
  const typeFor = (action: PowerAction): string | null =>
    RESET_TYPES[action].find((type) => allowed.length === 0 || allowed.includes(type)) ?? null;
  return {
    typeFor,
    request: async (requested) => {
      const ResetType = typeFor(requested);
      if (ResetType === null) {
        const types = RESET_TYPES[requested].join(' or ');
        throw new BmcError(
          'unsupported',
          `this BMC does not support reset type ${types}; it supports ${allowed.join(', ')}`,
        );
      }
      await bmc.act(path, { ResetType }, { once: true });
    },
  };
}

/** Empty: the BMC does not list them. */
async function allowedTypes(bmc: RedfishCaller, action: Resource): Promise<readonly string[]> {
  const listed = textsAt(action, 'ResetType@Redfish.AllowableValues');
  const info = pathOf(textAt(action, '@Redfish.ActionInfo')) ?? linkAt(action, '@Redfish.ActionInfo');
  if (listed.length > 0 || info === null) return listed;
  const { resource } = await bmc.read(info);
  const parameter = listAt(resource, 'Parameters')
    .map(asResource)
    .find((one) => textAt(one, 'Name') === 'ResetType');
  return textsAt(parameter, 'AllowableValues');
}
