// IPMI v2.0 §23.2: the settings of a LAN channel. Only the MAC address, which is that of the BMC itself.

import { type IpmiCommand, ipmiCommand, NET_FN } from './command.ts';

const THIS_CHANNEL = 0x0e;
/** Table 23-4. */
const MAC_ADDRESS = 5;

/** Six bytes. */
export const getOwnMacAddress = (): IpmiCommand<Uint8Array> =>
  ipmiCommand({
    name: 'Get LAN Configuration Parameters',
    netFn: NET_FN.transport,
    command: 0x02,
    data: [THIS_CHANNEL, MAC_ADDRESS, 0, 0],
    codes: { 128: 'the parameter is not supported' },
    decode: (reader) => {
      reader.uint8('parameter revision');
      return reader.bytes(6, 'MAC address');
    },
  });
