// TFTP for booting machines: RFC 1350 with the options of RFC 2347, 2348, 2349 and 7440. Read-only. It owns the sockets;
// what is answered is the resolver's business, how a transfer goes the transfer machine's.

import type { FastifyBaseLogger } from 'fastify';
import { decodeTftp, TftpDecodeError } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { type NegotiationLimits, negotiate } from '../../codecs/tftp/negotiate.ts';
import { OPCODES, TFTP_ERRORS, type TftpRequest } from '../../codecs/tftp/packet.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { shown } from '../../domain/parsed.ts';
import { cannotListen } from '../../net/listen.ts';
import { openBurstSocket } from '../../net/udp/burst-socket.ts';
import { type Endpoint, peerAt } from '../../net/udp/endpoint.ts';
import type { BurstSocket } from '../../net/udp/udp-socket.ts';
import type { Trail, TrailNote } from '../../trail/trail.ts';
import { HotFiles, sizeOf } from './file-bytes.ts';
import { blockWithin, interfaceMtu } from './interface-mtu.ts';
import { LocalTransfers } from './local-transfers.ts';
import { noteAnswer, noteBegun, noteRefused, noteTransfer } from './tftp-notes.ts';
import type { TftpAnswer, TftpContent, TftpResolver } from './tftp-resolver.ts';
import type { TftpSettings } from './tftp-settings.ts';
import { TransferBook, TransferRoom } from './transfer-book.ts';
import { monotonicClock, rejectStranger, type TransferClock } from './transfer-port.ts';
import { canUseThreads, TransferThreads } from './transfer-threads.ts';
import type { RunningTransfer, Transfers } from './transfers.ts';

export interface TftpServerDeps {
  readonly settings: TftpSettings;
  readonly resolver: Pick<TftpResolver, 'answer'>;
  readonly trail: Trail;
  /** Whose address this is, for what is told of requests that never get to the resolver. */
  readonly whoIs?: (address: Ipv4) => Pick<TrailNote, 'mac' | 'machine'>;
  readonly log: Pick<FastifyBaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
  /** For transfers of this and of other servers; without one it has room for as many as its settings say. */
  readonly room?: TransferRoom;
  /** Of the interface that has the address; null: nobody knows. */
  readonly mtuAt?: (address: string) => Promise<number | null>;
  /** With one that is not this machine's own, transfers are carried in this thread. */
  readonly clock?: TransferClock;
}

interface TftpEndpoint {
  readonly requests: BurstSocket;
  readonly transfers: Transfers;
  readonly limits: NegotiationLimits;
}

interface Asked {
  readonly request: TftpRequest;
  /** The same as it came. */
  readonly bytes: Uint8Array;
  readonly from: Endpoint;
  readonly door: TftpEndpoint;
}

export class TftpServer {
  readonly #parts: TftpServerDeps;
  readonly #clock: TransferClock;
  readonly #files: HotFiles;
  readonly #book: TransferBook;
  /** Requests whose transfer has not begun yet. */
  readonly #opening = new Set<Promise<void>>();
  #doors: readonly TftpEndpoint[] = [];
  #stopped = false;

  constructor(parts: TftpServerDeps) {
    this.#parts = parts;
    this.#clock = parts.clock ?? monotonicClock;
    this.#files = new HotFiles(parts.settings.memoryBytes);
    const { settings, room = new TransferRoom(settings.atOnce) } = parts;
    this.#book = new TransferBook(settings.perClient, room);
  }

  /** Where it listens. All addresses or none. */
  async start(): Promise<readonly { readonly address: string; readonly port: number }[]> {
    const doors: TftpEndpoint[] = [];
    try {
      for (const address of this.#parts.settings.addresses) doors.push(await this.#openDoor(address));
    } catch (error) {
      for (const door of doors) await closeDoor(door);
      throw error;
    }
    this.#doors = doors;
    return doors.map(({ requests: { address, port } }) => ({ address, port }));
  }

  /** Afterwards nothing is asked of the resolver any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const doors = this.#doors;
    this.#doors = [];
    await Promise.all(doors.map(closeDoor));
    await Promise.all(this.#opening);
  }

  get transfersUnderWay(): number {
    return this.#book.size;
  }

  async #openDoor(address: string): Promise<TftpEndpoint> {
    const settings = await this.#settingsAt(address);
    let transfers: Transfers | null = null;
    try {
      if (!settings.singlePort) transfers = await this.#openTransfers(address, settings);
      const requests = await openBurstSocket(address, settings.port, (bytes, from) =>
        this.#onRequestPort(bytes, from, door),
      );
      const door: TftpEndpoint = {
        requests,
        transfers: transfers ?? LocalTransfers.on(requests, settings, this.#clock),
        limits: settings,
      };
      return door;
    } catch (error) {
      await transfers?.stop('');
      if (error instanceof ColdironError) throw error;
      throw cannotListen(error as NodeJS.ErrnoException, `${address}:${settings.port}/udp`);
    }
  }

  /** No larger blocks than the interface lets out in one piece; a path beyond it may take less, which only a person knows. */
  async #settingsAt(address: string): Promise<TftpSettings> {
    const { settings, mtuAt = interfaceMtu } = this.#parts;
    const mtu = await mtuAt(address);
    if (mtu === null) return settings;
    return { ...settings, maxBlockSize: Math.min(settings.maxBlockSize, blockWithin(mtu)) };
  }

  async #openTransfers(address: string, settings: TftpSettings): Promise<Transfers> {
    const { log, clock } = this.#parts;
    if (clock || !canUseThreads(settings)) return LocalTransfers.open(address, settings, this.#clock);
    return new TransferThreads({
      ...settings,
      address,
      onFailure: (error) => log.error({ err: error, address }, 'tftp: a thread failed'),
    });
  }

  #onRequestPort(bytes: Uint8Array, from: Endpoint, door: TftpEndpoint): void {
    const known = this.#book.of(from);
    if (known === undefined) this.#onNewRequest(bytes, from, door);
    if (known === undefined || known === 'opening') return;
    const isNext = isRead(bytes);
    // In single-port mode everything comes here; otherwise only a request that is repeated, or the next one. The rest is no
    // part of the transfer. No ERROR says so: it would go to the port that the client loads its file through.
    if (!isNext && !this.#parts.settings.singlePort) return;
    const again = isNext ? bytes.slice() : bytes;
    known.onRequestPort(bytes, () => {
      this.#book.leave(from, known);
      if (isNext && !this.#stopped) this.#onRequestPort(again, from, door);
    });
  }

  #onNewRequest(bytes: Uint8Array, from: Endpoint, door: TftpEndpoint): void {
    const request = this.#requestIn(bytes, from, door);
    if (!request) return;
    // It outlives this turn, the socket's memory does not.
    const opening = this.#open({ request, bytes: bytes.slice(), from, door })
      .catch((error: unknown) => {
        this.#parts.log.error({ err: error, client: named(from) }, 'tftp: a transfer could not be opened');
      })
      .finally(() => this.#opening.delete(opening));
    this.#opening.add(opening);
  }

  #requestIn(bytes: Uint8Array, from: Endpoint, { requests: socket, transfers }: TftpEndpoint): TftpRequest | null {
    try {
      const packet = decodeTftp(bytes);
      if (packet.op === 'read' && packet.mode !== 'mail') return packet;
      if (packet.op === 'read') {
        refuse(socket, from, TFTP_ERRORS.illegalOperation, 'mode mail is not served');
        noteRefused(this.#parts, peerAt(from), 'mode mail is not served', packet.fileName);
      }
      if (packet.op === 'write') {
        refuse(socket, from, TFTP_ERRORS.accessViolation, 'this server is read-only');
        noteRefused(this.#parts, peerAt(from), 'this server is read-only', packet.fileName);
        this.#parts.log.info({ client: named(from), file: shown(packet.fileName) }, 'tftp: write refused');
      }
      if (packet.op === 'ack' || packet.op === 'data') {
        if (!transfers.hasJustEnded(from)) rejectStranger(bytes, from, socket);
      }
    } catch (error) {
      if (!(error instanceof TftpDecodeError)) throw error;
      this.#parts.log.debug({ client: named(from), problem: error.message }, 'tftp: not a request');
      // Only what claims to be a request is worth an answer: anything else may be noise, or another server's ERROR.
      if (!isRequest(bytes)) return null;
      refuse(socket, from, TFTP_ERRORS.illegalOperation, error.message);
      noteRefused(this.#parts, peerAt(from), error.message, null);
    }
    return null;
  }

  async #open(asked: Asked): Promise<void> {
    const { request, from, door } = asked;
    const crowded = this.#book.crowdedFor(from);
    if (crowded !== null) {
      this.#parts.log.warn({ client: named(from), file: shown(request.fileName) }, `tftp: ${crowded}`);
      noteRefused(this.#parts, peerAt(from), crowded, request.fileName);
      return refuse(door.requests, from, TFTP_ERRORS.notDefined, crowded);
    }
    this.#book.enter(from, 'opening');
    const peer = peerAt(from);
    try {
      const answer = await this.#parts.resolver.answer(request.fileName, peer.address);
      if (answer.reply.do === 'send' && !this.#stopped) {
        await this.#begin(answer, answer.reply.content, asked);
      } else {
        if (answer.reply.do === 'refuse') refuse(door.requests, from, answer.reply.code, answer.reply.message);
        noteAnswer(this.#parts, answer, peer);
      }
    } catch (error) {
      if (this.#stopped) return;
      refuse(door.requests, from, TFTP_ERRORS.notDefined, 'the server cannot send it now');
      noteRefused(this.#parts, peer, 'the server cannot send it now', request.fileName);
      throw error;
    } finally {
      this.#book.leave(from, 'opening');
    }
  }

  async #begin(answer: TftpAnswer, wanted: TftpContent, { request, bytes, from, door }: Asked): Promise<void> {
    const content = 'text' in wanted ? { bytes: wanted.text } : await this.#files.contentOf(wanted.asset);
    if (this.#stopped) return;
    const mode = request.mode === 'netascii' ? 'netascii' : 'octet';
    const terms = negotiate(request.options, door.limits, sizeOf(content), mode);
    const startedAt = this.#clock.now();
    noteBegun(this.#parts, answer, peerAt(from), sizeOf(content));
    let transfer: RunningTransfer | null = null;
    let hasEnded = false;
    transfer = await door.transfers.begin({ client: from, request: bytes, mode, terms, content }, (outcome) => {
      hasEnded = true;
      if (transfer) this.#book.leave(from, transfer);
      noteTransfer(this.#parts, answer, peerAt(from), terms, outcome, this.#clock.now() - startedAt);
    });
    if (!hasEnded) this.#book.enter(from, transfer);
  }
}

async function closeDoor({ requests, transfers }: TftpEndpoint): Promise<void> {
  await transfers.stop('the server is stopping');
  requests.close();
}

function refuse(socket: BurstSocket, to: Endpoint, code: number, message: string): void {
  socket.send(encodeTftp({ op: 'error', code, message: shown(message) }), to);
}

const isRead = (bytes: Uint8Array): boolean => bytes[0] === 0 && bytes[1] === OPCODES.read;
const isRequest = (bytes: Uint8Array): boolean => isRead(bytes) || (bytes[0] === 0 && bytes[1] === OPCODES.write);

function named(client: Endpoint): string {
  const { address, port } = peerAt(client);
  return `${address}:${port}`;
}
