// Formats a machine's events as text lines: grouped by boot attempt, each event with its sentence from the event table.

import type { Json } from '../domain/event.ts';
import { eventSentence } from '../domain/events/known-event.ts';
import { plainLine } from '../domain/plain-line.ts';

export interface StoryEvent {
  /** ISO 8601. */
  readonly at: string;
  readonly kind: string;
  readonly actor: string;
  /** Id of the boot attempt, or of the request that caused the event. */
  readonly attempt: string | null;
  readonly data: Json;
}

export function storyLines(events: readonly StoryEvent[]): string[] {
  const lines: string[] = [];
  let attempt: string | null | undefined;
  for (const event of events) {
    if (event.actor.startsWith('mac:') && event.attempt !== attempt) {
      if (lines.length > 0) lines.push('');
      lines.push(event.attempt === null ? 'Boot' : `Boot attempt ${plainLine(event.attempt.slice(0, 8))}`);
      attempt = event.attempt;
    }
    const when = plainLine(event.at.slice(0, 23).replace('T', ' '));
    lines.push(`  ${when}  ${plainLine(event.kind).padEnd(18)}  ${eventSentence(event)}`);
  }
  return lines;
}

/** One event as a sentence, without its time. */
export const eventLine = (event: StoryEvent): string => eventSentence(event);
