// Raises the receive buffer of every socket that is opened meanwhile. The kernel's default holds a few hundred datagrams: a
// measuring program would lose replies, and count them as the server's loss. Servers are started before, with
// the buffers that they request themselves.

import { readFileSync, writeFileSync } from 'node:fs';

/** socket(7). It cannot be set per network namespace. */
const DEFAULT = '/proc/sys/net/core/rmem_default';

/** Restores the previous value, however this ends. */
export async function withReceiveBuffers<Result>(bytes: number, run: () => Promise<Result>): Promise<Result> {
  const before = readFileSync(DEFAULT, 'utf8');
  const restore = (): void => writeFileSync(DEFAULT, before);
  process.once('exit', restore);
  writeFileSync(DEFAULT, String(bytes));
  try {
    return await run();
  } finally {
    process.off('exit', restore);
    restore();
  }
}
