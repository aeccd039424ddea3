// Watches one run of nixos-anywhere: its lines become progress, each step has a time limit, and it has succeeded only
// when it says so and exits with 0.

import { type Instant, MINUTE, SECOND } from '../../../domain/instant.ts';
import {
  type AnywhereStep,
  BEFORE_FIRST_LINE,
  type InstallStep,
  type PushProgress,
  readAnywhereLine,
} from './anywhere-steps.ts';
import type { OutputTail } from './output-tail.ts';
import { type GroupEnd, type GroupRun, runGroup } from './process-group.ts';

export interface AnywhereLimits {
  /** For the whole run. */
  readonly all: Instant;
  /** Null: each step has its own limit; a number replaces them all. */
  readonly step: Instant | null;
  readonly gracePeriod: Instant;
}

interface AnywhereRun extends Pick<GroupRun, 'command' | 'args' | 'environment' | 'folder' | 'signal'> {
  readonly limits: AnywhereLimits;
  readonly tail: OutputTail;
  readonly say: (progress: PushProgress) => void;
}

export type AnywhereEnd =
  | { readonly ok: true }
  | { readonly ok: false; readonly step: InstallStep; readonly reason: string };

export async function watchAnywhere(run: AnywhereRun): Promise<AnywhereEnd> {
  const watch = new Watch(run);
  const end = await runGroup({
    ...run,
    gracePeriod: run.limits.gracePeriod,
    signal: AbortSignal.any([run.signal, watch.overdue]),
    onLine: (line, from) => watch.line(line, from),
  });
  return watch.finish(end, run.signal.aborted);
}

/** It prints a dozen; the machine that is installed can print any number of lines that look like them. */
const MOST_STEPS = 100;

class Watch {
  readonly #run: AnywhereRun;
  readonly #overdue = new AbortController();
  readonly #whole: NodeJS.Timeout;
  #step: NodeJS.Timeout | null = null;
  #at: { readonly name: string; readonly means: AnywhereStep } = { name: 'Building', means: BEFORE_FIRST_LINE };
  #late: string | null = null;
  #finished = false;
  #aborted: string | null = null;
  #steps = 0;
  #lastError: string | null = null;

  constructor(run: AnywhereRun) {
    this.#run = run;
    this.#whole = setTimeout(() => this.#tooLong('the installation', run.limits.all), run.limits.all);
    this.#limitStep();
  }

  get overdue(): AbortSignal {
    return this.#overdue.signal;
  }

  line(raw: string, from: 'output' | 'error'): void {
    const shownLine = this.#run.tail.add(raw);
    const line = readAnywhereLine(raw.trim());
    // Steps are printed to standard output; all other messages of programs go to standard error.
    if (from === 'error') {
      if (line.kind === 'aborted') this.#aborted = shownLine.replace(/^\s*aborted: /, '');
      else if (shownLine.trim() !== '') this.#lastError = shownLine.trim();
    } else if (line.kind === 'finished') this.#finished = true;
    else if (line.kind === 'step' && ++this.#steps <= MOST_STEPS)
      this.#begin(shownLine.trim().slice(4, -4), line.means);
  }

  finish(end: GroupEnd, cancelled: boolean): AnywhereEnd {
    clearTimeout(this.#whole);
    if (this.#step) clearTimeout(this.#step);
    const reason = this.#failure(end, cancelled);
    const { step } = this.#at.means;
    if (reason !== null) return { ok: false, step, reason };
    this.#say(step, 'done', 100, null);
    return { ok: true };
  }

  #failure(end: GroupEnd, cancelled: boolean): string | null {
    if (this.#late !== null) return this.#late;
    if (cancelled) return 'it was cancelled';
    if (end.kind === 'absent') return `nixos-anywhere cannot be started: ${end.reason}`;
    if (this.#aborted !== null) return `nixos-anywhere aborted: ${this.#aborted}`;
    const detail = this.#lastError === null ? '' : `: ${this.#lastError}`;
    if (end.kind === 'killed') return `nixos-anywhere was killed by ${end.by} during "${this.#at.name}"`;
    if (end.code !== 0) return `nixos-anywhere failed with exit code ${end.code} during "${this.#at.name}"${detail}`;
    return this.#finished ? null : `nixos-anywhere ended during "${this.#at.name}" without reporting success${detail}`;
  }

  #begin(name: string, means: AnywhereStep | null): void {
    const before = this.#at.means;
    const now = means ?? before;
    this.#at = { name, means: now };
    if (now.step === before.step) this.#say(now.step, 'progress', now.percent, name);
    else {
      this.#say(before.step, 'done', 100, null);
      this.#say(now.step, 'started', now.percent, name);
    }
    this.#limitStep();
  }

  #say(step: InstallStep, status: PushProgress['status'], percent: number, message: string | null): void {
    this.#run.say({ step, status, percent, message, log: this.#run.tail.text() || null });
  }

  #limitStep(): void {
    if (this.#step) clearTimeout(this.#step);
    const { name, means } = this.#at;
    const limit = this.#run.limits.step ?? means.limit;
    this.#step = setTimeout(() => this.#tooLong(`"${name}"`, limit), limit);
  }

  #tooLong(what: string, limit: Instant): void {
    this.#late ??= `${what} took longer than ${limit < MINUTE ? `${limit / SECOND} s` : `${Math.round(limit / MINUTE)} min`}`;
    this.#overdue.abort();
  }
}
