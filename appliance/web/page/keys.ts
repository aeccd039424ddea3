// Keys that work everywhere on the page. Pages add their own while they are shown.

import { useEffect } from 'preact/hooks';

export interface KeyBinding {
  /** As typed: `/`, `j`, `g f`. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

const bindings = new Set<readonly KeyBinding[]>();

export const allKeys = (): KeyBinding[] => [...bindings].flat();

/** `list` must be stable or cheap: it is registered again with each change. */
export function useKeys(list: readonly KeyBinding[]): void {
  useEffect(() => {
    bindings.add(list);
    return () => void bindings.delete(list);
  }, [list]);
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input, textarea, select, [data-takes-keys]') !== null);

const SEQUENCE_MS = 1200;

export function startKeys(): void {
  let first: { key: string; at: number } | null = null;
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    // Dialogs have their own keys.
    if (document.querySelector('dialog[open]')) return;
    const before = first !== null && event.timeStamp - first.at < SEQUENCE_MS ? first.key : null;
    first = { key: event.key, at: event.timeStamp };
    const all = allKeys();
    const found =
      all.find(({ keys }) => before !== null && keys === `${before} ${event.key}`) ??
      all.find(({ keys }) => keys === event.key);
    if (!found) return;
    // Enter and the space bar belong to the button or link that has the focus.
    if (/^(Enter| )$/.test(event.key) && (event.target as Element).closest('a, button, summary')) return;
    event.preventDefault();
    first = null;
    found.run();
  });
}
