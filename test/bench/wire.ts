// The network of a benchmark: servers in one network namespace, each client machine in its own, all on the same switch.
// Everything ends with the benchmark, also when it fails or is interrupted.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sweepLeftovers } from '../../appliance/lab/rack/leftovers.ts';
import { RackNetwork } from '../../appliance/lab/rack/network.ts';
import { RackProcess } from '../lab/rack/rack-process.ts';
import { ROOT } from '../process/appliance.ts';

/** Our server's address; `largeRack` has the same. Other servers have the addresses after it. */
export const SERVER = '10.100.0.10';
export const PEERS = ['10.100.0.11', '10.100.0.12'] as const;
const LENGTH = 16;
const UP_WITHIN_MS = 60_000;

/** Not the folder for temporary files, which may be in memory: leases must reach a disk. */
const DISK = '/var/tmp';

type Program = readonly [string, ...string[]];

export class BenchWire {
  readonly folder = mkdtempSync(join(DISK, 'coldiron-bench-'));
  readonly #networks: RackNetwork[] = [];
  readonly #servers = new Set<RackProcess>();

  /** Runs the benchmark and removes the network. */
  static async during(clients: number, bench: (wire: BenchWire) => Promise<void>): Promise<void> {
    const wire = new BenchWire();
    const interrupted = (): void => void wire.#stop().finally(() => process.exit(130));
    process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
    try {
      await sweepLeftovers();
      await wire.#lay(clients);
      await bench(wire);
    } finally {
      process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
      await wire.#stop();
    }
  }

  get serverInterface(): string {
    return this.#server.bridge;
  }

  get clients(): readonly RackNetwork[] {
    return this.#networks.slice(1);
  }

  get client(): RackNetwork {
    const [client] = this.clients;
    if (!client) throw new Error('this wire has no client');
    return client;
  }

  clientAddress(at: number): string {
    return `10.100.0.${101 + at}`;
  }

  file(name: string, text: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, text);
    return file;
  }

  /** A server that runs until it is ended, or with the network. */
  serve(program: Program, cwd = this.folder): RackProcess {
    const server = new RackProcess(this.#server, program, { cwd });
    this.#servers.add(server);
    return server;
  }

  async end(server: RackProcess): Promise<void> {
    await server.end();
    this.#servers.delete(server);
  }

  get state(): string {
    return join(this.folder, 'state');
  }

  /** A real `coldiron serve`; resolves when it is up. The state folder is kept. */
  async coldiron(site: Readonly<Record<string, unknown>>): Promise<RackProcess> {
    // Every JSON document is YAML. One log line per exchange is more than the other servers write here.
    this.file('coldiron.yaml', JSON.stringify({ state: this.state, log: { level: 'warn' }, ...site }));
    const appliance = this.serve([join(ROOT, 'coldiron'), 'serve']);
    await appliance.line((line) => line.startsWith('Coldiron is up'), UP_WITHIN_MS);
    const refused = appliance.lines.find((line) => line.includes('not answering'));
    if (refused !== undefined) throw new Error(refused);
    return appliance;
  }

  async #lay(clients: number): Promise<void> {
    mkdirSync(this.state, { mode: 0o700 });
    this.#networks.push(await RackNetwork.start({ address: `${SERVER}/${LENGTH}` }));
    for (const peer of PEERS) {
      await this.#server.run('ip', 'address', 'add', `${peer}/${LENGTH}`, 'dev', this.serverInterface);
    }
    for (let at = 0; at < clients; at++) {
      // The name of a client's own switch does not matter: nothing is plugged into it.
      const client = await RackNetwork.start({ address: '192.0.2.1/24' });
      this.#networks.push(client);
      await client.plugInto(this.#server, `${this.clientAddress(at)}/${LENGTH}`);
    }
  }

  get #server(): RackNetwork {
    const [server] = this.#networks;
    if (!server) throw new Error('the wire is not laid yet');
    return server;
  }

  async #stop(): Promise<void> {
    for (const server of [...this.#servers]) await this.end(server);
    for (let network = this.#networks.pop(); network; network = this.#networks.pop()) await network.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
