// The users of a BMC, and their passwords.

import {
  getUserAccess,
  getUserName,
  PASSWORD_BYTES,
  setUserAccess,
  setUserEnabled,
  setUserName,
  setUserPassword,
  testUserPassword,
  type UserPrivilege,
} from '../../codecs/ipmi/commands/users.ts';
import { COMPLETION } from '../../codecs/ipmi/completion-code.ts';
import type { Secret } from '../../domain/secret.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { wasRefusedWith } from './refusal.ts';

export interface BmcUser {
  readonly number: number;
  readonly name: string;
  readonly enabled: boolean | null;
  readonly privilege: UserPrivilege;
}

const PASSWORD_DIFFERS = [0x80, 0x81] as const;

export async function listUsers(bmc: IpmiCaller): Promise<BmcUser[]> {
  const { maxUsers } = await bmc.call(getUserAccess(1));
  const users: BmcUser[] = [];
  for (let number = 1; number <= maxUsers; number++) {
    try {
      const { enabled, privilege } = await bmc.call(getUserAccess(number));
      const name = await bmc.call(getUserName(number));
      if (name !== '' || privilege !== 'none') users.push({ number, name, enabled, privilege });
    } catch (error) {
      // Most BMCs refuse it for a slot that was never used.
      if (!(error instanceof IpmiError && error.reason === 'refused')) throw error;
    }
  }
  return users;
}

/** Sets the password, and tests it where the BMC supports that. */
export async function setPassword(bmc: IpmiCaller, user: number, password: Secret): Promise<void> {
  const bytes = password.reveal();
  if (bytes.length === 0 || bytes.length > PASSWORD_BYTES) {
    throw new IpmiError(
      'malformed',
      `a BMC password must have 1 to ${PASSWORD_BYTES} bytes, this one has ${bytes.length}`,
    );
  }
  await bmc.call(setUserPassword(user, bytes));
  try {
    await bmc.call(testUserPassword(user, bytes));
  } catch (error) {
    if (wasRefusedWith(error, ...PASSWORD_DIFFERS)) {
      throw new IpmiError('contradiction', 'the BMC accepted the password, but its test of that password fails');
    }
    if (!wasRefusedWith(error, COMPLETION.invalidCommand, COMPLETION.invalidField)) throw error;
  }
}

/** The enabled user of this name; a BMC can have disabled users of the same name. */
export async function setPasswordOf(bmc: IpmiCaller, userName: string, password: Secret): Promise<void> {
  const named = (await listUsers(bmc)).filter(({ name }) => name === userName);
  const user = named.find(({ enabled }) => enabled !== false) ?? named[0];
  if (!user)
    throw new IpmiError('contradiction', `the BMC accepted the login of ${userName}, but does not list that user`);
  await setPassword(bmc, user.number, password);
}

export interface NewBmcUser {
  readonly name: string;
  readonly password: Secret;
  readonly privilege: UserPrivilege;
}

/** Enabled last, after everything else is set. */
export async function putUser(bmc: IpmiCaller, number: number, user: NewBmcUser): Promise<void> {
  // Several BMCs refuse to set a name that does not change.
  if ((await bmc.call(getUserName(number))) !== user.name) await bmc.call(setUserName(number, user.name));
  await setPassword(bmc, number, user.password);
  await bmc.call(setUserAccess(number, user.privilege, true));
  await bmc.call(setUserEnabled(number, true));
}
