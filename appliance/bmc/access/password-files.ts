// BMC passwords from files that the inventory names. The author of an inventory entry chooses the file and the address that its
// content is sent to, so only files below one folder of the site are read, and only if their content can be a BMC password.

import { ColdironError } from '../../domain/errors.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';
import { parseSessionSecret } from '../../domain/session.ts';
import { readPrivatelyBelow } from '../../identity/vault/confined-file.ts';
import { parseVaultKeys } from '../../identity/vault/vault-keys.ts';

/** Where password files may be. */
export interface PasswordFolder {
  /** `bmc.password_folder` of the site file. */
  readonly folder: string;
  /** The state folder: nothing in it is a password, and much of it is secret. */
  readonly state: string;
}

export type ReadPassword = (hostname: string, file: string) => Promise<Secret>;

/**
 * Rejects with `bmc_login_failed`, with the same message whatever the reason: every role can ask for the power state, and must not
 * learn which files exist. The log has the reason.
 */
export function passwordReader(
  place: PasswordFolder,
  log: { warn(fields: object, message: string): void },
): ReadPassword {
  return async (hostname, file) => {
    const password = await readPasswordFile(place, file);
    if (password.ok) return password.value;
    log.warn({ node: hostname, reason: password.reason }, 'the password file of a BMC cannot be used');
    throw new ColdironError(
      'bmc_login_failed',
      `${hostname}: the password file of its BMC cannot be used`,
      [],
      'The log of the appliance has the reason; so has coldiron check on the appliance.',
    );
  };
}

/** The reason names the file, and never its content. */
export async function readPasswordFile({ folder, state }: PasswordFolder, file: string): Promise<Parsed<Secret>> {
  const read = await readPrivatelyBelow({ folder, except: state, mostBytes: LARGEST_FILE }, file);
  if (read.kind === 'absent') return unparsable(`${file} does not exist`);
  if (read.kind === 'outside') return unparsable(`${file} is ${read.reason}: ${ADVICE}`);
  if (read.kind === 'refused') return unparsable(read.reason);
  const password = withoutLineEnd(read.bytes);
  if (password.length === 0) return unparsable(`${file} is empty`);
  return isPassword(password) ? parsed(new Secret(password)) : unparsable(`the content of ${file} is not a password`);
}

const ADVICE = 'move it below the folder that bmc.password_folder in the site file names, or name another folder there';

/** One line that a BMC could store, and no secret of an appliance. */
const isPassword = (bytes: Buffer): boolean =>
  bytes.length <= LONGEST_PASSWORD &&
  !bytes.some((byte) => byte < SPACE || byte === DELETE) &&
  !isOwnSecret(bytes.toString('utf8'));

/** An API or enrollment token, also within other text; a ticket, a session key or a vault key. */
const isOwnSecret = (text: string): boolean =>
  /c[a-z]_[0-9a-f]{12}_[A-Za-z0-9_-]{43}/.test(text) ||
  parseSessionSecret(text.trim()).ok ||
  parseVaultKeys(text, '').ok;

const LARGEST_FILE = 4096;
const LONGEST_PASSWORD = 128;
const [LINE_FEED, CARRIAGE_RETURN, SPACE, DELETE] = [0x0a, 0x0d, 0x20, 0x7f];

/** Editors end a file with a line end that is not part of the password. */
function withoutLineEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  if (bytes[end - 1] === LINE_FEED) end -= 1;
  if (bytes[end - 1] === CARRIAGE_RETURN) end -= 1;
  return bytes.subarray(0, end);
}
