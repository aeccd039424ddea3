// The secrets of receivers, read from their files for each batch, so that a rotated secret counts at once.

import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import { readPrivately } from '../identity/vault/private-file.ts';

export async function readSecretFile(file: string): Promise<Parsed<string>> {
  const read = await readPrivately(file, 'group');
  switch (read.kind) {
    case 'read':
      return parsed(read.bytes.toString('utf8'));
    case 'absent':
      return unparsable(`there is no file ${file}`);
    case 'refused':
      return unparsable(read.reason);
  }
}

/** A password or a token: one line. */
export async function readSecretLine(file: string): Promise<Parsed<string>> {
  const read = await readSecretFile(file);
  if (!read.ok) return read;
  const line = read.value.trim();
  // A header must not contain a line end, and the reason must not contain the secret.
  return /^[\x20-\x7e]+$/.test(line)
    ? parsed(line)
    : unparsable(`${file} must contain one line of printable characters`);
}
