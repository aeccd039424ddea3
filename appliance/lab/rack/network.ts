// The network of a virtual rack: a namespace of its own with a bridge in it, so that nothing of it can be seen from the
// machine it runs on, and nothing there can be reached from it. Needs root.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { run } from './command.ts';
import { claimName, folderOf, removeNamespace } from './leftovers.ts';

export interface RackNetworkOptions {
  /** Of the bridge, with the length of its prefix. */
  readonly address?: string;
}

export class RackNetwork {
  /** Of the namespace; no other rack has it. */
  readonly name: string;
  readonly bridge = 'rack0';
  /** Where this network looks out when it is plugged into another one. */
  readonly uplink = 'uplink0';
  /** For the files of the machines in it; goes away with it. */
  readonly folder: string;
  #taps = 0;
  #stopped = false;

  private constructor(name: string) {
    this.name = name;
    this.folder = folderOf(name);
  }

  static async start({ address = '10.77.0.1/16' }: RackNetworkOptions = {}): Promise<RackNetwork> {
    if (process.getuid?.() !== 0) {
      throw new ColdironError('forbidden', 'a virtual rack makes network namespaces and taps: that needs root');
    }
    const network = new RackNetwork(await claimName());
    try {
      await run('ip', 'netns', 'add', network.name);
      await network.#ip('link', 'set', 'lo', 'up');
      await network.addBridge(network.bridge, address);
    } catch (error) {
      await network.stop();
      throw error;
    }
    return network;
  }

  /** The same program inside the namespace, under the same process id; it ends with the process that starts it. */
  command(program: string, ...args: readonly string[]): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.name, 'setpriv', '--pdeathsig', 'KILL', program, ...args];
  }

  /** Runs a program of the system in the namespace to its end. */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    const [command, ...rest] = this.command(program, ...args);
    return await run(command, ...rest);
  }

  /** A port of the bridge for one card of one machine. */
  async addTap(bridge: string = this.bridge): Promise<string> {
    const tap = `tap${this.#taps}`;
    this.#taps += 1;
    await this.#ip('tuntap', 'add', tap, 'mode', 'tap');
    await this.#ip('link', 'set', tap, 'master', bridge, 'up');
    return tap;
  }

  /** Another bridge in the same namespace; `address` with the length of its prefix. */
  async addBridge(name: string, address: string): Promise<void> {
    // Without the spanning tree's delay: firmware asks within a second of its link coming up.
    await this.#ip('link', 'add', name, 'type', 'bridge', 'stp_state', '0', 'forward_delay', '0');
    await this.addAddress(address, name);
    await this.#ip('link', 'set', name, 'up');
  }

  async addAddress(address: string, device: string = this.bridge): Promise<void> {
    await this.#ip('address', 'add', address, 'dev', device);
  }

  async removeTap(tap: string): Promise<void> {
    if (!this.#stopped) await this.#ip('link', 'del', tap);
  }

  /** A cable from here to a port of the other network's bridge; this side has `address` there, and routes. */
  async plugInto(other: RackNetwork, address: string): Promise<void> {
    const port = `port${other.#taps}`;
    other.#taps += 1;
    await this.#ip('link', 'add', this.uplink, 'type', 'veth', 'peer', 'name', port, 'netns', other.name);
    await other.#ip('link', 'set', port, 'master', other.bridge, 'up');
    await this.#ip('address', 'add', address, 'dev', this.uplink);
    await this.#ip('link', 'set', this.uplink, 'up');
    await this.run('sysctl', '-q', '-w', 'net.ipv4.ip_forward=1');
  }

  /** Undoes `plugInto` at once; otherwise the cable goes with the namespace, some time after it. */
  async unplug(): Promise<void> {
    await this.#ip('link', 'del', this.uplink);
  }

  async addRoute(prefix: string, via: string): Promise<void> {
    await this.#ip('route', 'add', prefix, 'via', via);
  }

  /** Everything in it goes: interfaces, rules, files, and processes that were left behind. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await removeNamespace(this.name);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A path for a file of this rack. */
  file(name: string): string {
    return join(this.folder, name);
  }

  async #ip(...args: readonly string[]): Promise<void> {
    await run('ip', '-n', this.name, ...args);
  }
}
