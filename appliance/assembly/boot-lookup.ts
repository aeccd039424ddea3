// Lookup of clients and decisions: the boot files, the boot decision, DHCP and the address book. No socket is open yet.

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isUsable } from '../assets/asset.ts';
import { AvailableImages } from '../assets/available-images.ts';
import { AssetLibrary } from '../assets/library.ts';
import { BootResolver } from '../boot/boot-resolver.ts';
import type { ClientFacts } from '../boot/client-facts.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { Discovery } from '../inventory/discovery.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { quarantineOn } from '../machines/quarantine.ts';
import { AddressBook } from '../net/address-book.ts';
import { interfaceIndexes } from '../net/udp/bound-descriptor.ts';
import { openDeviceSocket } from '../net/udp/device-socket.ts';
import { openEchoSocket } from '../net/udp/echo-socket.ts';
import { RouterHints } from '../net/udp/router-hint.ts';
import { modeOf } from '../provisioning/orders/order.ts';
import type { WorkOrders } from '../provisioning/orders/work-orders.ts';
import { DEFAULT_LEASE_TIMES } from '../servers/dhcp/dhcp-deps.ts';
import { DhcpServer } from '../servers/dhcp/dhcp-server.ts';
import type { Foundation } from './foundation.ts';

const DEFAULT_BOOT_PORT = 8080;

export interface BootLookup {
  readonly assetFolder: string;
  readonly library: AssetLibrary;
  readonly images: AvailableImages;
  readonly resolver: BootResolver;
  readonly dhcp: DhcpServer;
  readonly addresses: AddressBook;
  /** The port in boot URLs. */
  readonly bootPort: number;
  readonly interfaceIndex: ReturnType<typeof interfaceIndexes>;
  readonly onFinding: ReturnType<typeof quarantineOn>;
  readonly onUnknown: (facts: ClientFacts, network: SiteNetwork) => void;
  readonly discovery: Pick<Discovery, 'expect'>;
  /** Orders are opened after this lookup, which checks them; until then nothing starts. */
  readonly useOrders: (orders: Pick<WorkOrders, 'problem'>) => void;
}

export async function openBootLookup(foundation: Foundation, commands: MachineCommands): Promise<BootLookup> {
  const { config, store, fleet, trail, clock, newId, logger, stops } = foundation;
  const bootPort = config.listen.boot?.port || DEFAULT_BOOT_PORT;
  const assetFolder = join(config.state, 'assets');
  const library = await AssetLibrary.open(assetFolder);
  const images = new AvailableImages(library);
  let orders: Pick<WorkOrders, 'problem'> = { problem: () => 'the appliance is still starting' };
  const resolver = new BootResolver(fleet, clock.now, {
    available: (file) => isUsable(library.find(file)),
    startability: {
      image: (required) => images.find(required),
      orderProblem: (machine, outcome, address) => orders.problem(machine, modeOf(outcome), { address, bootPort }),
    },
  });
  const onFinding = quarantineOn(commands, logger);
  const discovery = new Discovery({ store, fleet, now: clock.now, newId, log: logger });
  const onUnknown = (facts: ClientFacts, network: SiteNetwork): void => void discovery.seen(facts, network);
  const interfaceIndex = interfaceIndexes();
  const routerHints = new RouterHints(logger);
  stops.add(() => routerHints.stop());
  const dhcp = new DhcpServer({
    ...{ clock, logger, fleet, store, trail, resolver, interfaceIndex, randomBytes, onFinding, onUnknown },
    settings: {
      bootPort,
      leaseTimes: DEFAULT_LEASE_TIMES,
      conflictProbe: true,
      ignoreOtherServers: config.ignoreOtherDhcpServers,
    },
    openUdp: openDeviceSocket,
    openEcho: openEchoSocket,
    neighbours: () => readFile('/proc/net/arp', 'utf8'),
    onIpxe: (device) => routerHints.send(device),
  });
  const addresses = new AddressBook(fleet, (address) => dhcp.macAt(address));
  const useOrders = (opened: typeof orders): void => {
    orders = opened;
  };
  return {
    ...{ assetFolder, library, images, resolver, dhcp, addresses, bootPort, interfaceIndex },
    ...{ onFinding, onUnknown, useOrders, discovery },
  };
}
