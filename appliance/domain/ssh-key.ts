// An OpenSSH public key line: type, base64 blob, optional comment (sshd(8), AUTHORIZED_KEYS FILE FORMAT). The blob is
// consists of length-prefixed strings and starts with the type (RFC 4253 §6.6).

import { type Parsed, parsed, shown, unparsable } from './parsed.ts';

export interface SshKeyLine {
  readonly line: string;
  readonly blob: Uint8Array;
}

/** How many strings follow the type inside the blob. */
const KEY_TYPES: ReadonlyMap<string, number> = new Map([
  ['ssh-ed25519', 1], // the point (RFC 8709 §4)
  ['ssh-rsa', 2], // e, n
  ['ecdsa-sha2-nistp256', 2], // curve, point (RFC 5656 §3.1)
  ['ecdsa-sha2-nistp384', 2],
  ['ecdsa-sha2-nistp521', 2],
  ['sk-ssh-ed25519@openssh.com', 2], // point, application (OpenSSH PROTOCOL.u2f)
  ['sk-ecdsa-sha2-nistp256@openssh.com', 3],
]);
const ED25519_BYTES = 32;
const RSA_MODULUS_BYTES = 256;

export function parseSshKeyLine(text: string): Parsed<SshKeyLine> {
  const line = text.trim();
  // The reason never contains the text: it is a secret that was sent to the wrong place.
  if (line.includes('PRIVATE KEY')) return unparsable('this is a private key; send the public key (the .pub file)');
  if (/[^\x20-\x7e]/.test(line)) return unparsable('a public key is one line of plain ASCII');
  const [type = '', base64 = ''] = line.split(/ +/);
  const fieldCount = KEY_TYPES.get(type);
  if (fieldCount === undefined) {
    return unparsable(`not a public key of a known type (${[...KEY_TYPES.keys()].join(', ')}): ${shown(line)}`);
  }
  const blob = Buffer.from(base64, 'base64');
  if (blob.toString('base64') !== base64) return unparsable(`the key after ${type} is not base64`);
  const strings = lengthPrefixed(blob);
  if (strings?.[0]?.toString('latin1') !== type || strings.length !== fieldCount + 1) {
    return unparsable(`the key after ${type} is truncated or has another type`);
  }
  if (type.includes('ed25519') && strings[1]?.length !== ED25519_BYTES) {
    return unparsable(`the key after ${type} does not have ${ED25519_BYTES} bytes`);
  }
  if (type === 'ssh-rsa' && (strings[2]?.length ?? 0) < RSA_MODULUS_BYTES) {
    return unparsable('an RSA key has at least 2048 bits');
  }
  return parsed({ line, blob });
}

function lengthPrefixed(blob: Buffer): Buffer[] | null {
  const strings: Buffer[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return null;
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return null;
    strings.push(blob.subarray(at + 4, end));
    at = end;
  }
  return strings;
}
