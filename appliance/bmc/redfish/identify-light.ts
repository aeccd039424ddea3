// The identify light, to find the machine in the rack.

import type { IdentifyLight } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { change } from './change.ts';
import { isRefusal } from './refusal.ts';
import { booleanAt, type Resource, textAt } from './resource.ts';

const LED = 'IndicatorLED';
const ACTIVE = 'LocationIndicatorActive';

/** Redfish has no timed identify: a light with seconds stays on until it is switched off. */
export async function identify(bmc: RedfishCaller, light: IdentifyLight): Promise<void> {
  const on = light === 'on' || (light !== 'off' && light.seconds > 0);
  const place = await resourceWithLight(bmc);
  if (isLit(place.resource) === on) return;
  await setLight(bmc, place, on);
  const matches = async (): Promise<true | null> => (isLit((await bmc.read(place.path)).resource) === on ? true : null);
  if (await bmc.until(bmc.limits.settle, matches)) return;
  const state = on ? 'on' : 'off';
  throw new BmcError('contradiction', `the BMC accepted identify light ${state}, but the light is not ${state}`);
}

async function setLight(bmc: RedfishCaller, place: Read, on: boolean): Promise<void> {
  if (booleanAt(place.resource, ACTIVE) !== null) {
    await change(bmc, place, { [ACTIVE]: on });
    return;
  }
  try {
    await change(bmc, place, { [LED]: on ? 'Blinking' : 'Off' });
  } catch (error) {
    // Some support only a steady light.
    if (!on || !isRefusal(error)) throw error;
    await change(bmc, place, { [LED]: 'Lit' });
  }
}

async function resourceWithLight(bmc: RedfishCaller): Promise<Read> {
  const { systemPath, chassisPaths } = await bmc.service();
  for (const path of [systemPath, ...chassisPaths]) {
    const place = await bmc.read(path);
    if (isLit(place.resource) !== null) return place;
  }
  throw new BmcError('unsupported', 'this BMC has no identify light');
}

/** Null: no light here, or one that cannot be set. */
function isLit(resource: Resource): boolean | null {
  const active = booleanAt(resource, ACTIVE);
  if (active !== null) return active;
  const led = textAt(resource, LED);
  return led === null || led === 'Unknown' ? null : led !== 'Off';
}
