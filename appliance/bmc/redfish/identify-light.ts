// The light by which a person finds the machine in the rack.

import type { IdentifyLight } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { change } from './change.ts';
import { isAnswerNo } from './refusal.ts';
import { booleanAt, type Resource, textAt } from './resource.ts';

const LED = 'IndicatorLED';
const ACTIVE = 'LocationIndicatorActive';

/** Redfish knows no blinking for a time: a light with seconds is on until it is switched off. */
export async function identify(bmc: RedfishCaller, light: IdentifyLight): Promise<void> {
  const on = light === 'on' || (light !== 'off' && light.seconds > 0);
  const place = await placeOfLight(bmc);
  if (isLit(place.resource) === on) return;
  await setLight(bmc, place, on);
  const isSo = async (): Promise<true | null> => (isLit((await bmc.read(place.path)).resource) === on ? true : null);
  if (await bmc.until(bmc.limits.settle, isSo)) return;
  const word = on ? 'on' : 'off';
  throw new BmcError('contradiction', `the BMC accepted to switch the identify light ${word}, and it is not ${word}`);
}

async function setLight(bmc: RedfishCaller, place: Read, on: boolean): Promise<void> {
  if (booleanAt(place.resource, ACTIVE) !== null) {
    await change(bmc, place, { [ACTIVE]: on });
    return;
  }
  try {
    await change(bmc, place, { [LED]: on ? 'Blinking' : 'Off' });
  } catch (error) {
    // Some have it steady only.
    if (!on || !isAnswerNo(error)) throw error;
    await change(bmc, place, { [LED]: 'Lit' });
  }
}

async function placeOfLight(bmc: RedfishCaller): Promise<Read> {
  const { systemPath, chassisPaths } = await bmc.service();
  for (const path of [systemPath, ...chassisPaths]) {
    const place = await bmc.read(path);
    if (isLit(place.resource) !== null) return place;
  }
  throw new BmcError('unsupported', 'this BMC has no identify light');
}

/** Null: no light here, or one that nobody may set. */
function isLit(resource: Resource): boolean | null {
  const active = booleanAt(resource, ACTIVE);
  if (active !== null) return active;
  const led = textAt(resource, LED);
  return led === null || led === 'Unknown' ? null : led !== 'Off';
}
