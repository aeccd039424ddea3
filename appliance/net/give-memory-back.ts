// What starting took goes back to the system. Reading, compiling and running a thousand modules once leaves some 30 MB that V8
// would keep, in pages that are hardly used, for as long as an appliance waits; glibc keeps another 10 MB.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import koffi from 'koffi';

/** Stops everything for some tenths of a second: for the end of the start, never later. */
export function giveMemoryBack(): void {
  // Instead of an option of Node, so that it does not matter how it was started.
  setFlagsFromString('--expose-gc');
  const collect: NodeJS.GCFunction | undefined = runInNewContext('globalThis.gc');
  // Of the kinds of collection, only this one also moves together what is left.
  collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  trimGlibc();
}

function trimGlibc(): void {
  const c = koffi.load(null);
  try {
    c.func('int malloc_trim(size_t keep)')(0);
  } catch {
    // Other C libraries do not have it, and an appliance does not need it.
  }
}
