// Reads an operation for a component: the answer, or the reason why there is none. Old data stays visible while it is read again.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { OperationId } from '../../contract/operations.ts';
import type { Answer } from '../../contract/wire.ts';
import { asFailure, call, type Failure, type Input, urlOf } from './api.ts';

export interface Read<T> {
  readonly data: T | null;
  readonly failure: Failure | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

/** Null as input: nothing is read. It reads again when the input changes, and when `reload` is called. */
export function useRead<Id extends OperationId>(id: Id, input: Input<Id> | null): Read<Answer<Id>> {
  const url = input === null ? null : urlOf(id, input);
  const [state, setState] = useState<{ data: Answer<Id> | null; failure: Failure | null; loading: boolean }>({
    ...{ data: null, failure: null, loading: url !== null },
  });
  const [round, setRound] = useState(0);
  const shownUrl = useRef(url);
  useEffect(() => {
    if (input === null) return;
    const stop = new AbortController();
    const isOther = shownUrl.current !== url;
    shownUrl.current = url;
    setState((before) => ({ data: isOther ? null : before.data, failure: null, loading: true }));
    call(id, input, { signal: stop.signal }).then(
      (data) => setState({ data, failure: null, loading: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setState((before) => ({ ...before, failure: asFailure(error), loading: false }));
      },
    );
    return () => stop.abort();
  }, [url, round]);
  return { ...state, reload: useCallback(() => setRound((count) => count + 1), []) };
}
