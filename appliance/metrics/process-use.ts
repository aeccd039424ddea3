// What the process itself uses: CPU time, memory, and how long the event loop lets its callers wait.

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProcessUse } from './appliance-metrics.ts';

const NANOSECOND = 1e-9;
const MICROSECOND = 1e-6;
/** Milliseconds between two samples. */
const RESOLUTION = 20;
const WINDOW_MS = 60_000;

export class ProcessMeter {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  #windowBegan = performance.now();

  start(): () => void {
    this.#delay.enable();
    return () => void this.#delay.disable();
  }

  readonly read = (): ProcessUse => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const use = {
      cpuSeconds: (user + system) * MICROSECOND,
      residentBytes: rss,
      heapBytes: heapUsed,
      startedAt: performance.timeOrigin,
      loopDelay: this.#loopDelay(),
    };
    // Several scrapers see the same window.
    if (performance.now() - this.#windowBegan >= WINDOW_MS) {
      this.#delay.reset();
      this.#windowBegan = performance.now();
    }
    return use;
  };

  /** A sample is the whole time between two timers: the resolution is not a delay. */
  #loopDelay(): ProcessUse['loopDelay'] {
    const seconds = (nanoseconds: number): number =>
      Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds * NANOSECOND - RESOLUTION / 1000) : 0;
    const { max } = this.#delay;
    return {
      50: seconds(this.#delay.percentile(50)),
      99: seconds(this.#delay.percentile(99)),
      100: seconds(max),
    };
  }
}
