// Recorded packets of firmware and iPXE, sent by a machine of the test, and the cable that carries them.

import { join } from 'node:path';
import { decodeDhcp } from '../../appliance/codecs/dhcp4/decode.ts';
import { encodeDhcp } from '../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../appliance/codecs/dhcp4/message.ts';
import { readText, writeText, writeU16 } from '../../appliance/codecs/dhcp4/option-values.ts';
import { messageType, OPTION } from '../../appliance/codecs/dhcp4/options.ts';
import type { Ipv4 } from '../../appliance/domain/ipv4.ts';
import { openDeviceSocket } from '../../appliance/net/udp/device-socket.ts';
import type { UdpSocket } from '../../appliance/net/udp/udp-socket.ts';
import { readPcap } from '../captures/read-pcap.ts';

export type Client = 'bios' | 'uefi' | 'uefi-http' | 'arm64' | 'secure-boot';

export interface Machine {
  readonly name: string;
  readonly mac: string;
  readonly uuid: string;
  readonly client: Client;
  /** The far end of its cable. */
  readonly device: string;
}

/** The boot parameters of a DHCP reply. */
export interface Answer {
  readonly address: string;
  /** In the header: siaddr, file. */
  readonly nextServer: string;
  readonly file: string;
  /** Options 60, 66 and 67. */
  readonly vendorClass: string | null;
  readonly serverName: string | null;
  readonly fileName: string | null;
}

export interface Packets {
  readonly discover: DhcpMessage;
  readonly request: DhcpMessage;
}

const CAPTURES: Readonly<Record<Client, string>> = {
  bios: 'bios-scrubbed-rom-first-stage',
  uefi: 'uefi-x64-native',
  'uefi-http': 'uefi-x64-httpboot',
  arm64: 'uefi-arm64-native',
  'secure-boot': 'uefi-x64-secureboot-shim-grub',
};
const EVERYBODY = { address: '255.255.255.255' as Ipv4, port: 67 };
/** PXE 2.1 §2.2.2. */
const WAITS_MS = [4000, 8000, 16_000, 32_000];

export function recorded(client: Client, program: 'firmware' | 'ipxe'): Packets {
  const isSpeaking = ({ options }: DhcpMessage): boolean =>
    options.has(OPTION.clientArchitecture) && options.has(OPTION.ipxe) === (program === 'ipxe');
  const recorded = readPcap(join(import.meta.dirname, `../captures/${CAPTURES[client]}.pcap`))
    .filter(({ destinationPort }) => destinationPort === EVERYBODY.port)
    .map(({ payload }) => decodeDhcp(payload))
    .filter(isSpeaking);
  const find = (type: string): DhcpMessage => {
    const found = recorded.find((message) => messageType(message) === type);
    if (!found) throw new Error(`${CAPTURES[client]} holds no ${type} of ${program}`);
    return found;
  };
  return { discover: find('discover'), request: find('request') };
}

/** A recorded packet, rewritten for this machine. */
export function asSentBy({ mac, uuid }: Machine, message: DhcpMessage): DhcpMessage {
  const hardware = Buffer.from(mac.replaceAll(':', ''), 'hex');
  const chaddr = new Uint8Array(16);
  chaddr.set(hardware);
  const options = new Map(message.options).set(OPTION.chassisUuid, option97(uuid));
  if (options.has(OPTION.clientIdentifier)) options.set(OPTION.clientIdentifier, Uint8Array.of(1, ...hardware));
  return { ...message, chaddr, options };
}

/** RFC 4578 §2.3; the first three fields are little-endian on the wire. */
function option97(uuid: string): Uint8Array {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  for (const [from, to] of [[0, 4] as const, [4, 6] as const, [6, 8] as const]) bytes.subarray(from, to).reverse();
  return Uint8Array.of(0, ...bytes);
}

export function withArchitecture(
  message: DhcpMessage,
  { code, http }: { readonly code: number; readonly http: boolean },
): DhcpMessage {
  const vendorClass = `${http ? 'HTTP' : 'PXE'}Client:Arch:${String(code).padStart(5, '0')}:UNDI:003000`;
  const options = new Map(message.options)
    .set(OPTION.clientArchitecture, writeU16(code))
    .set(OPTION.vendorClass, writeText(vendorClass));
  return { ...message, options };
}

export function answerIn(reply: DhcpMessage): Answer {
  const text = (code: number): string | null => {
    const value = reply.options.get(code);
    return value === undefined ? null : readText(value);
  };
  return {
    address: reply.yiaddr,
    nextServer: reply.siaddr,
    file: reply.file,
    vendorClass: text(OPTION.vendorClass),
    serverName: text(OPTION.tftpServerName),
    fileName: text(OPTION.bootFileName),
  };
}

/** The machines' end of a cable. */
export class Wire {
  readonly #waiters = new Map<number, (reply: DhcpMessage) => void>();
  #socket: UdpSocket | null = null;

  static async open(device: string): Promise<Wire> {
    const wire = new Wire();
    wire.#socket = await openDeviceSocket({
      interface: device,
      port: 68,
      onMessage: (bytes) => {
        const message = decodeDhcp(bytes);
        if (message.op === 'reply') wire.#waiters.get(message.xid)?.(message);
      },
      onError: (error) => {
        throw error;
      },
    });
    return wire;
  }

  /** Null: no reply, or a NAK; `until`: the deadline. */
  async ask(message: DhcpMessage, until?: Promise<unknown>): Promise<DhcpMessage | null> {
    const { promise, resolve } = Promise.withResolvers<DhcpMessage | null>();
    const { bytes } = encodeDhcp(message, { maxBytes: 1472 });
    const expected = messageType(message) === 'discover' ? 'offer' : 'ack';
    let timer: NodeJS.Timeout | undefined;
    const send = (attempt: number): void => {
      const wait = WAITS_MS[attempt];
      if (wait === undefined) resolve(null);
      else {
        this.#socket?.send(bytes, EVERYBODY);
        timer = setTimeout(send, wait, attempt + 1);
      }
    };
    this.#waiters.set(message.xid, (reply) => {
      const type = messageType(reply);
      if (type === expected || type === 'nak') resolve(type === 'nak' ? null : reply);
    });
    void until?.then(() => resolve(null));
    send(0);
    const reply = await promise;
    clearTimeout(timer);
    this.#waiters.delete(message.xid);
    return reply;
  }

  async close(): Promise<void> {
    await this.#socket?.close();
  }
}
