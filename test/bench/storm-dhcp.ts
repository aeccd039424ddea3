// DHCP of many machines over one socket: packets of real firmware and of iPXE, each with a machine's own identity, and
// retransmitted at the intervals of real clients.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { join } from 'node:path';
import { decodeDhcp } from '../../appliance/codecs/dhcp4/decode.ts';
import { encodeDhcp } from '../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../appliance/codecs/dhcp4/message.ts';
import { messageType, OPTION } from '../../appliance/codecs/dhcp4/options.ts';
import { readPcap } from '../captures/read-pcap.ts';
import type { StormMachine } from './storm-machine.ts';

const SERVER_PORT = 67;
const CLIENT_PORT = 68;
const LONGEST = 1472;
/** PXE 2.1 §2.2.2; iPXE starts and ends earlier. */
const FIRMWARE_WAITS_MS = [4000, 8000, 16_000, 32_000];
const IPXE_WAITS_MS = [1000, 2000, 4000, 8000, 16_000];

export interface Stage {
  readonly discover: DhcpMessage;
  readonly request: DhcpMessage;
  readonly waitsMs: readonly number[];
}

/** OVMF's own exchange, and that of the iPXE which it started. */
export function capturedStages(): { readonly firmware: Stage; readonly ipxe: Stage } {
  const recorded = readPcap(join(import.meta.dirname, '../captures/uefi-x64-native.pcap'))
    .filter(({ destinationPort }) => destinationPort === SERVER_PORT)
    .map(({ payload }) => decodeDhcp(payload));
  const find = (type: 'discover' | 'request', isIpxe: boolean): DhcpMessage => {
    const found = recorded.find((each) => messageType(each) === type && each.options.has(OPTION.userClass) === isIpxe);
    if (!found) throw new Error(`the capture holds no ${type} of ${isIpxe ? 'iPXE' : 'firmware'}`);
    return found;
  };
  const stage = (isIpxe: boolean, waitsMs: readonly number[]): Stage => ({
    discover: find('discover', isIpxe),
    request: find('request', isIpxe),
    waitsMs,
  });
  return { firmware: stage(false, FIRMWARE_WAITS_MS), ipxe: stage(true, IPXE_WAITS_MS) };
}

interface PendingRequest {
  readonly expected: 'offer' | 'ack';
  readonly answered: (reply: DhcpMessage) => void;
}

export class StormDhcp {
  readonly #socket: Socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  readonly #pending = new Map<number, PendingRequest>();
  #lastXid = 0;
  resent = 0;

  static async open(): Promise<StormDhcp> {
    const dhcp = new StormDhcp();
    dhcp.#socket.on('message', (bytes) => dhcp.#onReply(decodeDhcp(bytes)));
    dhcp.#socket.bind(CLIENT_PORT);
    await once(dhcp.#socket, 'listening');
    dhcp.#socket.setBroadcast(true);
    return dhcp;
  }

  close(): void {
    this.#socket.close();
  }

  /** Resolves with the ACK. Rejects when the server does not reply or sends a NAK. */
  async exchange(machine: StormMachine, { discover, request, waitsMs }: Stage): Promise<DhcpMessage> {
    this.#lastXid += 1;
    const xid = this.#lastXid;
    const offer = await this.#ask({ ...machine.asItself(discover), xid }, 'offer', waitsMs);
    const chosen = new Map(request.options)
      .set(OPTION.requestedAddress, addressBytes(offer.yiaddr))
      .set(OPTION.serverIdentifier, offer.options.get(OPTION.serverIdentifier) ?? new Uint8Array());
    return await this.#ask({ ...machine.asItself({ ...request, options: chosen }), xid }, 'ack', waitsMs);
  }

  async #ask(
    message: DhcpMessage,
    expected: PendingRequest['expected'],
    waitsMs: readonly number[],
  ): Promise<DhcpMessage> {
    const { bytes } = encodeDhcp(message, { maxBytes: LONGEST });
    const { promise, resolve, reject } = Promise.withResolvers<DhcpMessage>();
    let timer: NodeJS.Timeout | undefined;
    const send = (attempt: number): void => {
      const wait = waitsMs[attempt];
      if (wait === undefined) {
        reject(new Error(`no ${expected} after ${attempt} attempts`));
        return;
      }
      if (attempt > 0) this.resent += 1;
      this.#socket.send(bytes, SERVER_PORT, '255.255.255.255');
      timer = setTimeout(() => send(attempt + 1), wait);
    };
    this.#pending.set(message.xid, { expected, answered: resolve });
    send(0);
    try {
      const reply = await promise;
      if (messageType(reply) === 'nak') throw new Error('the server refused the address that it had offered');
      return reply;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(message.xid);
    }
  }

  #onReply(reply: DhcpMessage): void {
    const pending = this.#pending.get(reply.xid);
    const type = messageType(reply);
    if (pending && (type === pending.expected || (type === 'nak' && pending.expected === 'ack')))
      pending.answered(reply);
  }
}

const addressBytes = (address: string): Uint8Array => Uint8Array.from(address.split('.').map(Number));
