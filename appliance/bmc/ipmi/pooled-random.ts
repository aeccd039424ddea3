// Random bytes in small pieces: every packet needs sixteen, and to fetch them one by one costs as much as to fetch a thousand.

import { randomFillSync } from 'node:crypto';

const POOL_BYTES = 4096;

/** Each byte is handed out once, and then wiped. */
export function pooledRandom(): (count: number) => Uint8Array {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (count) => {
    if (count > POOL_BYTES) return randomFillSync(new Uint8Array(count));
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const taken = pool.slice(used, used + count);
    pool.fill(0, used, used + count);
    used += count;
    return taken;
  };
}
