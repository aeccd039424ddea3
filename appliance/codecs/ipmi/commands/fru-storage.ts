// IPMI v2.0 §34: the bytes of a field replaceable unit's inventory (FRU).

import { uint16Bytes } from '../bytes.ts';
import { type IpmiCommand, ipmiCommand, NET_FN } from './command.ts';

export interface FruSize {
  readonly bytes: number;
  /** Offsets and counts are in 16-bit words on this device. */
  readonly inWords: boolean;
}

export const getFruSize = (device: number): IpmiCommand<FruSize> =>
  ipmiCommand({
    name: 'Get FRU Inventory Area Info',
    netFn: NET_FN.storage,
    command: 0x10,
    data: [device],
    decode: (reader) => ({
      bytes: reader.uint16('area size'),
      inWords: (reader.uint8('access') & 0x01) !== 0,
    }),
  });

/** `offset` and `count` in the unit that the area info reports. */
export const readFru = (device: number, offset: number, count: number): IpmiCommand<Uint8Array> =>
  ipmiCommand({
    name: 'Read FRU Data',
    netFn: NET_FN.storage,
    command: 0x11,
    data: [device, ...uint16Bytes(offset), count],
    codes: { 129: 'the FRU device is busy' },
    decode: (reader) => {
      reader.uint8('count');
      return reader.rest();
    },
  });
