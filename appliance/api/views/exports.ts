// Receivers of exported events and dead letters, as the API shows them.

import type { Static } from 'typebox';
import type { DeadLettersAnswer, Receiver } from '../../contract/schemas/exports.ts';
import { type Instant, instantText, SECOND } from '../../domain/instant.ts';
import type { ExportStatus } from '../../export/exports.ts';
import type { DeadLetter } from '../../store/export-store.ts';
import { eventView, type Names } from './trail.ts';

type ReceiverView = Static<typeof Receiver.schema>;

export function receiverView(status: ExportStatus, now: Instant): ReceiverView {
  const { name, kind, target, progress, lastSuccess, failingSince, lastError, nextAttempt } = status;
  const { cursor, newest, waitingSince, deadLetters } = progress ?? NOT_STARTED;
  return {
    ...{ name, kind, target },
    state: stateOf(status),
    cursor: cursor?.seq ?? null,
    newest,
    lag_events: cursor && newest !== null ? newest - cursor.seq : null,
    lag_seconds: cursor === null ? null : Math.max(0, Math.round((now - (waitingSince ?? now)) / SECOND)),
    delivered: cursor?.delivered ?? 0,
    lost: cursor?.lost ?? 0,
    dead_letters: deadLetters,
    last_success_at: timeText(lastSuccess),
    failing_since: timeText(failingSince),
    last_error: lastError,
    next_attempt_at: timeText(nextAttempt),
  };
}

const NOT_STARTED = { cursor: null, newest: null, waitingSince: null, deadLetters: 0 };

function stateOf({ progress, unreachable, failures, nextAttempt }: ExportStatus): ReceiverView['state'] {
  if (unreachable) return 'unreachable';
  if (failures > 0 || nextAttempt !== null) return 'waiting';
  return progress === null ? 'starting' : 'delivering';
}

const timeText = (at: Instant | null): string | null => (at === null ? null : instantText(at));

export const deadLetterView = (
  { event, at, attempts, reason, replay }: DeadLetter,
  names: Names,
): Static<typeof DeadLettersAnswer>['dead_letters'][number] => ({
  event: eventView(event, names),
  at: instantText(at),
  ...{ attempts, reason, replay },
});
