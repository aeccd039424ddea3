// Kills a writing process at random times. The store must be consistent afterwards.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { useScratchFolder } from './scratch-folder.ts';

const MACHINES = 200;
const KILLS = 50;
const LATEST_KILL_MS = 120;

type Writer = ChildProcessByStdio<Writable, Readable, null>;

describe('a store whose process is killed', () => {
  const at = useScratchFolder();
  const running = new Set<Writer>();
  afterEach(() => {
    for (const writer of running) writer.kill('SIGKILL');
    running.clear();
  });

  /** Started in advance: most of a writer's time is the start of its process. */
  function startWriter(file: string): Writer {
    const script = fileURLToPath(new URL('./crash-writer.ts', import.meta.url));
    const stdio: ['pipe', 'pipe', 'inherit'] = ['pipe', 'pipe', 'inherit'];
    const writer = spawn(process.execPath, [script, file, String(MACHINES)], { stdio });
    running.add(writer);
    return writer;
  }

  /** Returns the last generation that the store acknowledged to the process. */
  async function writeUntilKilled(writer: Writer): Promise<number> {
    const exit = once(writer, 'exit');
    const output = createInterface({ input: writer.stdout });
    const end = once(output, 'close');
    const lines: string[] = [];
    output.on('line', (line) => void lines.push(line));
    writer.stdin.write('go\n');
    await Promise.race([once(output, 'line'), exit]);
    await setTimeout(randomInt(LATEST_KILL_MS));
    writer.kill('SIGKILL');
    expect(await exit, 'the writer must not exit by itself').toEqual([null, 'SIGKILL']);
    await end;
    running.delete(writer);
    return Number(lines.at(-1)?.replace('generation ', ''));
  }

  it(`is consistent after each of ${KILLS} kills`, { timeout: 600_000 }, async () => {
    const file = at('coldiron.db');
    let next = startWriter(file);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const writer = next;
      next = startWriter(file);
      const acknowledged = await writeUntilKilled(writer);
      const store = await openSqliteStore({ file });
      try {
        await expectWhole(store, acknowledged);
      } finally {
        await store.close();
      }
    }
  });
});

async function expectWhole(store: Store, acknowledged: number): Promise<void> {
  expect(await store.verifyAudit()).toMatchObject({ intact: true });

  const { machines } = await store.inventory();
  expect(machines).toHaveLength(MACHINES);
  const generations = new Set(machines.map(({ spec }) => Number(spec.labels.generation)));
  expect(generations.size, 'an inventory is written as a whole').toBe(1);
  const [generation] = generations;
  expect(generation, 'nothing acknowledged is lost').toBeGreaterThanOrEqual(acknowledged);
  expect((await store.events({ kind: 'generation', limit: 1, newest: true }))[0]?.data).toBe(generation);

  const moves = Map.groupBy(await store.events({ kind: 'lifecycle', limit: 1_000_000 }), ({ machine }) => machine);
  for (const machine of machines) {
    const own = moves.get(machine.id) ?? [];
    const state = own.at(-1)?.kind.replace('lifecycle.', '') ?? 'registered';
    const promised = own.flatMap(({ data }) => (data as { effects: string[] }).effects);
    const effects = (await store.effects(machine.id)).map(({ id }) => id);
    expect({ state: machine.lifecycle.state, effects }, 'a transition is written as a whole').toEqual({
      state,
      effects: promised,
    });
  }
}
