// Our DHCP server in one namespace, and peers in others.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Lease } from '../../../appliance/domain/lease.ts';
import { openSqliteStoreReadOnly } from '../../../appliance/store/sqlite/sqlite.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { Wire } from '../../servers/dhcp/wire.ts';
import { type Finished, Namespaces, type Running } from '../namespaces.ts';

const SERVE = join(import.meta.dirname, '../../servers/dhcp/serve.ts');
const CLIENT = join(import.meta.dirname, 'client.ts');

export interface LabNetwork {
  readonly name: string;
  readonly prefix: string;
  readonly server: string;
  readonly device: string;
  readonly from: string;
  readonly to: string;
  readonly dhcp?: 'authoritative' | 'proxy' | 'off';
  /** Further members, as YAML. */
  readonly more?: string;
}

/** Two wires, one network each. */
export const NETWORK: LabNetwork = {
  name: 'first',
  prefix: '10.88.0.0/24',
  server: '10.88.0.1',
  device: 's1',
  from: '10.88.0.100',
  to: '10.88.0.199',
};
export const SECOND: LabNetwork = {
  name: 'second',
  prefix: '10.89.0.0/24',
  server: '10.89.0.1',
  device: 's2',
  from: '10.89.0.100',
  to: '10.89.0.199',
};

/** The caller ends it when the file has the expected content, to read the file to its end. */
export interface Capture {
  readonly file: string;
  readonly tcpdump: Running;
}

export class Lab {
  readonly namespaces = new Namespaces();
  readonly folder = mkdtempSync(join(tmpdir(), 'coldiron-dhcp-'));
  readonly state = join(this.folder, 'state');
  readonly #trail = join(this.folder, 'trail');
  readonly #wires: Wire[] = [];
  #server: Running | null = null;

  /** The server in its namespace, named `server`. Resolves when each interface serves or was refused. */
  async serve(networks: readonly LabNetwork[], ...options: readonly string[]): Promise<Running & { states: string }> {
    const inventory = join(this.folder, 'lab.yaml');
    writeFileSync(inventory, inventoryOf(networks));
    const files = ['--inventory', inventory, '--state', this.state, '--trail', this.#trail];
    const server = this.namespaces.start('server', process.execPath, SERVE, ...files, ...options);
    this.#server = server;
    const [states] = await server.says(/^\[.*\]$/m);
    return Object.assign(server, { states });
  }

  /** Our own test client with this input; prints each reply as a line of JSON. */
  client(namespace: string, ...args: readonly string[]): Running {
    return this.namespaces.start(namespace, process.execPath, CLIENT, ...args);
  }

  /** A client's end of a wire, in this process. */
  async wire(namespace: string, device: string, port?: number): Promise<Wire> {
    const wire = await Wire.open(this.namespaces, namespace, device, port);
    this.#wires.push(wire);
    return wire;
  }

  /** Captures a wire from now on. */
  async capture(namespace: string, device: string, ...filter: readonly string[]): Promise<Capture> {
    const file = join(this.folder, `${device}.pcap`);
    // In immediate mode each packet takes a slot of 64 KiB; libpcap's usual 2 MiB are too few for a boot storm.
    const options = ['--immediate-mode', '-B', '65536', '-U', '-Z', 'root', '-i', device, '-w', file];
    const tcpdump = this.namespaces.start(namespace, 'tcpdump', ...options, ...filter);
    await tcpdump.says(/listening on/);
    return { file, tcpdump };
  }

  /** ISC dhclient until it has an address. It requests its previous address again. */
  async dhclient(namespace: string, device: string): Promise<string> {
    const client = this.#startDhclient(namespace, device, `${namespace}-${device}`);
    const [, address = ''] = await client.says(/bound to ([0-9.]+)/);
    await client.stop();
    return address;
  }

  /** The output of an ISC dhclient without a previous lease that tries for five seconds. */
  async dhclientOnce(namespace: string, device: string): Promise<Finished> {
    return await this.#startDhclient(namespace, device, `${namespace}-${device}-once`, 'timeout 5;', '-1').finished();
  }

  #startDhclient(namespace: string, device: string, name: string, more = '', ...options: readonly string[]): Running {
    const files = ['-lf', join(this.folder, `${name}.leases`), '-pf', join(this.folder, `${name}.pid`)];
    const impatient = join(this.folder, `${name}.conf`);
    writeFileSync(impatient, `initial-interval 1; backoff-cutoff 1; retry 1; ${more}\n`);
    const always = ['-4', '-d', '-v', '-sf', '/bin/true', '-cf', impatient, ...files];
    return this.namespaces.start(namespace, 'dhclient', ...always, ...options, device);
  }

  /** All recorded events. Ends the server, which writes its last events first. */
  async notes(): Promise<TrailNote[]> {
    await this.#server?.stop();
    const lines = readFileSync(this.#trail, 'utf8').trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as TrailNote);
  }

  async leases(): Promise<Lease[]> {
    const store = await openSqliteStoreReadOnly({ file: join(this.state, 'coldiron.db') });
    try {
      return await store.leases();
    } finally {
      await store.close();
    }
  }

  async remove(): Promise<void> {
    await Promise.all(this.#wires.map((wire) => wire.close()));
    await this.namespaces.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const inventoryOf = (networks: readonly LabNetwork[]): string =>
  `sites: [{ name: lab }]\nnetworks:\n${networks
    .map(
      ({ name, prefix, server, device, from, to, dhcp = 'authoritative', more = '' }) =>
        `  - { name: ${name}, prefix: ${prefix}, server: ${server}, interface: ${device}, dhcp: ${dhcp}, unknown: inspect, efi_loader: ipxe, pools: [{ from: ${from}, to: ${to} }], ${more} }\n`,
    )
    .join('')}`;
