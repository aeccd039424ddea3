import type { FastifyBaseLogger } from 'fastify';

/** Runs a task periodically, never two runs at once; a failure is logged and the next run follows. Returns stop(). */
export function repeat(everyMs: number, run: () => Promise<unknown>, logger: FastifyBaseLogger): () => Promise<void> {
  let timer: NodeJS.Timeout | null = null;
  let turn: Promise<unknown> = Promise.resolve();
  let ended = false;
  const next = (): void => {
    timer = setTimeout(() => {
      turn = run()
        .catch((error: unknown) => logger.error({ err: error }, 'a periodic task failed and will be retried'))
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
