// Detects other DHCP servers on the link of an interface: searched for before we answer as authoritative, and noticed afterwards.

import { CLIENT_PORT, SERVER_PORT } from '../../boot/reply-address.ts';
import { decodeDhcp } from '../../codecs/dhcp4/decode.ts';
import { encodeDhcp } from '../../codecs/dhcp4/encode.ts';
import { DhcpDecodeError } from '../../codecs/dhcp4/errors.ts';
import type { DhcpMessage } from '../../codecs/dhcp4/message.ts';
import { readIpv4 } from '../../codecs/dhcp4/option-values.ts';
import { messageType, OPTION, writeMessageType } from '../../codecs/dhcp4/options.ts';
import { CHADDR_BYTES } from '../../codecs/dhcp4/wire.ts';
import { type Ipv4, ipv4FromNumber } from '../../domain/ipv4.ts';
import type { UdpPeer, UdpSocket } from '../../net/udp/udp-socket.ts';
import type { DhcpDeps } from './dhcp-deps.ts';

/** Servers reply at once, or after a conflict probe of up to a second. */
const SEARCH_MS = 2000;
const RETRANSMIT_MS = 1000;
const BROADCAST: UdpPeer = { address: ipv4FromNumber(0xffffffff), port: SERVER_PORT };
const UNSET = ipv4FromNumber(0);

export class OtherServers {
  readonly #deps: Pick<DhcpDeps, 'clock' | 'randomBytes'>;
  readonly #isOurs: (address: Ipv4) => boolean;
  readonly #onSeen: (server: Ipv4, how: string) => void;
  #socket: UdpSocket | null = null;
  /** Set while a search runs. */
  #found: Set<Ipv4> | null = null;
  /** Why the last DISCOVER could not be sent. */
  #sendError: Error | null = null;

  constructor(
    deps: Pick<DhcpDeps, 'clock' | 'randomBytes'>,
    isOurs: (address: Ipv4) => boolean,
    onSeen: (server: Ipv4, how: string) => void,
  ) {
    this.#deps = deps;
    this.#isOurs = isOurs;
    this.#onSeen = onSeen;
  }

  /** Servers send replies to clients on port 68. */
  async listen(open: DhcpDeps['openUdp'], device: string, onError: (error: Error) => void): Promise<void> {
    this.#socket = await open({
      interface: device,
      port: CLIENT_PORT,
      // A DHCP client on another interface of this machine (for example dhclient) uses the same port.
      shared: true,
      onMessage: (bytes, from) => this.#onPacket(bytes, from),
      onError: (error) => {
        this.#sendError = error;
        onError(error);
      },
    });
  }

  /**
   * Sends a DISCOVER from an invented client; resolves with all servers that make an offer. Rejects when it could not be sent
   * because the interface is down: no reply proves nothing then.
   */
  search(): Promise<readonly Ipv4[]> {
    const { clock, randomBytes } = this.#deps;
    const socket = this.#socket;
    if (socket === null) return Promise.resolve([]);
    const discover = discoverFrom(randomBytes(10));
    const found = new Set<Ipv4>();
    this.#found = found;
    const send = (): void => {
      this.#sendError = null;
      socket.send(discover, BROADCAST);
    };
    return new Promise((resolve, reject) => {
      clock.setTimer(RETRANSMIT_MS, send);
      clock.setTimer(SEARCH_MS, () => {
        this.#found = null;
        if (this.#sendError === null || found.size > 0) resolve([...found]);
        else reject(this.#sendError);
      });
      send();
    });
  }

  async close(): Promise<void> {
    await this.#socket?.close();
  }

  #onPacket(bytes: Uint8Array, from: UdpPeer): void {
    // Our own broadcasts come back to us, and are most of the traffic on this port.
    if (this.#isOurs(from.address)) return;
    const message = decodedReply(bytes);
    const type = message === null ? null : messageType(message);
    if (message === null || (type !== 'offer' && type !== 'ack')) return;
    const option = message.options.get(OPTION.serverIdentifier);
    const identifier = option === undefined ? null : readIpv4(option);
    const server = identifier?.ok ? identifier.value : from.address;
    // A proxyDHCP server assigns no addresses and does not conflict.
    if (this.#isOurs(server) || message.yiaddr === UNSET) return;
    if (this.#found !== null) this.#found.add(server);
    else this.#onSeen(server, `it sent ${type === 'offer' ? 'an OFFER' : 'an ACK'}`);
  }
}

function decodedReply(bytes: Uint8Array): DhcpMessage | null {
  try {
    const message = decodeDhcp(bytes);
    return message.op === 'reply' ? message : null;
  } catch (error) {
    if (error instanceof DhcpDecodeError) return null;
    throw error;
  }
}

/** A locally administered hardware address (IEEE 802-2014 §8.2.2), so that it is no real card's, and a random xid. */
function discoverFrom(random: Uint8Array): Uint8Array {
  const chaddr = new Uint8Array(CHADDR_BYTES);
  chaddr.set(random.subarray(4, 10));
  chaddr[0] = ((random[4] ?? 0) & 0xfc) | 0x02;
  const message: DhcpMessage = {
    op: 'request',
    htype: 1,
    hlen: 6,
    hops: 0,
    xid: random.subarray(0, 4).reduce((number, byte) => number * 256 + byte, 0),
    secs: 0,
    broadcast: true,
    ciaddr: UNSET,
    yiaddr: UNSET,
    siaddr: UNSET,
    giaddr: UNSET,
    chaddr,
    sname: '',
    file: '',
    options: new Map([
      [OPTION.messageType, writeMessageType('discover')],
      [OPTION.parameterRequestList, Uint8Array.of(OPTION.subnetMask, OPTION.router)],
    ]),
  };
  return encodeDhcp(message, { maxBytes: 548 }).bytes;
}
