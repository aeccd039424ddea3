// Whether the clock of the appliance can be right: certificates, leases and tokens depend on it. It cannot be before the last recorded
// event, nor before this software was installed, and it does not jump.

import type { FoundProblem } from '../domain/appliance-problem.ts';
import { HOUR, type Instant, instantText, MINUTE, SECOND } from '../domain/instant.ts';

/** A clock that is being adjusted is slewed; a jump of this much is a step. */
const STEP = 5 * SECOND;
const STEP_SHOWN_FOR = 10 * MINUTE;
const TOLERANCE = MINUTE;
const INSTALLED_TOLERANCE = 26 * HOUR;
const NEXT_STEP = 'timedatectl status';

export class ClockCheck {
  readonly #notBefore: { readonly at: Instant; readonly what: string } | null;
  /** Wall clock and monotonic clock, in milliseconds, at the last look. */
  #last: { readonly wall: Instant; readonly monotonic: number } | null = null;
  #stepped: { readonly by: number; readonly monotonic: number } | null = null;

  constructor(known: { readonly lastEvent: Instant | null; readonly installed: Instant | null }) {
    const bounds = [
      ...(known.lastEvent === null
        ? []
        : [{ at: known.lastEvent - TOLERANCE, what: `the last recorded event is of ${instantText(known.lastEvent)}` }]),
      // Files may carry the local time of another machine.
      ...(known.installed === null
        ? []
        : [
            {
              at: known.installed - INSTALLED_TOLERANCE,
              what: `this software was installed at ${instantText(known.installed)}`,
            },
          ]),
    ];
    this.#notBefore = bounds.sort((a, b) => b.at - a.at)[0] ?? null;
  }

  look(wall: Instant, monotonic: number): FoundProblem[] {
    const last = this.#last;
    this.#last = { wall, monotonic };
    const by = last === null ? 0 : wall - last.wall - (monotonic - last.monotonic);
    if (Math.abs(by) >= STEP) this.#stepped = { by, monotonic };
    else if (this.#stepped && monotonic - this.#stepped.monotonic > STEP_SHOWN_FOR) this.#stepped = null;
    return [...this.#wrong(wall), ...this.#step()];
  }

  #wrong(wall: Instant): FoundProblem[] {
    const bound = this.#notBefore;
    if (bound === null || wall >= bound.at) return [];
    return [
      {
        id: 'clock-wrong',
        subject: 'clock',
        words: `the clock of this appliance is wrong: it says ${instantText(wall)}, and ${bound.what}; certificates are judged by it`,
        nextStep: NEXT_STEP,
        seconds: Math.round((wall - bound.at) / SECOND),
      },
    ];
  }

  #step(): FoundProblem[] {
    if (this.#stepped === null) return [];
    const seconds = Math.round(this.#stepped.by / SECOND);
    return [
      {
        id: 'clock-stepped',
        subject: 'clock',
        words: `the clock of this appliance jumped ${Math.abs(seconds)} s ${seconds < 0 ? 'back' : 'ahead'}: times in the trail are not comparable across it`,
        nextStep: NEXT_STEP,
        seconds,
      },
    ];
  }
}
