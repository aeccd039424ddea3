// Consoles that were recorded from emulated machines, byte for byte, and their lines.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineReader } from '../../../appliance/bmc/console/line-reader.ts';

const FOLDER = join(import.meta.dirname, '../../captures/consoles');

export const captured = (name: string): Uint8Array => readFileSync(join(FOLDER, `${name}.bin`));

/** In pieces of this size, as a BMC sends them. */
export function linesOf(bytes: Uint8Array, piece = 50): string[] {
  const lines: string[] = [];
  const sink = { line: (text: string) => void lines.push(text), firmwareScreen: () => undefined };
  const reader = new LineReader();
  for (let at = 0; at < bytes.length; at += piece) reader.read(bytes.subarray(at, at + piece), sink);
  reader.end(sink);
  return lines;
}

export const linesOfText = (text: string, piece?: number): string[] => linesOf(Buffer.from(text, 'utf8'), piece);
