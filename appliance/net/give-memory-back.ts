// Returns the memory of the start-up to the system. Reading, compiling and running a thousand modules once leaves some 30 MB that
// V8 would keep, in rarely used pages, while the appliance is idle; glibc keeps another 10 MB.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import koffi from 'koffi';

/** Blocks the process for some tenths of a second: call it at the end of the start, never later. */
export function giveMemoryBack(): void {
  // Not a command line option of Node, so that it works however the process was started.
  setFlagsFromString('--expose-gc');
  const collect: NodeJS.GCFunction | undefined = runInNewContext('globalThis.gc');
  // The only type of collection that also compacts the heap.
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  trimGlibc();
}

function trimGlibc(): void {
  const c = koffi.load(null);
  try {
    c.func('int malloc_trim(size_t keep)')(0);
  } catch {
    // Other C libraries do not have it.
  }
}
