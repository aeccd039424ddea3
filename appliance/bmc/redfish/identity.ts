// What the BMC says it and its machine are.

import type { BmcIdentity } from '../bmc.ts';
import type { RedfishCaller } from './caller.ts';
import { inOneLine } from './refusal.ts';
import { textAt } from './resource.ts';

export async function identity(bmc: RedfishCaller): Promise<BmcIdentity> {
  const { root, systemPath, managerPaths, vendor } = await bmc.service();
  const system = (await bmc.read(systemPath)).resource;
  const [managerPath] = managerPaths;
  const manager = managerPath === undefined ? null : (await bmc.read(managerPath)).resource;
  const serial = textAt(system, 'SerialNumber');
  return {
    vendor: inOneLine(vendor),
    product: inOneLine(textAt(system, 'Model') ?? textAt(root, 'Product') ?? textAt(manager, 'Model') ?? 'unknown'),
    firmware: inOneLine(textAt(manager, 'FirmwareVersion') ?? 'unknown'),
    serial: serial === null ? null : inOneLine(serial),
  };
}
