// A test client that sends what its input says, also what no proper client sends. Prints each reply as a line of JSON.
//
//   client.ts once DEVICE '{"type":"discover", …}'   sends one packet and keeps listening

import { setImmediate } from 'node:timers/promises';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { readIpv4, writeIpv4, writeText, writeU16 } from '../../../appliance/codecs/dhcp4/option-values.ts';
import {
  type DhcpMessageType,
  messageType,
  OPTION,
  writeMessageType,
} from '../../../appliance/codecs/dhcp4/options.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { openDeviceSocket } from '../../../appliance/net/udp/device-socket.ts';

const [mode, device = '', ...rest] = process.argv.slice(2);
const UNSET = '0.0.0.0' as Ipv4;

interface ClientInput {
  readonly type: DhcpMessageType;
  readonly mac: string;
  readonly xid?: number;
  readonly requested?: Ipv4;
  readonly server?: Ipv4;
  readonly ciaddr?: Ipv4;
  readonly giaddr?: Ipv4;
  /** As UEFI firmware. */
  readonly pxe?: boolean;
  readonly to?: Ipv4;
  readonly port?: number;
  /** Its source port. */
  readonly from?: number;
}

function packetOf(input: ClientInput): Uint8Array {
  const chaddr = new Uint8Array(16);
  chaddr.set(Buffer.from(input.mac.replaceAll(':', ''), 'hex'));
  const options = new Map<number, Uint8Array>([[OPTION.messageType, writeMessageType(input.type)]]);
  if (input.requested) options.set(OPTION.requestedAddress, writeIpv4(input.requested));
  if (input.server) options.set(OPTION.serverIdentifier, writeIpv4(input.server));
  if (input.pxe) {
    options.set(OPTION.vendorClass, writeText('PXEClient:Arch:00007:UNDI:003000'));
    options.set(OPTION.clientArchitecture, writeU16(7));
  }
  const message: DhcpMessage = {
    op: 'request',
    htype: 1,
    hlen: 6,
    hops: input.giaddr ? 1 : 0,
    xid: input.xid ?? 1,
    secs: 0,
    broadcast: true,
    ciaddr: input.ciaddr ?? UNSET,
    yiaddr: UNSET,
    siaddr: UNSET,
    giaddr: input.giaddr ?? UNSET,
    chaddr,
    sname: '',
    file: '',
    options,
  };
  return encodeDhcp(message, { maxBytes: 1472 }).bytes;
}

const print = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

function shownReply(bytes: Uint8Array, from: { address: string; port: number }): object {
  const message = decodeDhcp(bytes);
  const server = message.options.get(OPTION.serverIdentifier);
  const identifier = server && readIpv4(server);
  const { yiaddr, siaddr, file, xid } = message;
  return {
    type: messageType(message),
    xid,
    yiaddr,
    siaddr,
    file,
    server: identifier?.ok ? identifier.value : null,
    from,
  };
}

async function once(input: ClientInput): Promise<void> {
  const socket = await openDeviceSocket({
    interface: device,
    port: input.from ?? 68,
    onMessage: (bytes, from) => {
      if (decodeDhcp(bytes).op === 'reply') print(shownReply(bytes, from));
    },
    onError: (error) => print({ error: error.message }),
  });
  socket.send(packetOf(input), { address: input.to ?? ('255.255.255.255' as Ipv4), port: input.port ?? 67 });
  // Datagrams are sent at the end of the current turn; the reader of this line may end us at once.
  await setImmediate();
  print({ sent: input.type });
}

if (mode === 'once') await once(JSON.parse(rest[0] ?? '{}') as ClientInput);
else throw new Error('once');
