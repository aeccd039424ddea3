// Other DHCP servers on the wire of an interface: looked for before we answer as the authority, and noticed afterwards.

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

/** Servers answer at once, or after a conflict probe of up to a second. */
const SEARCH_MS = 2000;
const ASK_AGAIN_MS = 1000;
const EVERYBODY: UdpPeer = { address: ipv4FromNumber(0xffffffff), port: SERVER_PORT };
const UNSET = ipv4FromNumber(0);

export class OtherServers {
  readonly #around: Pick<DhcpDeps, 'clock' | 'randomBytes'>;
  readonly #isOurs: (address: Ipv4) => boolean;
  readonly #onSeen: (server: Ipv4, how: string) => void;
  #socket: UdpSocket | null = null;
  /** While they are being looked for. */
  #found: Set<Ipv4> | null = null;
  /** Why what was asked last did not leave. */
  #lost: Error | null = null;

  constructor(
    around: Pick<DhcpDeps, 'clock' | 'randomBytes'>,
    isOurs: (address: Ipv4) => boolean,
    onSeen: (server: Ipv4, how: string) => void,
  ) {
    this.#around = around;
    this.#isOurs = isOurs;
    this.#onSeen = onSeen;
  }

  /** Servers speak to clients on port 68. */
  async listen(open: DhcpDeps['openUdp'], device: string, onError: (error: Error) => void): Promise<void> {
    this.#socket = await open({
      interface: device,
      port: CLIENT_PORT,
      // A client on another interface of this machine (dhclient, say) has the port as well.
      shared: true,
      onMessage: (bytes, from) => this.#heard(bytes, from),
      onError: (error) => {
        this.#lost = error;
        onError(error);
      },
    });
  }

  /**
   * Asks as a client that does not exist; resolves with all servers that make it an offer. Rejects when nobody was asked, because
   * the interface is down: a silence that says nothing.
   */
  search(): Promise<readonly Ipv4[]> {
    const { clock, randomBytes } = this.#around;
    const socket = this.#socket;
    if (socket === null) return Promise.resolve([]);
    const discover = discoverOf(randomBytes(10));
    const found = new Set<Ipv4>();
    this.#found = found;
    const ask = (): void => {
      this.#lost = null;
      socket.send(discover, EVERYBODY);
    };
    return new Promise((resolve, reject) => {
      clock.setTimer(ASK_AGAIN_MS, ask);
      clock.setTimer(SEARCH_MS, () => {
        this.#found = null;
        if (this.#lost === null || found.size > 0) resolve([...found]);
        else reject(this.#lost);
      });
      ask();
    });
  }

  async close(): Promise<void> {
    await this.#socket?.close();
  }

  #heard(bytes: Uint8Array, from: UdpPeer): void {
    // Our own broadcasts come back to us, and are most of what is heard here.
    if (this.#isOurs(from.address)) return;
    const message = decodedReply(bytes);
    const type = message === null ? null : messageType(message);
    if (message === null || (type !== 'offer' && type !== 'ack')) return;
    const told = message.options.get(OPTION.serverIdentifier);
    const identifier = told === undefined ? null : readIpv4(told);
    const server = identifier?.ok ? identifier.value : from.address;
    // A proxyDHCP server gives no addresses and is no rival.
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

/** A locally administered hardware address (IEEE 802-2014 §8.2.2), so that it can be nobody's, and a random transaction. */
function discoverOf(random: Uint8Array): Uint8Array {
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
