// The DHCP server as a process of its own, for peers in network namespaces and for measurements: store, fleet, server.
//
//   serve.ts --inventory FILE --state DIR [--no-probe] [--ignore-others] [--log LEVEL] [--trail FILE]
//
// Prints one line of JSON, the state of each interface, when it is ready. Ends on SIGTERM, with every lease on disk.

import { randomBytes, randomUUID } from 'node:crypto';
import { createWriteStream, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { FleetFollower } from '../../../appliance/inventory/fleet-follower.ts';
import { applySiteInventory } from '../../../appliance/inventory/site-inventory.ts';
import { systemClock as clock } from '../../../appliance/machines/runner/clock.ts';
import { interfaceIndexes } from '../../../appliance/net/udp/bound-descriptor.ts';
import { openDeviceSocket } from '../../../appliance/net/udp/device-socket.ts';
import { openEchoSocket } from '../../../appliance/net/udp/echo-socket.ts';
import { DEFAULT_LEASE_TIMES } from '../../../appliance/servers/dhcp/dhcp-deps.ts';
import { DhcpServer } from '../../../appliance/servers/dhcp/dhcp-server.ts';
import { openSqliteStore } from '../../../appliance/store/sqlite/sqlite.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';

const { values } = parseArgs({
  options: {
    inventory: { type: 'string' },
    state: { type: 'string' },
    log: { type: 'string', default: 'warn' },
    trail: { type: 'string' },
    'no-probe': { type: 'boolean', default: false },
    'ignore-others': { type: 'boolean', default: false },
  },
});
const { inventory, state } = values;
if (inventory === undefined || state === undefined) throw new Error('--inventory FILE and --state DIR are needed');

mkdirSync(state, { recursive: true });
const logger = pino({ level: values.log }, pino.destination(2));
const store = await openSqliteStore({ file: join(state, 'coldiron.db') });
const site = { file: inventory, inline: null, inventoryFiles: [inventory], state };
await applySiteInventory(store, await store.inventory(), site, { now: clock.now, newId: randomUUID, logger });
const fleet = new Fleet();
await new FleetFollower(store, fleet).start();

const notes = values.trail === undefined ? null : createWriteStream(values.trail);
const server = new DhcpServer({
  clock,
  logger,
  settings: {
    bootPort: 8080,
    leaseTimes: DEFAULT_LEASE_TIMES,
    conflictProbe: !values['no-probe'],
    ignoreOtherServers: values['ignore-others'],
  },
  fleet,
  resolver: new BootResolver(fleet, clock.now),
  store,
  trail: { note: (note: TrailNote) => void notes?.write(`${JSON.stringify(note)}\n`) },
  openUdp: openDeviceSocket,
  openEcho: openEchoSocket,
  neighbours: () => readFile('/proc/net/arp', 'utf8'),
  interfaceIndex: interfaceIndexes(),
  randomBytes,
  onFinding: () => {},
  onIpxe: () => {},
  onUnknown: () => {},
});
await server.start();
process.stdout.write(`${JSON.stringify(server.states())}\n`);

process.once('SIGTERM', async () => {
  await server.stop();
  await store.close();
  notes?.end();
});
