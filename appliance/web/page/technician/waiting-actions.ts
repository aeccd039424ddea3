// Actions that wait for the connection: a phone in a rack loses it often. They are kept in the browser, sent in order with the same
// idempotency key, and dropped after an hour, when nobody expects them any more.

import { signal } from '@preact/signals';
import { asFailure, call, newKey } from '../api.ts';
import { toastDone, toastFailure } from '../shell/toasts.ts';

export interface WaitingAction {
  readonly id: 'identifyNode' | 'acceptNode';
  readonly node: string;
  readonly key: string;
  readonly at: number;
}

const STORED = 'coldiron-waiting-actions';
const MOST = 20;
const KEPT_MS = 60 * 60_000;
const RETRY_MS = 10_000;

export const waiting = signal<readonly WaitingAction[]>([]);

const WORDS = { identifyNode: 'identify light', acceptNode: 'acceptance' } as const;

function read(): WaitingAction[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]');
    return Array.isArray(list) ? (list as WaitingAction[]).filter(({ at }) => Date.now() - at < KEPT_MS) : [];
  } catch {
    return [];
  }
}

function keep(list: readonly WaitingAction[]): void {
  waiting.value = list;
  try {
    localStorage.setItem(STORED, JSON.stringify(list));
  } catch {
    // Without storage they wait in this tab.
  }
}

const send = ({ id, node, key }: WaitingAction): Promise<unknown> =>
  id === 'identifyNode'
    ? call('identifyNode', { params: { node }, body: { light: 'on' } }, { key })
    : call('acceptNode', { params: { node }, body: {} }, { key });

/** Sends at once; without a connection it waits. */
export async function act(id: WaitingAction['id'], node: string): Promise<void> {
  keep([...waiting.peek(), { id, node, key: newKey(), at: Date.now() }].slice(-MOST));
  await sendWaiting();
}

let sending = false;

export async function sendWaiting(): Promise<void> {
  if (sending) return;
  sending = true;
  try {
    for (let [next] = waiting.peek(); next !== undefined; [next] = waiting.peek()) {
      try {
        await send(next);
        toastDone(`${WORDS[next.id]} of ${next.node}: sent`);
      } catch (error) {
        const failure = asFailure(error);
        // It stays at the head: later actions must not overtake it.
        if (failure.code === 'offline') return;
        toastFailure(`${WORDS[next.id]} of ${next.node}`, failure);
      }
      keep(waiting.peek().slice(1));
    }
  } finally {
    sending = false;
  }
}

/** Returns stop. */
export function sendWhenOnline(): () => void {
  keep(read());
  const again = (): void => void sendWaiting();
  again();
  addEventListener('online', again);
  const timer = setInterval(again, RETRY_MS);
  return () => {
    removeEventListener('online', again);
    clearInterval(timer);
  };
}
