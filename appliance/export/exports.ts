// All receivers of the site: their state, the problems they have, and dead letters that are sent again.

import type { FoundProblem } from '../domain/appliance-problem.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import { shown } from '../domain/parsed.ts';
import type { DeadLetter, ExportState, ExportStore } from '../store/export-store.ts';
import type { Receiver, ReceiverCondition } from './receiver.ts';
import { RECEIVER_PROBLEM } from './select.ts';
import { targetText } from './settings.ts';

export interface ExportStatus extends ReceiverCondition {
  readonly name: string;
  readonly kind: 'webhook' | 'loki' | 'syslog';
  readonly target: string;
  readonly unreachable: boolean;
  /** Null: it was not started yet. */
  readonly progress: ExportState | null;
}

export class Exports {
  readonly #receivers: readonly Receiver[];
  readonly #store: ExportStore;
  readonly #now: () => Instant;
  /** The command that a problem names. */
  readonly #nextStep: string;

  constructor(receivers: readonly Receiver[], store: ExportStore, now: () => Instant, nextStep: string) {
    this.#receivers = receivers;
    this.#store = store;
    this.#now = now;
    this.#nextStep = nextStep;
  }

  status(): Promise<ExportStatus[]> {
    return Promise.all(
      this.#receivers.map(async ({ settings, condition, isUnreachable }) => ({
        name: settings.name,
        kind: settings.target.kind,
        target: targetText(settings),
        unreachable: isUnreachable,
        progress: await this.#store.exportState(settings.name),
        ...condition,
      })),
    );
  }

  readonly problems = (): FoundProblem[] =>
    this.#receivers.flatMap(({ settings, condition, isUnreachable }) => {
      if (!isUnreachable) return [];
      const { name } = settings;
      const reason = condition.lastError ?? '';
      return [
        {
          id: RECEIVER_PROBLEM,
          subject: name,
          words: `Events are not exported to ${name} (${targetText(settings)}): ${reason}`,
          nextStep: this.#nextStep,
          reason,
        },
      ];
    });

  deadLetters(name: string, after: number, limit: number): Promise<DeadLetter[]> {
    return this.#store.deadLetters(this.#find(name).settings.name, after, limit);
  }

  /** `events`: their numbers; null: all. Returns how many will be sent again. */
  async replay(name: string, events: readonly number[] | null, origin: Origin): Promise<number> {
    const receiver = this.#find(name);
    const { actor, correlationId } = origin;
    const after = { events: events === null ? 'all' : [...events] };
    const target = `receiver:${receiver.settings.name}`;
    const audit = { at: this.#now(), actor, action: 'export.replay', target, correlationId, before: null, after };
    const marked = await this.#store.replayDeadLetters(receiver.settings.name, events, audit);
    receiver.tryNow();
    return marked;
  }

  #find(name: string): Receiver {
    const found = this.#receivers.find(({ settings }) => settings.name === name);
    if (found) return found;
    const names = this.#receivers.map(({ settings }) => settings.name).join(', ') || 'none';
    throw new ColdironError(
      'not_found',
      `there is no receiver ${shown(name)}`,
      [],
      `The receivers of the site file: ${names}.`,
    );
  }
}
