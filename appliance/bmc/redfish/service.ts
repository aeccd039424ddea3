// From the service root to the one machine. No id is fixed: `1`, `Self`, `System.Embedded.1` and serial numbers are all in use.
// If several machines share one BMC, the caller must name one.

import { parseMac } from '../../domain/mac.ts';
import { shown } from '../../domain/parsed.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { memberPaths, memberResources } from './collection.ts';
import { type Quirks, quirksOf } from './quirks.ts';
import { lastSegment, linkAt, linksAt, type Resource, resourceAt, textAt } from './resource.ts';

export interface RedfishService {
  readonly root: Resource;
  readonly systemPath: string;
  readonly managerPaths: readonly string[];
  readonly chassisPaths: readonly string[];
  readonly vendor: string;
  readonly quirks: Quirks;
}

const MOST_SYSTEMS = 64;
const MOST_PARTS = 16;

/** `name`: the id, name, UUID, serial number or a MAC address of the machine; null if there is only one. */
export async function findService(bmc: RedfishCaller, root: Resource, name: string | null): Promise<RedfishService> {
  const { path: systemPath, resource: system } = await findSystem(bmc, root, name);
  const vendor = textAt(root, 'Vendor') ?? textAt(system, 'Manufacturer') ?? oemName(root) ?? 'unknown';
  const linked = async (links: readonly string[], collection: string | null): Promise<readonly string[]> =>
    links.length > 0 || collection === null ? links.slice(0, MOST_PARTS) : memberPaths(bmc, collection, MOST_PARTS);
  return {
    root,
    systemPath,
    managerPaths: await linked(linksAt(system, 'Links', 'ManagedBy'), linkAt(root, 'Managers')),
    chassisPaths: await linked(linksAt(system, 'Links', 'Chassis'), linkAt(root, 'Chassis')),
    vendor,
    quirks: quirksOf({
      vendor,
      product: textAt(root, 'Product') ?? '',
      systemModel: textAt(system, 'Model') ?? '',
      systemPath,
    }),
  };
}

const oemName = (root: Resource): string | null => Object.keys(resourceAt(root, 'Oem') ?? {})[0] ?? null;

async function findSystem(bmc: RedfishCaller, root: Resource, name: string | null): Promise<Read> {
  const collection = linkAt(root, 'Systems');
  if (collection === null) throw new BmcError('unsupported', 'this Redfish service manages no computer systems');
  const paths = await memberPaths(bmc, collection, MOST_SYSTEMS);
  const [only] = paths;
  if (only === undefined) {
    throw new BmcError('refused', 'the BMC lists no computer system; it may still be starting', { retryable: true });
  }
  if (name === null && paths.length === 1) return bmc.read(only);
  const systems: Read[] = [];
  for (const path of paths) systems.push(await bmc.read(path));
  if (name === null) throw ambiguous('several machines share this BMC, and none is selected', systems);
  const matching = systems.filter((system) => hasName(system, name));
  const found = matching.length > 0 ? matching : await withInterface(bmc, systems, name);
  const [chosen] = found;
  if (chosen !== undefined && found.length === 1) return chosen;
  const problem = found.length === 0 ? 'no machine of this BMC is' : 'several machines of this BMC are';
  throw ambiguous(`${problem} named ${shown(name)}`, found.length === 0 ? systems : found);
}

const NAMES = ['Id', 'Name', 'UUID', 'SerialNumber', 'SKU', 'HostName'] as const;

const hasName = ({ path, resource }: Read, wanted: string): boolean =>
  [path, lastSegment(path), ...NAMES.map((name) => textAt(resource, name))].some(
    (name) => name?.toLowerCase() === wanted.trim().toLowerCase(),
  );

async function withInterface(bmc: RedfishCaller, systems: readonly Read[], name: string): Promise<Read[]> {
  const mac = parseMac(name);
  if (!mac.ok) return [];
  const found: Read[] = [];
  for (const system of systems) {
    const path = linkAt(system.resource, 'EthernetInterfaces');
    const interfaces = path === null ? [] : await memberResources(bmc, path, MOST_PARTS);
    if (interfaces.some((one) => macsIn(one).includes(mac.value))) found.push(system);
  }
  return found;
}

const macsIn = (one: Resource): readonly string[] =>
  [textAt(one, 'MACAddress'), textAt(one, 'PermanentMACAddress')].flatMap((text) => {
    const mac = parseMac(text ?? '');
    return mac.ok ? [mac.value] : [];
  });

function ambiguous(problem: string, systems: readonly Read[]): BmcError {
  const list = systems.map(({ path, resource }) => {
    const details = [
      ['serial', textAt(resource, 'SerialNumber')],
      ['UUID', textAt(resource, 'UUID')],
    ].flatMap(([name, value]) => (value === null ? [] : `${name} ${shown(value)}`));
    const id = shown(textAt(resource, 'Id') ?? lastSegment(path));
    return details.length === 0 ? id : `${id} (${details.join(', ')})`;
  });
  return new BmcError('refused', `${problem}; available are: ${list.join('; ')}`);
}
