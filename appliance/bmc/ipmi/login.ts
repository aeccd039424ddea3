// IPMI credentials, validated before the first packet is sent: BMCs silently truncate what is too long.

import { PASSWORD_BYTES, USER_NAME_BYTES } from '../../codecs/ipmi/commands/users.ts';
import { KEY_BYTES, paddedKey } from '../../codecs/ipmi/session-crypto.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';

export interface IpmiCredentials {
  readonly userName: string;
  readonly password: Secret;
  /** Kg, where the site sets one at its BMCs. */
  readonly bmcKey: Secret | null;
}

export interface Login {
  readonly userName: Uint8Array;
  readonly passwordKey: Secret;
  readonly bmcKey: Secret;
  readonly hasBmcKey: boolean;
}

export function parseLogin(credentials: IpmiCredentials): Parsed<Login> {
  const userName = new TextEncoder().encode(credentials.userName);
  const password = credentials.password.reveal();
  const key = credentials.bmcKey?.reveal() ?? null;
  if (userName.length > USER_NAME_BYTES) return tooLong('the BMC user name', userName, USER_NAME_BYTES);
  if (password.length > PASSWORD_BYTES) return tooLong('the BMC password', password, PASSWORD_BYTES);
  if (password.length === 0) return unparsable('the BMC password is empty: anyone could log in as that user');
  if (key && key.length > KEY_BYTES) return tooLong('the BMC key (Kg)', key, KEY_BYTES);
  if (key && key[0] === 0)
    return unparsable('the BMC key (Kg) starts with a zero byte, which many tools treat as no key');
  const passwordKey = new Secret(paddedKey(password, 'password'));
  return parsed({
    userName,
    passwordKey,
    bmcKey: key ? new Secret(paddedKey(key, 'BMC key')) : passwordKey,
    hasBmcKey: key !== null,
  });
}

const tooLong = (what: string, bytes: Uint8Array, limit: number): Parsed<never> =>
  unparsable(`${what} has ${bytes.length} bytes; IPMI allows at most ${limit}`);
