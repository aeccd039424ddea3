// The identity of the BMC and its machine.

import type { BmcIdentity } from '../bmc.ts';
import type { RedfishCaller } from './caller.ts';
import { oneLine } from './refusal.ts';
import { textAt } from './resource.ts';

export async function identity(bmc: RedfishCaller): Promise<BmcIdentity> {
  const { root, systemPath, managerPaths, vendor } = await bmc.service();
  const system = (await bmc.read(systemPath)).resource;
  const [managerPath] = managerPaths;
  const manager = managerPath === undefined ? null : (await bmc.read(managerPath)).resource;
  const serial = textAt(system, 'SerialNumber');
  return {
    vendor: oneLine(vendor),
    product: oneLine(textAt(system, 'Model') ?? textAt(root, 'Product') ?? textAt(manager, 'Model') ?? 'unknown'),
    firmware: oneLine(textAt(manager, 'FirmwareVersion') ?? 'unknown'),
    serial: serial === null ? null : oneLine(serial),
  };
}
