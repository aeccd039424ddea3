// When a machine entered and left each boot stage of its current or last work, from its events.

import type { Instant } from '../../domain/instant.ts';
import {
  imagesComplete,
  isFirmwareDiscover,
  isLoaderRunning,
  isOf,
  isScript,
  type Seen,
  startsWork,
} from './boot-events.ts';
import { isBefore, type Stage } from './stages.ts';

export interface StageVisit {
  readonly stage: Stage;
  readonly began: Instant;
  /** Null: it is still in this stage. */
  readonly ended: Instant | null;
}

/** A step of the service OS, such as `write-image`. */
export interface StepVisit {
  readonly step: string;
  readonly began: Instant;
  readonly ended: Instant | null;
  readonly ok: boolean | null;
  /** When its reported progress last changed. */
  readonly moved: Instant;
}

export interface Timeline {
  /** When the work started; null: no work was ever started. */
  readonly began: Instant | null;
  readonly ended: Instant | null;
  /** The state that ended it; null: it has not ended. */
  readonly endedIn: string | null;
  /** The stages of the last boot attempt. A stage that several attempts did not leave began with the first of them. */
  readonly visits: readonly StageVisit[];
  readonly steps: readonly StepVisit[];
  /** How often the machine started to boot. */
  readonly attempts: number;
}

/** `events`: of one machine, in order. */
export function timelineOf(events: readonly Seen[]): Timeline {
  const start = events.findLastIndex((one) => startsWork(one) || isEnrollmentByHand(one));
  const [first] = events.slice(start);
  if (start === -1 || first === undefined)
    return { began: null, ended: null, endedIn: null, visits: [], steps: [], attempts: 0 };
  const course = new Course(first.at, startsWork(first) ? 'power' : 'first-boot');
  for (const one of events.slice(start + 1)) course.observe(one);
  return course.timeline();
}

const isEnrollmentByHand = (one: Seen): boolean =>
  isOf(one, ['lifecycle.enrolling']) && one.data.event !== 'installed' && one.data.before.state !== 'enrolling';

/** The states in which nothing more is expected of the work. */
const ENDS: ReadonlySet<string> = new Set([
  'lifecycle.ready',
  'lifecycle.active',
  'lifecycle.failed',
  'lifecycle.registered',
  'lifecycle.retired',
  'lifecycle.quarantined',
  'lifecycle.removed',
]);

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

class Course {
  readonly #began: Instant;
  #ended: Instant | null = null;
  #endedIn: string | null = null;
  #visits: Mutable<StageVisit>[];
  #steps: (Mutable<StepVisit> & { progress: string })[] = [];
  #attempts = 0;
  /** Where the attempt before ended. */
  #before: { readonly stage: Stage; readonly began: Instant } | null = null;

  constructor(began: Instant, stage: Stage) {
    this.#began = began;
    this.#visits = [{ stage, began, ended: null }];
  }

  observe(one: Seen): void {
    if (this.#ended !== null) return;
    if (ENDS.has(one.kind)) this.#end(one);
    else if (isOf(one, ['session.step'])) this.#step(one);
    else this.#boot(one);
  }

  #boot(one: Seen): void {
    if (isFirmwareDiscover(one)) this.#discover(one.at);
    const stage = entered(one, this.#reached);
    if (stage !== null && isBefore(this.#reached, stage)) this.#enter(stage, one.at);
  }

  timeline(): Timeline {
    return {
      began: this.#began,
      ended: this.#ended,
      endedIn: this.#endedIn,
      visits: this.#visits,
      steps: this.#steps.map(({ progress: _, ...step }) => step),
      attempts: this.#attempts,
    };
  }

  get #reached(): Stage {
    return this.#visits.at(-1)?.stage ?? 'power';
  }

  /** Firmware that starts again after a boot loader ran: a new attempt. An installed system may boot from the network first. */
  #discover(at: Instant): void {
    const last = this.#visits.at(-1);
    if (last === undefined || last.stage === 'first-boot') return;
    if (isBefore(last.stage, 'script')) return;
    this.#before = { stage: last.stage, began: last.began };
    this.#attempts += 1;
    this.#visits = [{ stage: 'power', began: this.#began, ended: at }];
    this.#steps = [];
    this.#enter('address', at);
  }

  #enter(stage: Stage, at: Instant): void {
    const last = this.#visits.at(-1);
    if (last && last.ended === null) last.ended = at;
    if (this.#attempts === 0) this.#attempts = 1;
    const again = this.#before?.stage === stage ? this.#before.began : at;
    this.#visits.push({ stage, began: again, ended: null });
  }

  #step({ at, data: { step, status, percent, message } }: Seen<'session.step'>): void {
    if (isBefore(this.#reached, 'work')) this.#enter('work', at);
    const last = this.#steps.at(-1);
    const progress = `${status} ${percent} ${message}`;
    if (last?.step !== step || last.ended !== null) {
      if (last && last.ended === null) last.ended = at;
      this.#steps.push({ step, began: at, ended: null, ok: null, moved: at, progress });
    }
    const current = this.#steps.at(-1);
    if (current === undefined) return;
    if (current.progress !== progress) Object.assign(current, { progress, moved: at });
    if (status === 'done' || status === 'failed') Object.assign(current, { ended: at, ok: status === 'done' });
  }

  #end({ at, kind }: Seen): void {
    this.#ended = at;
    this.#endedIn = kind.slice('lifecycle.'.length);
    const last = this.#visits.at(-1);
    if (last && last.ended === null) last.ended = at;
  }
}

/** The stage that begins with this event. */
function entered(one: Seen, reached: Stage): Stage | null {
  if (reached === 'first-boot') return null;
  if (isFirmwareDiscover(one)) return 'address';
  if (isOf(one, ['dhcp.ack'])) return reached === 'address' ? 'loader' : null;
  if (isLoaderRunning(one)) return 'script';
  if (isScript(one)) return one.data.outcome === 'service-os' || one.data.outcome === 'installer' ? 'images' : null;
  if (imagesComplete(one)) return 'start';
  if (isOf(one, ['session.opened'])) return 'work';
  return isOf(one, ['lifecycle.enrolling']) ? 'first-boot' : null;
}
