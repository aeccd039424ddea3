// The file name of a request, as a relative path with plain slashes. It only ever looks something up in a manifest; it is
// refused here all the same when it tries to leave a directory, so that the trail shows the attempt for what it is.

import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';

const CONTROL_CHARACTER = /\p{Cc}/u;
const DRIVE_LETTER = /^[a-z]:/i;

/**
 * Windows asks for `\boot\bcd`, GRUB for `/grub/grub.cfg`, loaders glue prefixes on with a second slash: all become one
 * form. The case is kept; per cent signs are no escapes in TFTP.
 */
export function sanitizeTftpName(name: string): Parsed<string> {
  const control = CONTROL_CHARACTER.exec(name);
  if (control) return unparsable(`a control character at position ${control.index} of the name: ${shown(name)}`);
  const segments = name.split(/[/\\]/).filter((segment) => segment !== '' && segment !== '.');
  const first = segments[0];
  if (first === undefined) return unparsable(`the name is of no file: ${shown(name)}`);
  if (DRIVE_LETTER.test(first)) return unparsable(`the name begins with a drive letter: ${shown(name)}`);
  if (segments.includes('..')) return unparsable(`the name climbs out of its directory: ${shown(name)}`);
  return parsed(segments.join('/'));
}
