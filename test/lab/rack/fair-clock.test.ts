import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { fairClock } from './fair-clock.ts';

const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});

/** Two that always want to run, both on the same processor. */
const busy = (): ChildProcess => {
  const child = spawn('taskset', ['-c', '0', 'sh', '-c', 'while :; do :; done'], { stdio: 'ignore' });
  started.push(child);
  return child;
};

describe('the clock of a virtual machine', () => {
  it('is late by the time in which the machine waited for a processor', async () => {
    const [one] = [busy(), busy()];
    const clock = fairClock(() => one?.pid ?? null);
    const lag = (): number => performance.now() - clock();
    await expect.poll(lag).toBeGreaterThan(100);
    // It never waits longer than it exists.
    expect(clock()).toBeGreaterThan(0);
  });

  it('is the normal clock for a machine that is off, or gone', () => {
    expect(
      fairClock(
        () => null,
        () => 1234,
      )(),
    ).toBe(1234);
    expect(
      fairClock(
        () => 2 ** 30,
        () => 1234,
      )(),
    ).toBe(1234);
  });

  it('does not jump when the machine is switched off and another one on', async () => {
    const [one] = [busy(), busy()];
    let pid: number | null = one?.pid ?? null;
    let wall = 1_000_000;
    const clock = fairClock(
      () => pid,
      () => wall,
    );
    await expect.poll(() => wall - clock()).toBeGreaterThan(50);
    const late = wall - clock();
    pid = null;
    wall += 10;
    expect(wall - clock()).toBeGreaterThanOrEqual(late);
    expect(wall - clock()).toBeLessThan(late + 5000);
  });
});
