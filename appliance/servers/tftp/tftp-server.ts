// TFTP for booting machines: RFC 1350 with the options of RFC 2347, 2348, 2349 and 7440. Read-only. It owns the sockets;
// what is answered is the desk's business, how a transfer goes the transfer machine's.

import type { FastifyBaseLogger } from 'fastify';
import { decodeTftp, TftpDecodeError } from '../../codecs/tftp/decode.ts';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { negotiate } from '../../codecs/tftp/negotiate.ts';
import { OPCODES, TFTP_ERRORS, type TftpRequest } from '../../codecs/tftp/packet.ts';
import { ColdironError } from '../../domain/errors.ts';
import { shown } from '../../domain/parsed.ts';
import type { Trail } from '../../trail/trail.ts';
import { cannotListen } from '../listen.ts';
import { TftpTransfer, type TransferOutcome } from '../tftp-transfer.ts';
import { openBurstSocket } from '../udp/burst-socket.ts';
import { type Endpoint, peerAt } from '../udp/endpoint.ts';
import type { BurstSocket } from '../udp/udp-socket.ts';
import { bytesInMemory, HotFiles } from './file-bytes.ts';
import type { TftpAnswer, TftpContent, TftpDesk } from './tftp-desk.ts';
import { noteAnswer, noteTransfer } from './tftp-notes.ts';
import { TftpSession } from './tftp-session.ts';
import type { TftpSettings } from './tftp-settings.ts';
import { openTransferSocket } from './transfer-socket.ts';
import { monotonicClock, type TransferClock, TransferTable } from './transfer-table.ts';

export interface TftpServerParts {
  readonly settings: TftpSettings;
  readonly desk: Pick<TftpDesk, 'answer'>;
  readonly trail: Trail;
  readonly log: Pick<FastifyBaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
  readonly clock?: TransferClock;
}

interface Door {
  readonly requests: BurstSocket;
  /** null: transfers speak from the port of the requests. */
  readonly transfers: BurstSocket | null;
}

interface Asked {
  readonly request: TftpRequest;
  /** The same as it came. */
  readonly bytes: Uint8Array;
  readonly from: Endpoint;
  readonly door: Door;
}

export class TftpServer {
  readonly #parts: TftpServerParts;
  readonly #clock: TransferClock;
  readonly #files: HotFiles;
  readonly #transfers: TransferTable;
  #doors: readonly Door[] = [];
  #stopped = false;

  constructor(parts: TftpServerParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? monotonicClock;
    this.#files = new HotFiles(parts.settings.memoryBytes);
    this.#transfers = new TransferTable(parts.settings, this.#clock);
  }

  /** Where it listens. All addresses or none. */
  async start(): Promise<readonly { readonly address: string; readonly port: number }[]> {
    const doors: Door[] = [];
    try {
      for (const address of this.#parts.settings.addresses) doors.push(await this.#openDoor(address));
    } catch (error) {
      for (const door of doors) closeDoor(door);
      throw error;
    }
    this.#doors = doors;
    return doors.map(({ requests: { address, port } }) => ({ address, port }));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#transfers.stop('the server is stopping');
    for (const door of this.#doors) closeDoor(door);
    this.#doors = [];
  }

  get transfersUnderWay(): number {
    return this.#transfers.size;
  }

  async #openDoor(address: string): Promise<Door> {
    const { port, singlePort } = this.#parts.settings;
    let transfers: BurstSocket | null = null;
    try {
      if (!singlePort) transfers = await this.#openTransferPort(address);
      const door: Door = {
        transfers,
        requests: await openBurstSocket(address, port, (bytes, from) => this.#onRequestPort(bytes, from, door)),
      };
      return door;
    } catch (error) {
      transfers?.close();
      if (error instanceof ColdironError) throw error;
      throw cannotListen(error as NodeJS.ErrnoException, `${address}:${port}/udp`);
    }
  }

  async #openTransferPort(address: string): Promise<BurstSocket> {
    const socket = await openTransferSocket(address, this.#parts.settings.transferPorts, (bytes, from) => {
      const known = this.#transfers.of(from);
      if (known === undefined) this.#rejectStranger(bytes, from, socket);
      else if (known !== 'opening') known.onPacket(bytes);
    });
    return socket;
  }

  #onRequestPort(bytes: Uint8Array, from: Endpoint, door: Door): void {
    // A client that ends one transfer and begins the next from the same port sends the end to the other socket, and first.
    if (door.transfers && this.#transfers.of(from)) door.transfers.receive();
    const known = this.#transfers.of(from);
    if (known === 'opening') return;
    // In single-port mode everything comes here; otherwise only a request that is repeated.
    if (known) {
      known.onPacket(bytes);
      if (!known.finished || !isRequest(bytes)) return;
    }
    const request = this.#requestIn(bytes, from, door.requests);
    if (request) {
      // It outlives this turn, the socket's memory does not.
      this.#open({ request, bytes: bytes.slice(), from, door }).catch((error: unknown) => {
        this.#parts.log.error({ err: error, client: named(from) }, 'tftp: a transfer could not be opened');
      });
    }
  }

  #requestIn(bytes: Uint8Array, from: Endpoint, socket: BurstSocket): TftpRequest | null {
    try {
      const packet = decodeTftp(bytes);
      if (packet.op === 'read' && packet.mode !== 'mail') return packet;
      if (packet.op === 'read') refuse(socket, from, TFTP_ERRORS.illegalOperation, 'mode mail is not served');
      if (packet.op === 'write') {
        refuse(socket, from, TFTP_ERRORS.accessViolation, 'this server is read-only');
        this.#parts.log.info({ client: named(from), file: shown(packet.fileName) }, 'tftp: write refused');
      }
      if (packet.op === 'ack' || packet.op === 'data') this.#rejectStranger(bytes, from, socket);
    } catch (error) {
      if (!(error instanceof TftpDecodeError)) throw error;
      this.#parts.log.debug({ client: named(from), problem: error.message }, 'tftp: not a request');
      // Only what claims to be a request is worth an answer: anything else may be noise, or another server's ERROR.
      if (isRequest(bytes)) refuse(socket, from, TFTP_ERRORS.illegalOperation, error.message);
    }
    return null;
  }

  /** RFC 1350 §4. An ERROR is never answered: two servers would go on for ever. */
  #rejectStranger(bytes: Uint8Array, from: Endpoint, socket: BurstSocket): void {
    if (this.#transfers.hasJustEnded(from) || !isTftp(bytes) || bytes[1] === OPCODES.error) return;
    refuse(socket, from, TFTP_ERRORS.unknownTransferId, 'unknown transfer ID');
  }

  async #open(asked: Asked): Promise<void> {
    const { request, from, door } = asked;
    const crowded = this.#transfers.crowdedFor(from);
    if (crowded !== null) {
      this.#parts.log.warn({ client: named(from), file: shown(request.fileName) }, `tftp: ${crowded}`);
      return refuse(door.requests, from, TFTP_ERRORS.notDefined, crowded);
    }
    this.#transfers.enter(from, 'opening');
    const peer = peerAt(from);
    try {
      const answer = await this.#parts.desk.answer(request.fileName, peer.address);
      if (answer.reply.do === 'send' && !this.#stopped) {
        await this.#begin(answer, answer.reply.content, asked);
      } else {
        if (answer.reply.do === 'refuse') refuse(door.requests, from, answer.reply.code, answer.reply.message);
        noteAnswer(this.#parts, answer, peer);
      }
    } catch (error) {
      refuse(door.requests, from, TFTP_ERRORS.notDefined, 'the server cannot send it now');
      throw error;
    } finally {
      if (this.#transfers.of(from) === 'opening') this.#transfers.leave(from);
    }
  }

  async #begin(answer: TftpAnswer, content: TftpContent, { request, bytes, from, door }: Asked): Promise<void> {
    const { settings } = this.#parts;
    const source = 'text' in content ? bytesInMemory(content.text) : await this.#files.open(content.asset);
    if (this.#stopped) return source.close();
    const peer = peerAt(from);
    const mode = request.mode === 'netascii' ? 'netascii' : 'octet';
    const terms = negotiate(request.options, settings, source.size, mode);
    const startedAt = this.#clock.now();
    const { rolloverTo, idleMs } = settings;
    const session = new TftpSession({
      transfer: new TftpTransfer({ peer, request: bytes, mode, terms, source, rolloverTo }),
      peer,
      socket: door.transfers ?? door.requests,
      bytes: source,
      now: this.#clock.now,
      idleMs,
      onEnd: (outcome: TransferOutcome) => {
        this.#transfers.leave(from);
        noteTransfer(this.#parts, answer, peer, terms, outcome, this.#clock.now() - startedAt);
      },
    });
    this.#transfers.enter(from, session);
    session.start();
  }
}

function closeDoor({ requests, transfers }: Door): void {
  requests.close();
  transfers?.close();
}

function refuse(socket: BurstSocket, to: Endpoint, code: number, message: string): void {
  socket.send(encodeTftp({ op: 'error', code, message: shown(message) }), to);
}

const isTftp = (bytes: Uint8Array): boolean =>
  bytes.length >= 4 && bytes[0] === 0 && Object.values<number>(OPCODES).includes(bytes[1] ?? 0);
const isRequest = (bytes: Uint8Array): boolean =>
  bytes[0] === 0 && (bytes[1] === OPCODES.read || bytes[1] === OPCODES.write);

function named(client: Endpoint): string {
  const { address, port } = peerAt(client);
  return `${address}:${port}`;
}
