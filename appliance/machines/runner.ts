// Drives machines through the table: fires deadlines and runs effects. All its progress is in the store, so that a new
// process continues where the last one was killed.

import { ColdironError } from '../domain/errors.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import type { Machine } from '../domain/machine.ts';
import type { Store } from '../store/store.ts';
import { backOff } from './back-off.ts';
import { deadlinePassed } from './commands/clock.ts';
import type { EffectHandlers } from './effects/handler.ts';
import type { MachineCommands } from './execute.ts';
import { APPLIANCE } from './record.ts';
import type { Clock, Timer } from './runner/clock.ts';
import { type EffectRunSettings, runEffect } from './runner/run-effect.ts';

/** Writers in other processes do not wake the runner: their writes are noticed after at most this long. */
const LONGEST_NAP = SECOND;
/** Work that is due but waits for a free slot must not cause a busy loop. */
const SHORTEST_NAP = 50;
/** Most of them wait for minutes, for a machine to boot after its BMC started it. */
const EFFECTS_AT_ONCE = 256;
const DEADLINES_AT_ONCE = 100;
/** Shorter than a service manager, or an operator who pressed Ctrl-C, waits. */
const STOP_LIMIT = 3 * SECOND;

export interface LifecycleRunnerSettings {
  readonly store: Pick<
    Store,
    'machine' | 'subscribe' | 'dueDeadlines' | 'nextDeadline' | 'takeEffects' | 'reclaimEffects' | 'nextEffectDue'
  >;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly effects: EffectHandlers;
  /** How far the machine's service OS had come, as text; omitted: unknown. */
  readonly lastHeard?: (machine: Machine) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

export class LifecycleRunner {
  readonly #settings: LifecycleRunnerSettings;
  readonly #effectRun: EffectRunSettings;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #pauses = new Set<{ readonly timer: Timer; readonly end: () => void }>();
  #started = false;
  #unsubscribe = (): void => undefined;
  #nap: Timer | null = null;
  #round: Promise<void> | null = null;
  #wokenMeanwhile = false;
  #failedRounds = 0;

  constructor(settings: LifecycleRunnerSettings) {
    this.#settings = settings;
    this.#effectRun = {
      store: settings.store,
      commands: settings.commands,
      handlers: settings.effects,
      log: settings.log,
      persistently: (verb) => this.#persistently(verb),
    };
  }

  /** Resumes the effects that an earlier process left unfinished. */
  async start(): Promise<void> {
    const reclaimed = await this.#settings.store.reclaimEffects();
    if (reclaimed > 0) this.#settings.log.info({ reclaimed }, 'effects of an earlier run are resumed');
    this.#started = true;
    // An inventory write may have removed machines, and adds effects.
    this.#unsubscribe = this.#settings.store.subscribe(({ change }) => {
      if (change === null || change.lifecycle !== null || change.effects.length > 0) this.#wake();
    });
    this.#wake();
  }

  /** Starts nothing new and waits, within limits, for running effects; the rest stays pending in the store. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#unsubscribe();
    this.#nap?.cancel();
    this.#nap = null;
    for (const pause of this.#pauses) pause.end();
    let limit: Timer | undefined;
    const tooLong = new Promise<void>((resolve) => {
      limit = this.#settings.clock.setTimer(STOP_LIMIT, resolve);
    });
    await Promise.race([this.idle(), tooLong]);
    limit?.cancel();
    if (this.#inFlight.size > 0) {
      this.#settings.log.warn({ effects: this.#inFlight.size }, 'stopped while effects were running');
    }
  }

  /** Resolves when nothing is running and nothing more is due now. */
  async idle(): Promise<void> {
    while (this.#round !== null || this.#inFlight.size > 0) await Promise.all([this.#round, ...this.#inFlight]);
  }

  #wake(): void {
    if (!this.#started) return;
    if (this.#round !== null) {
      this.#wokenMeanwhile = true;
      return;
    }
    this.#nap?.cancel();
    this.#nap = null;
    this.#round = this.#rounds();
  }

  async #rounds(): Promise<void> {
    let nap = LONGEST_NAP;
    do {
      this.#wokenMeanwhile = false;
      try {
        await this.#fireDeadlines();
        await this.#beginEffects();
        nap = await this.#napLength();
        this.#failedRounds = 0;
      } catch (error) {
        this.#failedRounds += 1;
        nap = backOff(this.#failedRounds);
        this.#settings.log.error({ err: error, wait_ms: nap }, 'lifecycle round failed, will be retried');
      }
    } while (this.#wokenMeanwhile && this.#started);
    // In one step with the last check of `wokenMeanwhile`: no wake-up in between is lost.
    this.#round = null;
    if (this.#started) this.#nap = this.#settings.clock.setTimer(nap, () => this.#wake());
  }

  async #fireDeadlines(): Promise<void> {
    const now = this.#settings.clock.now();
    let moved: number;
    let due: Machine[];
    do {
      moved = 0;
      due = await this.#settings.store.dueDeadlines(now, DEADLINES_AT_ONCE);
      for (const machine of due) {
        if (!this.#started) return;
        const lastHeard = await this.#settings.lastHeard?.(machine);
        const origin = { actor: APPLIANCE, correlationId: null };
        const executed = await this.#settings.commands.execute(
          { machine: machine.id, name: 'deadline', input: null, origin },
          (now, context) => deadlinePassed(now, lastHeard, context),
        );
        if (executed.outcome === 'done') moved += 1;
      }
    } while (due.length === DEADLINES_AT_ONCE && moved > 0);
  }

  async #beginEffects(): Promise<void> {
    const free = EFFECTS_AT_ONCE - this.#inFlight.size;
    if (free <= 0 || !this.#started) return;
    const taken = await this.#settings.store.takeEffects(this.#settings.clock.now(), free);
    for (const effect of taken) {
      const run = runEffect(this.#effectRun, effect)
        .catch((error: unknown) => {
          this.#settings.log.error(
            { err: error, effect: effect.kind, id: effect.id },
            'the result of an effect could not be committed',
          );
        })
        .finally(() => {
          this.#inFlight.delete(run);
          this.#wake();
        });
      this.#inFlight.add(run);
    }
  }

  async #napLength(): Promise<number> {
    const { store, clock } = this.#settings;
    const next = [await store.nextDeadline(), await store.nextEffectDue()].filter((at): at is Instant => at !== null);
    return Math.min(LONGEST_NAP, Math.max(SHORTEST_NAP, Math.min(...next) - clock.now()));
  }

  async #persistently<T>(verb: () => Promise<T>): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await verb();
      } catch (error) {
        const passes =
          error instanceof ColdironError && (error.code === 'store_unavailable' || error.code === 'outcome_unknown');
        if (!passes || !this.#started) throw error;
        this.#settings.log.warn(
          { err: error, wait_ms: backOff(failures) },
          'the store is unavailable, will be retried',
        );
        await this.#pause(backOff(failures));
      }
    }
  }

  #pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        pause.timer.cancel();
        this.#pauses.delete(pause);
        resolve();
      };
      const pause = { timer: this.#settings.clock.setTimer(delay, () => end()), end };
      this.#pauses.add(pause);
    });
  }
}
