// Racks that boot at the same moment: 1,000 machines fetch an initrd from a real `coldiron serve`, each at its own pace.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { megabytesOf } from '../bench/process-cost.ts';
import { patternBytes } from '../servers/http-boot/boot-server-rig.ts';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from './appliance.ts';
import { bytesInMemory, connectedTo, Fetcher, heldFor } from './many-fetchers.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const MACHINES = 1000;
/** Below the backlog of a listening socket: connections beyond it are delayed by seconds, by TCP itself. */
const RACK = 250;
const INITRD = 'nixos/worker/initrd';
/** More than the kernel buffers for a machine that does not read. */
const INITRD_MEBIBYTES = 24;
const ALLOWANCE_MEGABYTES = 48;
const PATIENCE = { timeout: 300_000 };

const site = new SiteFolder(`${LOOPBACK_SITE}log: { level: error }\n`);
const initrd = patternBytes(INITRD_MEBIBYTES * MEBIBYTE);
const machines: Fetcher[] = [];
let serving: ServingProcess | null = null;

afterEach(async () => {
  for (const machine of machines) machine.leave();
  await serving?.end('SIGKILL');
  site.remove();
});

async function connected(url: URL): Promise<Fetcher> {
  const machine = new Fetcher(url, initrd);
  machines.push(machine);
  await machine.connected();
  return machine;
}

/** All send their request at the same moment and receive the start of the initrd; none of them reads on. */
async function connectAll(url: URL): Promise<readonly Fetcher[]> {
  const arrived: Fetcher[] = [];
  while (arrived.length < MACHINES) {
    arrived.push(...(await Promise.all(Array.from({ length: RACK }, () => connected(url)))));
  }
  for (const machine of arrived) machine.ask();
  await each(arrived, (machine) => machine.takeUntil(64 * KIBIBYTE));
  return arrived;
}

const each = (rack: readonly Fetcher[], what: (machine: Fetcher) => Promise<void>) => Promise.all(rack.map(what));

describe('1,000 machines at once', () => {
  it(
    'are served as fast as they read; slow, half-closed, reset and stalled ones leave nothing behind',
    PATIENCE,
    async () => {
      const file = join(site.state, 'assets', INITRD);
      mkdirSync(site.state, { mode: 0o700 });
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, initrd);
      serving = await new ServingProcess(site.path).up();
      const pid = serving.child.pid ?? 0;
      const url = new URL(`/boot/${INITRD}`, serving.where('boot'));
      const held = (): number => heldFor(pid);
      const oneMore = async (): Promise<void> => {
        const machine = await connected(url);
        machine.ask();
        await machine.takeAll();
        expect(machine.hasAll).toBe(true);
      };

      // The first fetch reads the file into memory, and the first round grows the heap to its final size.
      await oneMore();
      await expect.poll(() => bytesInMemory(pid)).toBeGreaterThanOrEqual(initrd.length);
      await oneMore();
      const before = held();
      for (const machine of await connectAll(url)) machine.leave();
      await expect.poll(held).toBeLessThanOrEqual(before);
      const megabytes = megabytesOf(pid, 'VmRSS');

      const all = await connectAll(url);
      expect(all.filter(({ isOver }) => isOver)).toHaveLength(0);
      expect(connectedTo(pid, all)).toBe(MACHINES);
      expect((await fetch(new URL('/health', url), { headers: { connection: 'close' } })).status).toBe(200);

      const rack = (number: number): readonly Fetcher[] => all.slice(number * RACK, (number + 1) * RACK);
      const [slow, halfClosed, reset, stalled] = [rack(0), rack(1), rack(2), rack(3)];
      for (const machine of reset) machine.reset();
      for (const machine of halfClosed) machine.halfClose();
      await Promise.all([
        each(halfClosed, (machine) => machine.takeAll()),
        // 64 KiB every 50 ms are 1.3 MB/s.
        each(slow, (machine) => machine.takeSlowly(3 * MEBIBYTE, 64 * KIBIBYTE, 50)),
      ]);
      expect(connectedTo(pid, slow)).toBe(RACK);
      // If all of them were buffered, it would be gigabytes.
      const patient = slow.filter((_, at) => at % 10 === 0);
      await each(patient, (machine) => machine.takeAll());
      expect(patient.filter(({ hasAll }) => hasAll)).toHaveLength(patient.length);
      for (const machine of slow) machine.leave();
      await expect.poll(() => connectedTo(pid, all)).toBe(RACK);
      expect(connectedTo(pid, stalled)).toBe(RACK);

      for (const machine of stalled) machine.leave();
      await expect.poll(held).toBeLessThanOrEqual(before);
      await oneMore();
      const most = megabytes + INITRD_MEBIBYTES + ALLOWANCE_MEGABYTES;
      await expect.poll(() => megabytesOf(pid, 'VmRSS')).toBeLessThanOrEqual(most);
      expect(serving.stderr).toBe('');
    },
  );
});
