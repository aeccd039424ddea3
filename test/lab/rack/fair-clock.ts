// Time as a virtual machine has it: without the time in which it was ready to run and had to wait for a processor. A limit by this
// clock does not depend on how busy the host is, and still ends a machine that hangs.

import { readdirSync, readFileSync } from 'node:fs';

/** Vitest's own limit for tests with virtual machines. It counts all time, so the limits by the fair clock must come first. */
export const LAST_RESORT_MS = 45 * 60_000;

/** Milliseconds that each thread of the process waited for a processor: the second field of schedstat, in nanoseconds. */
function waitingTimes(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      const [, waited] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
      return Number(waited) / 1e6;
    });
  } catch {
    // It has ended, or this kernel does not count.
    return [];
  }
}

/**
 * `pid`: of the machine that runs now, or null while it is off. Its processor is one thread; no other one waits longer, because none
 * is ready as often.
 */
export function fairClock(pid: () => number | null, now: () => number = () => performance.now()): () => number {
  let current: number | null = null;
  let waited = 0;
  let before = 0;
  return () => {
    const running = pid();
    if (running !== current) {
      before += waited;
      waited = 0;
      current = running;
    }
    if (running !== null) waited = Math.max(waited, ...waitingTimes(running));
    return now() - before - waited;
  };
}
