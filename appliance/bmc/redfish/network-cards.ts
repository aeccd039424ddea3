// The network cards of the machine. Services list them as EthernetInterfaces of the system; some, while the machine is off, only as
// NetworkAdapters of the chassis.

import { type Mac, parseMac } from '../../domain/mac.ts';
import type { NetworkCard } from '../bmc.ts';
import type { RedfishCaller } from './caller.ts';
import { memberResources } from './collection.ts';
import { isRefusal } from './refusal.ts';
import { linkAt, type Resource, textAt, textsAt } from './resource.ts';

const MOST_CARDS = 64;
const MOST_ADAPTERS = 16;

export async function networkCards(bmc: RedfishCaller): Promise<NetworkCard[]> {
  const { systemPath, chassisPaths } = await bmc.service();
  const { resource: system } = await bmc.read(systemPath);
  const interfaces = await listed(bmc, linkAt(system, 'EthernetInterfaces'), MOST_CARDS);
  const found = interfaces.filter(isOfMachine).flatMap((one) => card(burnedIn(one), textAt(one, 'LinkStatus')));
  if (found.length > 0) return unique(found);
  const adapters: NetworkCard[] = [];
  for (const path of chassisPaths) adapters.push(...(await cardsOfChassis(bmc, path)));
  return unique(adapters);
}

async function cardsOfChassis(bmc: RedfishCaller, path: string): Promise<NetworkCard[]> {
  const { resource: chassis } = await bmc.read(path);
  const found: NetworkCard[] = [];
  for (const adapter of await listed(bmc, linkAt(chassis, 'NetworkAdapters'), MOST_ADAPTERS)) {
    const functions = await listed(bmc, linkAt(adapter, 'NetworkDeviceFunctions'), MOST_CARDS);
    const own = functions.flatMap((one) =>
      card(textAt(one, 'Ethernet', 'PermanentMACAddress') ?? textAt(one, 'Ethernet', 'MACAddress'), null),
    );
    found.push(...(own.length > 0 ? own : await cardsOfPorts(bmc, adapter)));
  }
  return found;
}

/** `Ports` replaced `NetworkPorts` in 2020.4. */
async function cardsOfPorts(bmc: RedfishCaller, adapter: Resource): Promise<NetworkCard[]> {
  const ports = await listed(bmc, linkAt(adapter, 'Ports') ?? linkAt(adapter, 'NetworkPorts'), MOST_CARDS);
  return ports.flatMap((port) => {
    const [mac] = [
      ...textsAt(port, 'Ethernet', 'AssociatedMACAddresses'),
      ...textsAt(port, 'AssociatedNetworkAddresses'),
    ];
    return card(mac ?? null, textAt(port, 'LinkStatus'));
  });
}

/** A collection that the BMC does not have counts as empty. */
async function listed(bmc: RedfishCaller, path: string | null, most: number): Promise<readonly Resource[]> {
  if (path === null) return [];
  try {
    return await memberResources(bmc, path, most);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return [];
  }
}

/** Not the card between the operating system and the BMC, nor one that is made of others. */
const isOfMachine = (one: Resource): boolean =>
  textAt(one, 'EthernetInterfaceType') !== 'Virtual' && textAt(one, 'Links', 'HostInterface', '@odata.id') === null;

const burnedIn = (one: Resource): string | null => textAt(one, 'PermanentMACAddress') ?? textAt(one, 'MACAddress');

/** EthernetInterface.LinkStatus and Port.LinkStatus. */
const LINKS: ReadonlyMap<string | null, NetworkCard['link']> = new Map([
  ['LinkUp', 'up'],
  ['Up', 'up'],
  ['LinkDown', 'down'],
  ['NoLink', 'down'],
  ['Down', 'down'],
]);

function card(text: string | null, link: string | null): NetworkCard[] {
  const mac = parseMac(text ?? '');
  return mac.ok ? [{ mac: mac.value, link: LINKS.get(link) ?? 'unknown' }] : [];
}

const unique = (cards: readonly NetworkCard[]): NetworkCard[] => [
  ...new Map(cards.map((one): [Mac, NetworkCard] => [one.mac, one])).values(),
];
