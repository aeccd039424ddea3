// Room for datagrams that wait to be read, of every socket that is opened from now on: the kernel's default holds some hundred,
// and a client that answers to one thread and asks with another loses answers that it was sent, whoever sent them.

import { readFileSync, writeFileSync } from 'node:fs';

/** socket(7). It cannot be set for a network namespace alone. */
const DEFAULT = '/proc/sys/net/core/rmem_default';

/** As it was before, once the bench is over, however it ends. */
export async function withReceiveBuffers(bytes: number, run: () => Promise<void>): Promise<void> {
  const before = readFileSync(DEFAULT, 'utf8');
  const restore = (): void => writeFileSync(DEFAULT, before);
  process.once('exit', restore);
  writeFileSync(DEFAULT, String(bytes));
  try {
    await run();
  } finally {
    process.off('exit', restore);
    restore();
  }
}
