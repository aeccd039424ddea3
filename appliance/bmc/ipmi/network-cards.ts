// The network cards of the machine, as far as IPMI can tell. The specification has no command for them: its LAN parameters are those of the
// BMC. Some vendors write the addresses into free fields of the FRU inventory.

import { getOwnMacAddress } from '../../codecs/ipmi/commands/lan-settings.ts';
import { type Mac, macFromBytes, parseMac } from '../../domain/mac.ts';
import type { NetworkCard } from '../bmc.ts';
import type { IpmiCaller } from './connection.ts';
import { readHardware } from './hardware.ts';
import { IpmiError } from './ipmi-error.ts';
import { orRefused } from './refusal.ts';

/** Empty where the vendor writes none, which is the rule. */
export async function readNetworkCards(bmc: IpmiCaller): Promise<NetworkCard[]> {
  const fru = await describedFields(bmc);
  const macs = new Set(fru.flatMap(macsIn));
  if (macs.size === 0) return [];
  const own = await orRefused(bmc.call(getOwnMacAddress()));
  const mac = own && macFromBytes(own);
  if (mac?.ok) macs.delete(mac.value);
  return [...macs].map((one) => ({ mac: one, link: 'unknown' }));
}

const SEPARATED = /(?<![0-9a-f:-])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![0-9a-f:-])/gi;
/** Twelve digits alone may be a serial number. */
const NAMED = /^mac\w*\s*[=:]?\s*([0-9a-f]{12})$/i;

/** A field that names the BMC is about the BMC. */
function macsIn(field: string): Mac[] {
  if (/bmc|ipmi|mgmt/i.test(field)) return [];
  const named = NAMED.exec(field.trim())?.[1];
  return [...(field.match(SEPARATED) ?? []), ...(named === undefined ? [] : [named])].flatMap((text) => {
    const mac = parseMac(text);
    return mac.ok ? [mac.value] : [];
  });
}

/** An unreadable inventory counts as none. */
async function describedFields(bmc: IpmiCaller): Promise<readonly string[]> {
  try {
    return (await readHardware(bmc))?.custom ?? [];
  } catch (error) {
    if (error instanceof IpmiError && (error.reason === 'malformed' || error.reason === 'refused')) return [];
    throw error;
  }
}
