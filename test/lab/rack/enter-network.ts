// Moves this test process into the network of a rack, so that our clients reach its BMCs like an appliance
// there. setns(2) moves the calling thread; that thread creates all of Node's sockets.

import { closeSync, openSync } from 'node:fs';
import koffi from 'koffi';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';

/** sched.h. */
const CLONE_NEWNET = 0x40000000;

const setns = koffi.load('libc.so.6').func('int setns(int fd, int nstype)');

/** Returns a function that moves the process back. */
export function enterNetwork({ name }: RackNetwork): () => void {
  const outside = openSync('/proc/thread-self/ns/net', 'r');
  move(`/run/netns/${name}`);
  return () => {
    setns(outside, CLONE_NEWNET);
    closeSync(outside);
  };
}

function move(path: string): void {
  const inside = openSync(path, 'r');
  try {
    if (setns(inside, CLONE_NEWNET) !== 0) throw new Error(`this test cannot enter ${path}: that needs root`);
  } finally {
    closeSync(inside);
  }
}
