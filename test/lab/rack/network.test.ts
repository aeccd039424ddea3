// Needs root: creates real network namespaces.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RACK_PACKAGES } from '../../../appliance/lab/rack/firmware.ts';
import { sweepLeftovers } from '../../../appliance/lab/rack/leftovers.ts';
import { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import { needPackages } from '../../interop/packages.ts';

const namespaces = (): readonly string[] => (existsSync('/run/netns') ? readdirSync('/run/netns') : []);

describe('the network of a rack', () => {
  const networks: RackNetwork[] = [];
  const children: ChildProcess[] = [];
  const start = async (...args: Parameters<typeof RackNetwork.start>): Promise<RackNetwork> => {
    const network = await RackNetwork.start(...args);
    networks.push(network);
    return network;
  };
  beforeAll(() => needPackages([...RACK_PACKAGES, 'iputils-ping']));
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const network of networks.splice(0)) await network.stop();
  });

  it('has the same addresses as another one, and both are isolated', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.name).not.toBe(two.name);
    for (const network of [one, two]) {
      expect(await network.run('ip', '-4', '-brief', 'address', 'show', network.bridge)).toContain('10.77.0.1/16');
    }
  });

  it('reaches another network that it is plugged into, and is reached through a route', async () => {
    const near = await start();
    const far = await start({ address: '10.78.0.1/24' });
    await far.plugInto(near, '10.77.0.2/16');
    await near.addRoute('10.78.0.0/24', '10.77.0.2');
    expect(await near.run('ping', '-c', '1', '-w', '20', '10.78.0.1')).toContain(' 0% packet loss');
  });

  it('leaves nothing behind when it is stopped: no name, no files, no process', async () => {
    const network = await start();
    await network.addTap();
    const [command, ...args] = network.command('sleep', '600');
    const child = spawn(command, args);
    children.push(child);
    const ended = once(child, 'exit');
    while (!(await network.run('ip', 'netns', 'pids', network.name)).includes(`${child.pid}`)) await tick();
    await network.stop();
    expect((await ended)[1]).toBe('SIGKILL');
    expect(namespaces()).not.toContain(network.name);
    expect(existsSync(network.folder)).toBe(false);
  });

  it('is removed with its processes after its owner was killed, also by several sweepers at once, while other networks stay', async () => {
    const kept = await start();
    const owner = spawn(process.execPath, [`${import.meta.dirname}/network-owner.ts`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(owner);
    const [line] = await once(createInterface({ input: owner.stdout as NodeJS.ReadableStream }), 'line');
    const { name, folder, pid } = JSON.parse(String(line));
    expect(namespaces()).toContain(name);
    const ended = once(owner, 'exit');
    owner.kill('SIGKILL');
    await ended;

    // Other tests sweep too, and may have been first.
    await Promise.all([1, 2, 3].map(sweepLeftovers));
    expect(namespaces()).not.toContain(name);
    expect(existsSync(folder)).toBe(false);
    while (existsSync(`/proc/${pid}`)) await tick();
    expect(namespaces()).toContain(kept.name);
    expect(existsSync(kept.folder)).toBe(true);
  });
});

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
