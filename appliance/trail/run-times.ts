// How long each stage of completed work took. Each completed run is recorded as one event; the expected times of a machine come from the
// runs of machines of the same SKU, or of all machines while there are too few of them.

import { newEvent } from '../domain/event.ts';
import { knownEvent } from '../domain/events/known-event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Publication } from '../store/change.ts';
import type { Store } from '../store/store.ts';
import { isOf, type Seen } from './diagnosis/boot-events.ts';
import { ENOUGH_SAMPLES, type ExpectedTimes, expectedTimes, STAGES, type Stage } from './diagnosis/stages.ts';
import { timelineOf } from './diagnosis/timeline.ts';

interface Deps {
  readonly store: Pick<Store, 'events' | 'appendEvents' | 'subscribe'>;
  readonly now: () => Instant;
  readonly log: { error(fields: object, message: string): void };
}

interface Run {
  readonly sku: string | null;
  readonly stages: Readonly<Partial<Record<Stage, Instant>>>;
}

/** Enough for percentiles; older runs say less about the site as it is. */
const RUNS_KEPT = 500;
/** A run has fewer events; the newest belong to it. */
const EVENTS_READ = 2_000;

export class RunTimes {
  readonly #deps: Deps;
  #runs: Promise<Run[]> | null = null;
  #recording: Promise<void> = Promise.resolve();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Records each run that completes. Returns stop, which waits for the last one. */
  start(): () => Promise<void> {
    const unsubscribe = this.#deps.store.subscribe((publication) => this.#observe(publication));
    return async () => {
      unsubscribe();
      await this.#recording;
    };
  }

  async expected(sku: string | null): Promise<ExpectedTimes> {
    const runs = await this.#known();
    const similar = runs.filter((run) => run.sku === sku);
    return expectedTimes((similar.length >= ENOUGH_SAMPLES ? similar : runs).map(({ stages }) => stages));
  }

  /** A subscriber must not wait for a write of its own. */
  #observe({ events, machine }: Publication): void {
    if (machine === null || !events.some(completesRun)) return;
    const { id, spec } = machine;
    this.#recording = this.#recording
      .then(() => this.#record(id, spec.sku))
      .catch((err: unknown) => this.#deps.log.error({ err }, 'cannot record how long a run took'));
  }

  async #record(machine: MachineId, sku: string | null): Promise<void> {
    const { store, now } = this.#deps;
    const events = await store.events({ machine, limit: EVENTS_READ, newest: true });
    const known = events.flatMap((event) => knownEvent(event) ?? []);
    const { began, ended, visits } = timelineOf(known);
    const start = known.findLast((one) => one.at === began && one.kind.startsWith('lifecycle.'));
    if (began === null || ended === null || start === undefined) return;
    const stages = visits.flatMap(({ stage, began: from, ended: to }) =>
      to === null ? [] : [{ stage, ms: to - from }],
    );
    const data = { work: start.kind.slice('lifecycle.'.length), sku, ms: ended - began, stages };
    const runs = await this.#known();
    runs.push({ sku, stages: Object.fromEntries(stages.map(({ stage, ms }) => [stage, ms])) });
    if (runs.length > RUNS_KEPT) runs.shift();
    const frame = { at: now(), actor: 'appliance', machine, correlationId: null };
    await store.appendEvents([newEvent(frame, 'run.timed', data)]);
  }

  #known(): Promise<Run[]> {
    this.#runs ??= this.#read().catch((error: unknown) => {
      this.#runs = null;
      throw error;
    });
    return this.#runs;
  }

  async #read(): Promise<Run[]> {
    const events = await this.#deps.store.events({ kind: 'run.timed', limit: RUNS_KEPT, newest: true });
    return events.flatMap((event) => {
      const known: Seen | null = knownEvent(event);
      if (known === null || !isOf(known, ['run.timed'])) return [];
      const { sku, stages } = known.data;
      return [
        {
          sku,
          stages: Object.fromEntries(stages.filter(({ stage }) => stage in STAGES).map(({ stage, ms }) => [stage, ms])),
        },
      ];
    });
  }
}

const completesRun = (event: Publication['events'][number]): boolean =>
  isOf(event, ['lifecycle.ready', 'lifecycle.active']) && COMPLETIONS.has(event.data.event);

/** A cancelled run says nothing about the time that a run takes. */
const COMPLETIONS: ReadonlySet<string> = new Set(['commissioned', 'released', 'enrolled']);
