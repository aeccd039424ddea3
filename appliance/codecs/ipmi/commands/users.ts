// IPMI v2.0 §22.26 to §22.31: the local users of the BMC, by number; number 1 is the anonymous user.

import { zeroPadded } from '../bytes.ts';
import { IpmiEncodeError } from '../errors.ts';
import { type IpmiCommand, ipmiCommand, NET_FN, nothing } from './command.ts';

const THIS_CHANNEL = 0x0e;
export const USER_NAME_BYTES = 16;
export const PASSWORD_BYTES = 20;
const SHORT_PASSWORD_BYTES = 16;
const CHANGE_ACCESS = 0x80;
const NO_ACCESS = 0x0f;

export const USER_PRIVILEGES = {
  callback: 1,
  user: 2,
  operator: 3,
  administrator: 4,
  oem: 5,
  none: NO_ACCESS,
} as const;
export type UserPrivilege = keyof typeof USER_PRIVILEGES;

export interface UserAccess {
  readonly maxUsers: number;
  /** Null: older BMCs do not report it. */
  readonly enabled: boolean | null;
  readonly ipmiMessaging: boolean;
  readonly privilege: UserPrivilege;
}

const userNumber = (user: number): number => {
  if (!Number.isInteger(user) || user < 1 || user > 63)
    throw new IpmiEncodeError('user number', `${user} is not in the range 1 to 63`);
  return user;
};

export const getUserAccess = (user: number): IpmiCommand<UserAccess> =>
  ipmiCommand({
    name: 'Get User Access',
    netFn: NET_FN.app,
    command: 0x44,
    data: [THIS_CHANNEL, userNumber(user)],
    decode: (reader) => {
      const maxUsers = reader.uint8('maximum users') & 0x3f;
      const status = reader.uint8('enabled users') >> 6;
      reader.uint8('fixed names');
      const access = reader.uint8('access');
      return {
        maxUsers,
        enabled: status === 1 ? true : status === 2 ? false : null,
        ipmiMessaging: (access & 0x10) !== 0,
        privilege: privilegeOf(access & 0x0f),
      };
    },
  });

const privilegeOf = (number: number): UserPrivilege =>
  (Object.entries(USER_PRIVILEGES) as [UserPrivilege, number][]).find(([, value]) => value === number)?.[0] ?? 'none';

export const setUserAccess = (user: number, privilege: UserPrivilege, ipmiMessaging: boolean): IpmiCommand<void> =>
  ipmiCommand({
    name: 'Set User Access',
    netFn: NET_FN.app,
    command: 0x43,
    data: [
      CHANGE_ACCESS | (ipmiMessaging ? 0x10 : 0) | THIS_CHANNEL,
      userNumber(user),
      USER_PRIVILEGES[privilege],
      // No session limit for this user.
      0,
    ],
    decode: nothing,
  });

export const getUserName = (user: number): IpmiCommand<string> =>
  ipmiCommand({
    name: 'Get User Name',
    netFn: NET_FN.app,
    command: 0x46,
    data: [userNumber(user)],
    decode: (reader) => {
      const bytes = reader.bytes(Math.min(USER_NAME_BYTES, reader.remaining), 'user name');
      const end = bytes.indexOf(0);
      return String.fromCharCode(...(end < 0 ? bytes : bytes.subarray(0, end)));
    },
  });

export const setUserName = (user: number, name: string): IpmiCommand<void> =>
  ipmiCommand({
    name: 'Set User Name',
    netFn: NET_FN.app,
    command: 0x45,
    data: [userNumber(user), ...zeroPadded(new TextEncoder().encode(name), USER_NAME_BYTES, 'user name')],
    decode: nothing,
  });

const PASSWORD_OPERATIONS = { disable: 0, enable: 1, set: 2, test: 3 } as const;
const TWENTY_BYTES = 0x80;

const passwordCommand = (user: number, operation: keyof typeof PASSWORD_OPERATIONS, password?: Uint8Array) => {
  const long = password !== undefined && password.length > SHORT_PASSWORD_BYTES;
  return ipmiCommand<void>({
    name: `Set User Password (${operation})`,
    netFn: NET_FN.app,
    command: 0x47,
    data: [
      userNumber(user) | (long ? TWENTY_BYTES : 0),
      PASSWORD_OPERATIONS[operation],
      ...(password ? zeroPadded(password, long ? PASSWORD_BYTES : SHORT_PASSWORD_BYTES, 'password') : []),
    ],
    codes: { 128: 'the password does not match', 129: 'the password is stored with a different length' },
    decode: nothing,
  });
};

/** Stored in 16 bytes if it fits: IPMI 1.5 BMCs and clients support only that length. */
export const setUserPassword = (user: number, password: Uint8Array): IpmiCommand<void> =>
  passwordCommand(user, 'set', password);

/** Succeeds only if it is the stored password. */
export const testUserPassword = (user: number, password: Uint8Array): IpmiCommand<void> =>
  passwordCommand(user, 'test', password);

export const setUserEnabled = (user: number, enabled: boolean): IpmiCommand<void> =>
  passwordCommand(user, enabled ? 'enable' : 'disable');
