// The network of a virtual rack: a network namespace with a bridge. It is isolated from the host in both directions.
// Needs root.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { runCommand } from './command.ts';
import { claimName, folderOf, removeNamespace } from './leftovers.ts';

export interface RackNetworkOptions {
  /** Of the bridge, with prefix length. */
  readonly address?: string;
}

export class RackNetwork {
  /** Name of the namespace; unique among racks. */
  readonly name: string;
  readonly bridge = 'rack0';
  /** The interface of this network when it is plugged into another one. */
  readonly uplink = 'uplink0';
  /** For the files of its machines; removed with it. */
  readonly folder: string;
  #taps = 0;
  #stopped = false;

  private constructor(name: string) {
    this.name = name;
    this.folder = folderOf(name);
  }

  static async start({ address = '10.77.0.1/16' }: RackNetworkOptions = {}): Promise<RackNetwork> {
    if (process.getuid?.() !== 0) {
      throw new ColdironError('forbidden', 'a virtual rack creates network namespaces and taps, which needs root');
    }
    const network = new RackNetwork(await claimName());
    try {
      await runCommand('ip', 'netns', 'add', network.name);
      await network.#ip('link', 'set', 'lo', 'up');
      await network.addBridge(network.bridge, address);
    } catch (error) {
      await network.stop();
      throw error;
    }
    return network;
  }

  /** Wraps a program to run inside the namespace, with the same process id; it is killed when its parent dies. */
  command(program: string, ...args: readonly string[]): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.name, 'setpriv', '--pdeathsig', 'KILL', program, ...args];
  }

  /** Runs a system program in the namespace to completion. */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    const [command, ...rest] = this.command(program, ...args);
    return await runCommand(command, ...rest);
  }

  /** A bridge port for one card of one machine. */
  async addTap(bridge: string = this.bridge): Promise<string> {
    const tap = `tap${this.#taps}`;
    this.#taps += 1;
    await this.#ip('tuntap', 'add', tap, 'mode', 'tap');
    await this.#ip('link', 'set', tap, 'master', bridge, 'up');
    return tap;
  }

  /** Another bridge in the same namespace; `address` with prefix length. */
  async addBridge(name: string, address: string): Promise<void> {
    // Without the spanning tree's delay: firmware sends its first DHCP request within a second of link-up.
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

  /** A cable from here to a port of the other network's bridge; this side gets `address` there, and forwards packets. */
  async plugInto(other: RackNetwork, address: string): Promise<void> {
    const port = `port${other.#taps}`;
    other.#taps += 1;
    await this.#ip('link', 'add', this.uplink, 'type', 'veth', 'peer', 'name', port, 'netns', other.name);
    await other.#ip('link', 'set', port, 'master', other.bridge, 'up');
    await this.#ip('address', 'add', address, 'dev', this.uplink);
    await this.#ip('link', 'set', this.uplink, 'up');
    await this.run('sysctl', '-q', '-w', 'net.ipv4.ip_forward=1');
  }

  /** Undoes `plugInto` immediately; otherwise the cable goes some time after the namespace. */
  async unplug(): Promise<void> {
    await this.#ip('link', 'del', this.uplink);
  }

  async addRoute(prefix: string, via: string): Promise<void> {
    await this.#ip('route', 'add', prefix, 'via', via);
  }

  /** Removes everything in it: interfaces, rules, files, and remaining processes. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await removeNamespace(this.name);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Path of a file of this rack. */
  file(name: string): string {
    return join(this.folder, name);
  }

  async #ip(...args: readonly string[]): Promise<void> {
    await runCommand('ip', '-n', this.name, ...args);
  }
}
