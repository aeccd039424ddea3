// Connects a serial console and its viewer until either of them ends.

import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { BmcConsole } from '../bmc/bmc.ts';

/** Returns why it ended, for the trail and the last line on the screen. */
export async function carryConsole(console: BmcConsole, stream: Duplex): Promise<string> {
  const gone = new AbortController();
  stream.on('data', (typed: Buffer) => console.write(typed));
  for (const event of ['end', 'close', 'error'] as const) stream.once(event, () => gone.abort());
  if (stream.destroyed) gone.abort();
  const left = once(gone.signal, 'abort').then(() => 'the viewer left');
  if (gone.signal.aborted) return closed(console, stream, 'the viewer left');
  const ended = show(console, stream, gone.signal);
  return closed(console, stream, await Promise.race([left, ended]));
}

async function closed(console: BmcConsole, stream: Duplex, because: string): Promise<string> {
  await console.close();
  if (stream.writable) stream.end(`\r\n[coldiron: ${because}]\r\n`);
  return because;
}

/** Waits for a slow viewer instead of buffering unlimited output. */
async function show(console: BmcConsole, stream: Duplex, gone: AbortSignal): Promise<string> {
  try {
    for await (const bytes of console) {
      if (gone.aborted) break;
      if (!stream.write(bytes)) await once(stream, 'drain', { signal: gone }).catch(() => undefined);
    }
    return 'the console was closed';
  } catch (error) {
    return `the console ended: ${error instanceof Error ? error.message : String(error)}`;
  }
}
