// Processor time that a benchmark spends in our own processes, seen from outside: an older tree does not print it. Read several times
// a second, because a process that has ended cannot be asked any more.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf, cpuSecondsOf } from '../process-cost.ts';

const EVERY_MS = 100;

/** These run our code in their own process; the others start an appliance and commands. */
const IN_PROCESS = new Set(['bmc', 'decide', 'fuzz', 'render']);
/** These do not do the same amount of work in each run. */
const NOT_FIXED = new Set(['dhcp', 'onboarding']);

export const hasFixedWork = (bench: string): boolean => !NOT_FIXED.has(bench);

/** Whether this process counts: the benchmark itself, or an appliance or command of this tree. */
export const isOurs = (bench: string, tree: string, isBench: boolean, command: readonly string[]): boolean =>
  isBench ? IN_PROCESS.has(bench) : command.includes(join(tree, 'appliance/cli/coldiron.ts'));

export class CpuMeter {
  readonly #pid: number;
  readonly #counts: (pid: number) => boolean;
  readonly #timer: NodeJS.Timeout;
  /** The latest reading of each process that counts. A process number is not reused within minutes. */
  readonly #seconds = new Map<number, number>();

  /** Of this process and all that come from it. */
  constructor(pid: number, counts: (pid: number, command: readonly string[]) => boolean) {
    this.#pid = pid;
    this.#counts = (each) => counts(each, commandOf(each));
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
    this.#look();
  }

  /** What was spent until now, or until each process ended. */
  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return [...this.#seconds.values()].reduce((sum, seconds) => sum + seconds, 0);
  }

  #look(): void {
    const waiting = [this.#pid];
    for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
      waiting.push(...childrenOf(pid));
      // A launcher becomes the program: its command is read again each time until it counts.
      if (this.#seconds.has(pid) || this.#counts(pid)) this.#note(pid);
    }
  }

  #note(pid: number): void {
    try {
      // An ended process that nobody has waited for yet still shows all of its time.
      this.#seconds.set(pid, Math.max(this.#seconds.get(pid) ?? 0, cpuSecondsOf(pid)));
    } catch {
      // It has ended; its latest reading counts.
    }
  }
}

function commandOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
