// Masks text that looks like a secret in the output of a program or a machine. One line at a time; a private key spans several.

export const MASKED = '[secret]';

/**
 * Everything that this appliance issues is 256 random bits in base64url: tickets, session keys, and the secrets of tokens (`ce_…`,
 * `ci_…`). A fingerprint of an SSH key looks the same and is public.
 */
const ISSUED = /(?<![A-Za-z0-9_-])(?<!SHA256:)(?:c[ei]_[0-9a-f]{12}_)?[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g;
/** Random bits have both; a line of dashes has neither. */
const hasBothCases = (text: string): boolean => /[a-z]/.test(text) && /[A-Z]/.test(text);

/** Most lines hold nothing of this, and are not searched any further. */
const MAY_HOLD_SECRET = /bearer|basic|passw|passphrase|token|secret|api[_-]?key|@|\/session\/|c[ei]_|\$/i;
const LONG_WORD = /[\w-]{43}/;

const SUSPECTS: readonly (readonly [RegExp, string])[] = [
  [/(\b(?:bearer|basic)\s{1,8})[\w.~+/=-]{8,}/gi, `$1${MASKED}`],
  [/((?:password|passphrase|passwd|token|secret|api[_-]?key)["']?\s{0,8}[=:]\s{0,8})\S+/gi, `$1${MASKED}`],
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/@]{1,512}@/gi, `$1${MASKED}@`],
  // A ticket, also when only its beginning is there.
  [/(\/boot\/session\/)[A-Za-z0-9_-]+/g, `$1${MASKED}`],
  [/\bc[ei]_[0-9a-f]{12}_[A-Za-z0-9_-]+/g, MASKED],
  // Password hashes, crypt(5).
  [/\$(?:1|2[abxy]|5|6|7|y|gy|argon2i?d?)\$[\w./$=,+-]{8,}/g, MASKED],
  [/\bAGE-SECRET-KEY-1[0-9A-Z]+/g, MASKED],
];

export function maskSecrets(text: string): string {
  const masked = MAY_HOLD_SECRET.test(text)
    ? SUSPECTS.reduce((line, [pattern, instead]) => line.replace(pattern, instead), text)
    : text;
  return LONG_WORD.test(masked) ? masked.replace(ISSUED, (word) => (hasBothCases(word) ? MASKED : word)) : masked;
}

/** Whether a line begins or ends a private key in PEM. */
export const beginsPrivateKey = (line: string): boolean => /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----/.test(line);
export const endsPrivateKey = (line: string): boolean => /-----END [A-Z ]{0,40}PRIVATE KEY-----/.test(line);
