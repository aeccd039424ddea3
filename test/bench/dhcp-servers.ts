// The compared DHCP servers, with the same setup: the same pool, the same lease time, no logs, and the same boot
// options (Kea with one option code changed). A larger reply costs perfdhcp more than it costs a server.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RackProcess } from '../lab/rack/rack-process.ts';
import { LOADER, putLoader } from './boot-files.ts';
import { largeRack } from './rack.ts';
import { type BenchWire, SERVER } from './wire.ts';

const POOL = { from: '10.100.16.1', to: '10.100.255.250' };
const LEASE_SECONDS = 600;
const ROUTER = '10.100.0.1';
const BROADCAST = '10.100.255.255';
/** Option 43: use the boot file of this reply, do not discover boot servers. */
const BOOT_FROM_HERE = '060108ff';
/** Kea's threads corrupt each other's option 43 until it crashes, so it sends the same bytes under another code. */
const INSTEAD_OF_43 = 224;

export interface DhcpServerUnderTest {
  readonly name: string;
  readonly start: (wire: BenchWire) => Promise<RackProcess>;
}

export const OURS: DhcpServerUnderTest = {
  name: 'coldiron (synced to disk)',
  start: async (wire) => {
    putLoader(wire.state);
    const network = { interface: wire.serverInterface, dhcp: 'authoritative', pools: [POOL] };
    const listen = { boot: `${SERVER}:8080`, management: '127.0.0.1:8443' };
    return await wire.coldiron({ listen, ...largeRack(0, network) });
  },
};

export const DHCP_PEERS: readonly DhcpServerUnderTest[] = [
  { name: 'kea, one thread', start: async (wire) => kea(wire, false) },
  { name: 'kea, threads', start: async (wire) => kea(wire, true) },
  { name: 'dnsmasq', start: async (wire) => dnsmasq(wire) },
];

function kea(wire: BenchWire, threads: boolean): RackProcess {
  const name = `kea-${threads ? 'threads' : 'single'}`;
  const folder = join(wire.folder, name);
  mkdirSync(folder, { recursive: true });
  const config = {
    Dhcp4: {
      'interfaces-config': { interfaces: [wire.serverInterface], 'dhcp-socket-type': 'udp' },
      'lease-database': { type: 'memfile', persist: true, name: join(folder, 'leases.csv'), 'lfc-interval': 0 },
      'multi-threading': { 'enable-multi-threading': threads },
      authoritative: true,
      'valid-lifetime': LEASE_SECONDS,
      'calculate-tee-times': true,
      'next-server': SERVER,
      'boot-file-name': LOADER,
      'option-def': [{ name: 'instead-of-43', code: INSTEAD_OF_43, type: 'binary' }],
      'option-data': [
        { name: 'routers', data: ROUTER },
        { name: 'broadcast-address', data: BROADCAST },
        { name: 'vendor-class-identifier', data: 'PXEClient', 'always-send': true },
        { code: INSTEAD_OF_43, data: BOOT_FROM_HERE, 'csv-format': false, 'always-send': true },
        { name: 'tftp-server-name', data: SERVER, 'always-send': true },
        { name: 'boot-file-name', data: LOADER, 'always-send': true },
      ],
      subnet4: [{ id: 1, subnet: '10.100.0.0/16', pools: [{ pool: `${POOL.from} - ${POOL.to}` }] }],
      loggers: [{ name: 'kea-dhcp4', output_options: [{ output: 'stdout' }], severity: 'ERROR' }],
    },
  };
  const file = wire.file(`${name}.json`, JSON.stringify(config));
  return wire.serve(['env', `KEA_PIDFILE_DIR=${folder}`, `KEA_LOCKFILE_DIR=${folder}`, 'kea-dhcp4', '-c', file]);
}

const dnsmasq = (wire: BenchWire): RackProcess =>
  wire.serve([
    'dnsmasq',
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--user=root',
    '--port=0',
    '--quiet-dhcp',
    '--log-facility=-',
    `--interface=${wire.serverInterface}`,
    '--bind-interfaces',
    `--dhcp-range=${POOL.from},${POOL.to},255.255.0.0,${LEASE_SECONDS}`,
    '--dhcp-lease-max=100000',
    `--dhcp-leasefile=${join(wire.folder, 'dnsmasq.leases')}`,
    `--dhcp-boot=${LOADER},,${SERVER}`,
    `--dhcp-option=3,${ROUTER}`,
    `--dhcp-option-force=60,PXEClient`,
    `--dhcp-option-force=43,${BOOT_FROM_HERE.match(/../g)?.join(':')}`,
    `--dhcp-option-force=66,${SERVER}`,
    `--dhcp-option-force=67,${LOADER}`,
    '--dhcp-authoritative',
    // We do not ping behind a relay either.
    '--no-ping',
  ]);
