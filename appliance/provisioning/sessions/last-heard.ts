// How far a session had come, as text, for a reader who learns that it came no further.

import { type Instant, instantText, MINUTE, SECOND } from '../../domain/instant.ts';
import type { Session } from '../../domain/session.ts';

export function lastHeard(session: Session | null, now: Instant): string {
  if (session?.openedAt == null) return 'nothing was heard of its service OS';
  const { last, heardAt, openedAt } = session;
  const ago = agoText(now - (heardAt ?? openedAt));
  if (last === null) return `its service OS came up, and reported no step (${ago})`;
  const percent = last.percent === null ? '' : `, ${Math.floor(last.percent)} %`;
  const message = last.message === null ? '' : `: ${last.message}`;
  const stands =
    last.progress?.stalledAt == null ? '' : `; it stood still since ${instantText(last.progress.moved.at)}`;
  return `the last that was heard was ${last.step} (${last.status}${percent}${message}), ${ago}${stands}`;
}

const agoText = (milliseconds: number): string =>
  milliseconds < 2 * MINUTE
    ? `${Math.max(0, Math.round(milliseconds / SECOND))} s ago`
    : `${Math.round(milliseconds / MINUTE)} min ago`;
