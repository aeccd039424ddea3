// The file name of a request, as a relative path with forward slashes. It is only looked up in a manifest; names that try
// to leave the directory are rejected here anyway, so that the trail shows the attempt.

import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';

const CONTROL_CHARACTER = /\p{Cc}/u;
const DRIVE_LETTER = /^[a-z]:/i;

/**
 * Windows requests `\boot\bcd`, GRUB `/grub/grub.cfg`, and some loaders prepend a prefix with a second slash: all are
 * normalized. Case is kept; TFTP has no percent escapes.
 */
export function sanitizeTftpName(name: string): Parsed<string> {
  const control = CONTROL_CHARACTER.exec(name);
  if (control) return unparsable(`a control character at position ${control.index} of the name: ${shown(name)}`);
  const segments = name.split(/[/\\]/).filter((segment) => segment !== '' && segment !== '.');
  const first = segments[0];
  if (first === undefined) return unparsable(`the name does not name a file: ${shown(name)}`);
  if (DRIVE_LETTER.test(first)) return unparsable(`the name starts with a drive letter: ${shown(name)}`);
  if (segments.includes('..')) return unparsable(`the name leaves its directory: ${shown(name)}`);
  return parsed(segments.join('/'));
}
