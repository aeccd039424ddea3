// Room for datagrams that wait to be read, of every socket that is opened meanwhile. The kernel's default holds some hundred: a
// program that measures loses answers that it was sent, and takes them for the server's loss. Servers are started before, with
// what they ask for themselves.

import { readFileSync, writeFileSync } from 'node:fs';

/** socket(7). It cannot be set for a network namespace alone. */
const DEFAULT = '/proc/sys/net/core/rmem_default';

/** Afterwards it is as it was before, however this ends. */
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
