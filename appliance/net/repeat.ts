import type { FastifyBaseLogger } from 'fastify';

/** Runs it again and again, never two at once; a failure is logged and the next turn comes. Returns what ends it. */
export function repeat(everyMs: number, run: () => Promise<unknown>, logger: FastifyBaseLogger): () => Promise<void> {
  let timer: NodeJS.Timeout | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let ended = false;
  const next = (): void => {
    timer = setTimeout(() => {
      turn = run()
        .catch((error: unknown) => logger.error({ err: error }, 'a recurring task failed and will be tried again'))
        .finally(() => {
          if (!ended) next();
        });
    }, everyMs);
  };
  next();
  return async () => {
    ended = true;
    if (timer) clearTimeout(timer);
    await turn;
  };
}
