// Calls back after events of one node, at most every two seconds: a booting machine writes many.

import { useEffect, useRef } from 'preact/hooks';
import { type LiveEvent, onEvent } from '../live/live.ts';

const AT_MOST_EVERY_MS = 2000;

export function useNodeEvents(id: string | null, run: (event: LiveEvent) => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (id === null) return;
    let timer = 0;
    let last = 0;
    const unsubscribe = onEvent((event) => {
      if (event.node !== id || timer !== 0) return;
      const wait = Math.max(200, last + AT_MOST_EVERY_MS - performance.now());
      timer = window.setTimeout(() => {
        timer = 0;
        last = performance.now();
        latest.current(event);
      }, wait);
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [id]);
}
