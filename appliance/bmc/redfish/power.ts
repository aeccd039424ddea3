// Power, with the promises of bmc.ts: afterwards it is so, and asking twice does no harm.

import { SECOND } from '../../domain/instant.ts';
import type { PowerState } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { RedfishCaller } from './caller.ts';
import { isNotNow, RedfishRefusal, saysOneOf } from './refusal.ts';
import { asResource, linkAt, listAt, pathOf, type Resource, resourceAt, textAt, textsAt } from './resource.ts';

type Standing = PowerState | 'powering-on' | 'powering-off';

const STANDINGS: ReadonlyMap<string | null, Standing> = new Map([
  ['On', 'on'],
  ['Paused', 'on'],
  ['Off', 'off'],
  ['PoweringOn', 'powering-on'],
  ['PoweringOff', 'powering-off'],
]);

/** On its way is not there: until it has arrived, it is where it was. */
const SHOWN: Readonly<Record<Standing, PowerState>> = {
  on: 'on',
  off: 'off',
  unknown: 'unknown',
  'powering-on': 'off',
  'powering-off': 'on',
};

/** Redfish's names for what to do, the best first. Cutting the power has no second best: a button press asks the system. */
const RESET_TYPES = {
  on: ['On', 'ForceOn', 'PushPowerButton'],
  off: ['ForceOff'],
  cycle: ['PowerCycle', 'ForceRestart'],
  reset: ['ForceRestart', 'PowerCycle'],
  soft: ['GracefulShutdown', 'PushPowerButton'],
} as const satisfies Record<string, readonly string[]>;

type Wanted = keyof typeof RESET_TYPES;

export const powerState = async (bmc: RedfishCaller): Promise<PowerState> => SHOWN[standingOf(await system(bmc))];

export const powerOn = (bmc: RedfishCaller): Promise<void> => bring(bmc, 'on');

export const powerOff = (bmc: RedfishCaller): Promise<void> => bring(bmc, 'off');

/** Off and on as two steps where the BMC has them: each is seen to happen. */
export async function powerCycle(bmc: RedfishCaller): Promise<void> {
  const reset = await resetAction(bmc);
  if (reset.typeFor('off') !== null || (await settled(bmc)) === 'off') {
    await powerOff(bmc);
    await powerOn(bmc);
  } else {
    await reset.ask('cycle');
  }
}

/** Sent once: nobody is reset twice by a lost answer. */
export async function powerReset(bmc: RedfishCaller): Promise<void> {
  if ((await settled(bmc)) === 'off') await powerOn(bmc);
  else await (await resetAction(bmc)).ask('reset');
}

export async function powerSoft(bmc: RedfishCaller): Promise<void> {
  if ((await settled(bmc)) !== 'off') await (await resetAction(bmc)).ask('soft');
}

const system = async (bmc: RedfishCaller): Promise<Resource> =>
  (await bmc.read((await bmc.service()).systemPath)).resource;

const standingOf = (resource: Resource): Standing => STANDINGS.get(textAt(resource, 'PowerState')) ?? 'unknown';

/** Waits for a change that is on its way; where it never arrives, the old state is the state. */
async function settled(bmc: RedfishCaller): Promise<PowerState> {
  let standing: Standing = 'unknown';
  await bmc.until(bmc.limits.power, async () => {
    standing = standingOf(await system(bmc));
    return standing === 'powering-on' || standing === 'powering-off' ? null : true;
  });
  return SHOWN[standing];
}

async function bring(bmc: RedfishCaller, wanted: 'on' | 'off'): Promise<void> {
  if ((await settled(bmc)) === wanted) return;
  const reset = await resetAction(bmc);
  const isSo = async (): Promise<boolean> => (await powerState(bmc)) === wanted;
  let refusal: unknown = null;
  const taken = await bmc.until(bmc.limits.patience, async () => {
    try {
      await reset.ask(wanted);
      return true;
    } catch (error) {
      // It got there by itself, or with the request that it now complains about.
      if (await isSo()) return true;
      if (!isWorthRepeating(error)) throw error;
      refusal = error;
      return null;
    }
  });
  if (taken === null) throw refusal;
  if (await bmc.until(bmc.limits.power, async () => ((await isSo()) ? true : null))) return;
  const limit = bmc.limits.power / SECOND;
  const message = `the BMC accepted power ${wanted}, and after ${limit} s the machine is not ${wanted}`;
  throw new BmcError('contradiction', message);
}

/** iDRAC 10 answers a power-on with a conflict for some seconds after a power-off; iLO refuses during the self-test. */
const isWorthRepeating = (error: unknown): boolean =>
  error instanceof RedfishRefusal && (isNotNow(error) || saysOneOf(error, 'ActionParameterValueConflict'));

interface ResetAction {
  /** Null: this BMC has no word for it. */
  typeFor(wanted: Wanted): string | null;
  ask(wanted: Wanted): Promise<void>;
}

async function resetAction(bmc: RedfishCaller): Promise<ResetAction> {
  const action = resourceAt(await system(bmc), 'Actions', '#ComputerSystem.Reset');
  const target = pathOf(textAt(action, 'target'));
  if (action === null || target === null) throw new BmcError('unsupported', 'this BMC offers no power control');
  const allowed = await allowedTypes(bmc, action);
  const typeFor = (wanted: Wanted): string | null =>
    RESET_TYPES[wanted].find((type) => allowed.length === 0 || allowed.includes(type)) ?? null;
  return {
    typeFor,
    ask: async (wanted) => {
      const ResetType = typeFor(wanted);
      if (ResetType === null) {
        const wants = RESET_TYPES[wanted].join(' or ');
        throw new BmcError('unsupported', `this BMC has no ${wants}; it has ${allowed.join(', ')}`);
      }
      await bmc.act(target, { ResetType }, { once: true });
    },
  };
}

/** Empty: it does not say. */
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
