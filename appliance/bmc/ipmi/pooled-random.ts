// A pool of random bytes: every packet needs sixteen, and one call for them costs as much as a call for a thousand.

import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 4096;

/** Each byte is used once, and then erased. */
export function pooledRandom(): (count: number) => Uint8Array {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (count) => {
    if (count > POOL_BYTES) return randomFillSync(new Uint8Array(count));
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + count);
    pool.fill(0, used, used + count);
    used += count;
    return bytes;
  };
}
