// A power cut at a chosen moment: when a text appears on a machine's console, or in a file.

import { open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { SerialLine } from './serial-line.ts';

const POLL_EVERY_MS = 50;
/** Characters kept from earlier reads, for a text that arrives in two pieces. */
const OVERLAP = 4096;

/** Cuts once; returns a function that ends the watch. */
export function cutWhenPrinted(serial: SerialLine, pattern: RegExp, cut: () => void): () => void {
  const end = serial.watch((console) => {
    if (!pattern.test(console.text)) return;
    end();
    cut();
  });
  return end;
}

/** Only text written from now on counts; the file need not exist yet. Rejects when it cannot be read. */
export async function cutWhenWritten(file: string, pattern: RegExp, cut: () => void): Promise<() => void> {
  const watch = new AbortController();
  const from = await sizeOf(file);
  void follow(file, from, pattern, watch.signal).then(
    (found) => found && cut(),
    () => undefined,
  );
  return () => watch.abort();
}

async function follow(file: string, from: number, pattern: RegExp, signal: AbortSignal): Promise<boolean> {
  let at = from;
  let tail = '';
  while (!signal.aborted) {
    const added = await readFrom(file, at);
    at += added.length;
    tail += added.toString('utf8');
    if (pattern.test(tail)) return true;
    tail = tail.slice(-OVERLAP);
    await pause(POLL_EVERY_MS, undefined, { signal });
  }
  return false;
}

async function sizeOf(file: string): Promise<number> {
  return await reading(file, 0, async (handle) => (await handle.stat()).size);
}

async function readFrom(file: string, at: number): Promise<Buffer> {
  return await reading(file, Buffer.alloc(0), async (handle) => {
    const { size } = await handle.stat();
    const bytes = Buffer.alloc(Math.max(0, size - at));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, at);
    return bytes.subarray(0, bytesRead);
  });
}

type Handle = Awaited<ReturnType<typeof open>>;

async function reading<T>(file: string, absent: T, work: (handle: Handle) => Promise<T>): Promise<T> {
  let handle: Handle;
  try {
    handle = await open(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return absent;
    throw error;
  }
  try {
    return await work(handle);
  } finally {
    await handle.close();
  }
}
