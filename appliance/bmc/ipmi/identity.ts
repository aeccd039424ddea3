// The identity of a BMC: its device id, and the FRU inventory of the machine where there is one.

import { getDeviceId } from '../../codecs/ipmi/commands/session-commands.ts';
import type { FruInventory } from '../../codecs/ipmi/fru-areas.ts';
import { manufacturerName } from '../../codecs/ipmi/manufacturer.ts';
import type { BmcIdentity } from '../bmc.ts';
import type { IpmiCaller } from './connection.ts';
import { readHardware } from './hardware.ts';
import { IpmiError } from './ipmi-error.ts';

export async function readIdentity(bmc: IpmiCaller): Promise<BmcIdentity> {
  const device = await bmc.call(getDeviceId());
  const fru = await describedHardware(bmc);
  return {
    vendor: firstOf(fru?.product?.manufacturer, fru?.board?.manufacturer) ?? manufacturerName(device.manufacturer),
    product: firstOf(fru?.product?.name, fru?.board?.product) ?? `product ${device.product}`,
    firmware: device.firmware,
    serial: firstOf(fru?.product?.serial, fru?.chassis?.serial, fru?.board?.serial),
  };
}

/** Vendors leave fields empty, or leave the placeholder text of their tools in them. */
const PLACEHOLDER = /^(to be filled by o\.?e\.?m\.?|not specified|default string|none|n\/a|unknown|[0\s.-]*)$/i;

const firstOf = (...fields: readonly (string | undefined)[]): string | null =>
  fields.find((field) => field !== undefined && !PLACEHOLDER.test(field)) ?? null;

/** An unreadable inventory counts as none: the identity of the BMC does not depend on it. */
async function describedHardware(bmc: IpmiCaller): Promise<FruInventory | null> {
  try {
    return await readHardware(bmc);
  } catch (error) {
    if (error instanceof IpmiError && (error.reason === 'malformed' || error.reason === 'refused')) return null;
    throw error;
  }
}
