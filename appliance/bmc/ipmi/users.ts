// The users that a BMC knows, and their passwords.

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
      // A slot that was never used, as most BMCs say it.
      if (!(error instanceof IpmiError && error.reason === 'refused')) throw error;
    }
  }
  return users;
}

/** Set, and tested where the BMC knows how. */
export async function setPassword(bmc: IpmiCaller, user: number, password: Secret): Promise<void> {
  const bytes = password.reveal();
  if (bytes.length === 0 || bytes.length > PASSWORD_BYTES) {
    throw new IpmiError('malformed', `a BMC password has 1 to ${PASSWORD_BYTES} bytes, this has ${bytes.length}`);
  }
  await bmc.call(setUserPassword(user, bytes));
  try {
    await bmc.call(testUserPassword(user, bytes));
  } catch (error) {
    if (wasRefusedWith(error, ...PASSWORD_DIFFERS)) {
      throw new IpmiError('contradiction', 'the BMC accepted the password, and does not recognise it');
    }
    if (!wasRefusedWith(error, COMPLETION.invalidCommand, COMPLETION.invalidField)) throw error;
  }
}

/** The user of this name who may log in; a BMC can keep disabled ones under the same name. */
export async function setPasswordOf(bmc: IpmiCaller, userName: string, password: Secret): Promise<void> {
  const named = (await listUsers(bmc)).filter(({ name }) => name === userName);
  const user = named.find(({ enabled }) => enabled !== false) ?? named[0];
  if (!user) throw new IpmiError('contradiction', `the BMC let ${userName} in, and does not list that user`);
  await setPassword(bmc, user.number, password);
}

export interface NewBmcUser {
  readonly name: string;
  readonly password: Secret;
  readonly privilege: UserPrivilege;
}

/** Enabled last, when everything else about the user is right. */
export async function putUser(bmc: IpmiCaller, number: number, user: NewBmcUser): Promise<void> {
  // Several BMCs refuse to set the name that is there already.
  if ((await bmc.call(getUserName(number))) !== user.name) await bmc.call(setUserName(number, user.name));
  await setPassword(bmc, number, user.password);
  await bmc.call(setUserAccess(number, user.privilege, true));
  await bmc.call(setUserEnabled(number, true));
}
