// IPMI v2.0 §22: identification of the BMC, its authentication capabilities, and session commands.

import { uint32Bytes } from '../bytes.ts';
import { type IpmiCommand, ipmiCommand, NET_FN, nothing } from './command.ts';

/** §6.8. A higher number is a higher level. */
export const PRIVILEGE = { callback: 1, user: 2, operator: 3, administrator: 4 } as const;
export type Privilege = 'operator' | 'administrator';

/** The channel on which the request arrives. */
const THIS_CHANNEL = 0x0e;
const WANT_IPMI_2 = 0x80;
const CIPHER_SUITES_OF_IPMI = 0x00;
const LIST_BY_SUITE = 0x80;

export interface ChannelAuthentication {
  readonly channel: number;
  readonly ipmi2: boolean;
  /** A BMC key (Kg) is set: the password alone is not sufficient. */
  readonly bmcKeySet: boolean;
  readonly namedUsers: boolean;
}

/** §22.13. BMCs without IPMI 2.0 may reject a request with the extended bit, so it can be omitted. */
export const getChannelAuthentication = (
  privilege: Privilege,
  askForIpmi2: boolean,
): IpmiCommand<ChannelAuthentication> =>
  ipmiCommand({
    name: 'Get Channel Authentication Capabilities',
    netFn: NET_FN.app,
    command: 0x38,
    data: [THIS_CHANNEL | (askForIpmi2 ? WANT_IPMI_2 : 0), PRIVILEGE[privilege]],
    decode: (reader) => {
      const channel = reader.uint8('channel') & 0x0f;
      const types = reader.uint8('authentication types');
      const status = reader.uint8('authentication status');
      const extended = reader.uint8('extended capabilities');
      return {
        channel,
        ipmi2: (types & 0x80) !== 0 && (extended & 0x02) !== 0,
        bmcKeySet: (status & 0x20) !== 0,
        namedUsers: (status & 0x04) !== 0,
      };
    },
  });

/** §22.15: up to 16 bytes of suite records; a shorter piece is the last. */
export const getChannelCipherSuites = (piece: number): IpmiCommand<Uint8Array> =>
  ipmiCommand({
    name: 'Get Channel Cipher Suites',
    netFn: NET_FN.app,
    command: 0x54,
    data: [THIS_CHANNEL, CIPHER_SUITES_OF_IPMI, LIST_BY_SUITE | piece],
    decode: (reader) => {
      reader.uint8('channel');
      return reader.rest();
    },
  });

export interface DeviceId {
  readonly deviceId: number;
  readonly firmware: string;
  readonly ipmiVersion: string;
  /** IANA enterprise number: 674 Dell, 10876 Supermicro. */
  readonly manufacturer: number;
  readonly product: number;
}

/** §20.1. */
export const getDeviceId = (): IpmiCommand<DeviceId> =>
  ipmiCommand({
    name: 'Get Device ID',
    netFn: NET_FN.app,
    command: 0x01,
    decode: (reader) => {
      const deviceId = reader.uint8('device id');
      reader.uint8('device revision');
      const major = reader.uint8('firmware revision') & 0x7f;
      const minor = reader.uint8('firmware minor revision');
      const version = reader.uint8('IPMI version');
      reader.uint8('additional device support');
      return {
        deviceId,
        firmware: `${major}.${minor.toString(16).padStart(2, '0')}`,
        ipmiVersion: `${version & 0x0f}.${version >> 4}`,
        manufacturer: reader.uint24('manufacturer id') & 0xfffff,
        product: reader.uint16('product id'),
      };
    },
  });

/** §22.18. Every session starts at user level, whatever level was negotiated. */
export const setSessionPrivilege = (privilege: Privilege): IpmiCommand<number> =>
  ipmiCommand({
    name: 'Set Session Privilege Level',
    netFn: NET_FN.app,
    command: 0x3b,
    data: [PRIVILEGE[privilege]],
    codes: {
      128: 'the user may not have this privilege',
      129: 'the level exceeds the limit of the user or the channel',
      130: 'user level authentication cannot be switched off',
    },
    decode: (reader) => reader.uint8('privilege level'),
  });

/** §22.19. */
export const closeSession = (bmcSessionId: number): IpmiCommand<void> =>
  ipmiCommand({
    name: 'Close Session',
    netFn: NET_FN.app,
    command: 0x3c,
    data: uint32Bytes(bmcSessionId),
    codes: { 135: 'there is no such session' },
    decode: nothing,
  });
