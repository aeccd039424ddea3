// A tree with a benchmark of a few lines: what it prints, what it costs, and that it ends with everything that it started.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BenchProcess } from './measured-run.ts';

let tree = '';
beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'coldiron-measured-run-'));
  mkdirSync(join(tree, 'test/bench'), { recursive: true });
  mkdirSync(join(tree, 'appliance/cli'), { recursive: true });
});
afterEach(() => rmSync(tree, { recursive: true, force: true }));

const bench = (code: string): void => writeFileSync(join(tree, 'test/bench/run.ts'), code);
/** Uses this much processor time, however busy the machine is. */
const burn = (milliseconds: number): string => `
  const spent = () => Object.values(process.cpuUsage()).reduce((sum, each) => sum + each);
  for (const until = spent() + ${milliseconds * 1000}; spent() < until; ) Math.sqrt(Array.from({ length: 10_000 }).length);`;
const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('one run of a benchmark', () => {
  test('its output, and its words', async () => {
    bench(`process.stdout.write('asked: ' + process.argv.slice(2).join() + '\\n');`);
    const run = await new BenchProcess().run(tree, { name: 'fuzz', count: 5 });
    expect(run).toMatchObject({ output: 'asked: fuzz=5\n', failure: null });
  });

  test('a failure comes with its last words', async () => {
    bench(`process.stderr.write('no such interface\\n'); process.exitCode = 3;`);
    const { failure } = await new BenchProcess().run(tree, { name: 'idle', count: null });
    expect(failure).toBe('ended with 3:\nno such interface');
  });

  test('the CPU time of the benchmark itself counts where it runs our code', async () => {
    bench(burn(300));
    const { cpuSeconds } = await new BenchProcess().run(tree, { name: 'decide', count: null });
    expect(cpuSeconds).toBeGreaterThan(0.2);
    expect((await new BenchProcess().run(tree, { name: 'http', count: null })).cpuSeconds).toBe(0);
  });

  test('the CPU time of an appliance that it starts counts, also when a launcher becomes the appliance', async () => {
    // A reading every 100 ms, later on a busy machine: what was spent after the last one is not seen.
    writeFileSync(join(tree, 'appliance/cli/coldiron.ts'), burn(600));
    bench(`
      import { spawnSync } from 'node:child_process';
      spawnSync('sh', ['-c', 'exec "$0" "$1"', process.execPath, ${JSON.stringify(join(tree, 'appliance/cli/coldiron.ts'))}]);
      ${burn(2000)}`);
    const { cpuSeconds } = await new BenchProcess().run(tree, { name: 'http', count: null });
    expect(cpuSeconds).toBeGreaterThan(0.2);
    // Without the two seconds of the benchmark.
    expect(cpuSeconds).toBeLessThan(1.5);
  });

  test('an interrupted run ends, and no other one starts', async () => {
    bench(`
      import { writeFileSync } from 'node:fs';
      writeFileSync('pid', String(process.pid));
      setInterval(() => undefined, 1000);`);
    const benchmark = new BenchProcess();
    const run = benchmark.run(tree, { name: 'idle', count: null });
    const pid = (): number => (existsSync(join(tree, 'pid')) ? Number(readFileSync(join(tree, 'pid'), 'utf8')) : 0);
    await expect.poll(pid).toBeGreaterThan(0);
    await Promise.all([benchmark.end(), expect(run).rejects.toThrow('interrupted')]);
    expect(isRunning(pid())).toBe(false);
    await expect(benchmark.run(tree, { name: 'idle', count: null })).rejects.toThrow('interrupted');
  });
});
