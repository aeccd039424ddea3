// Work that many ask for at once and that gives all of them the same answer: whoever asks while it runs shares the next turn, so that the answer
// is never older than the question, and at most one turn runs at a time.

export function coalesced<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | null = null;
  let next: Promise<Result> | null = null;
  const begin = (): Promise<Result> => {
    const turn = work().finally(() => {
      if (running === turn) running = null;
    });
    running = turn;
    return turn;
  };
  return () => {
    if (running === null) return begin();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = null;
        return begin();
      });
    return next;
  };
}
