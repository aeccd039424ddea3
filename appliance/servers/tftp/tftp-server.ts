// TFTP for booting machines: RFC 1350 with the options of RFC 2347, 2348, 2349 and 7440. Read-only. It owns the sockets; the
// resolver chooses the reply, and the transfer state machine runs a transfer.

import type { FastifyBaseLogger } from 'fastify';
import { decodeTftp, TftpDecodeError } from '../../codecs/tftp/decode.ts';
import { DATA_HEADER_BYTES, encodeTftp } from '../../codecs/tftp/encode.ts';
import { type NegotiationLimits, negotiate, type TransferTerms } from '../../codecs/tftp/negotiate.ts';
import { OPCODES, TFTP_ERRORS, type TftpRequest } from '../../codecs/tftp/packet.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { shown } from '../../domain/parsed.ts';
import { cannotListen } from '../../net/listen.ts';
import { openBurstSocket } from '../../net/udp/burst-socket.ts';
import { addressOf, type Endpoint, peerAt } from '../../net/udp/endpoint.ts';
import type { BurstSocket } from '../../net/udp/udp-socket.ts';
import type { Trail, TrailNote } from '../../trail/trail.ts';
import { HotFiles, sizeOf } from './file-bytes.ts';
import { blockWithin, interfaceMtu } from './interface-mtu.ts';
import { LocalTransfers } from './local-transfers.ts';
import { noteAnswer, noteBegun, noteRefused, noteStall, noteTransfer } from './tftp-notes.ts';
import type { TftpAnswer, TftpContent, TftpResolver } from './tftp-resolver.ts';
import type { TftpSettings } from './tftp-settings.ts';
import { TransferBook, TransferLimit } from './transfer-book.ts';
import { monotonicClock, rejectUnknownTid, type TransferClock } from './transfer-port.ts';
import { canUseThreads, TransferThreads } from './transfer-threads.ts';
import type { RunningTransfer, Transfers } from './transfers.ts';
import { UnansweredBytes } from './unanswered-bytes.ts';

export interface TftpServerDeps {
  readonly settings: TftpSettings;
  readonly resolver: Pick<TftpResolver, 'answer'>;
  readonly trail: Trail;
  /** The holder of an address, to record requests that never reach the resolver. */
  readonly whoIs?: (address: Ipv4) => Pick<TrailNote, 'mac' | 'machine'>;
  readonly log: Pick<FastifyBaseLogger, 'debug' | 'info' | 'warn' | 'error'>;
  /** The limit shared with other servers; default: the limit of its own settings. */
  readonly limit?: TransferLimit;
  /** MTU of the interface that has the address; null: unknown. */
  readonly mtuAt?: (address: string) => Promise<number | null>;
  /** If set (tests), transfers run in this thread. */
  readonly clock?: TransferClock;
}

interface TftpEndpoint {
  readonly requests: BurstSocket;
  readonly transfers: Transfers;
  readonly limits: NegotiationLimits;
}

interface PendingRequest {
  readonly request: TftpRequest;
  /** The request as received. */
  readonly bytes: Uint8Array;
  readonly from: Endpoint;
  readonly endpoint: TftpEndpoint;
}

/** At 0, 1, 3, 7 and 15 seconds. */
const FIRST_REPLIES = 5;

export class TftpServer {
  readonly #deps: TftpServerDeps;
  readonly #clock: TransferClock;
  readonly #files: HotFiles;
  readonly #book: TransferBook;
  readonly #unanswered = new UnansweredBytes();
  /** How much larger than the request the first reply is that a repeated request gets again. */
  readonly #replyExcess = new WeakMap<RunningTransfer, number>();
  /** Requests whose transfer has not started yet. */
  readonly #opening = new Set<Promise<void>>();
  #endpoints: readonly TftpEndpoint[] = [];
  #stopped = false;

  constructor(deps: TftpServerDeps) {
    this.#deps = deps;
    this.#clock = deps.clock ?? monotonicClock;
    this.#files = new HotFiles(deps.settings.memoryBytes);
    const { settings, limit = new TransferLimit(settings.atOnce) } = deps;
    this.#book = new TransferBook(settings.perClient, limit);
  }

  /** Returns the bound addresses: all or none. */
  async start(): Promise<readonly { readonly address: string; readonly port: number }[]> {
    const endpoints: TftpEndpoint[] = [];
    try {
      for (const address of this.#deps.settings.addresses) endpoints.push(await this.#openEndpoint(address));
    } catch (error) {
      for (const endpoint of endpoints) await closeEndpoint(endpoint);
      throw error;
    }
    this.#endpoints = endpoints;
    return endpoints.map(({ requests: { address, port } }) => ({ address, port }));
  }

  /** After this the resolver is no longer called. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const endpoints = this.#endpoints;
    this.#endpoints = [];
    await Promise.all(endpoints.map(closeEndpoint));
    await Promise.all(this.#opening);
  }

  get transfersUnderWay(): number {
    return this.#book.size;
  }

  async #openEndpoint(address: string): Promise<TftpEndpoint> {
    const settings = await this.#settingsAt(address);
    let transfers: Transfers | null = null;
    try {
      if (!settings.singlePort) transfers = await this.#openTransfers(address, settings);
      const requests = await openBurstSocket(address, settings.port, (bytes, from) =>
        this.#onRequestPort(bytes, from, endpoint),
      );
      const endpoint: TftpEndpoint = {
        requests,
        transfers: transfers ?? LocalTransfers.on(requests, settings, this.#clock),
        limits: settings,
      };
      return endpoint;
    } catch (error) {
      await transfers?.stop('');
      if (error instanceof ColdironError) throw error;
      throw cannotListen(error as NodeJS.ErrnoException, `${address}:${settings.port}/udp`);
    }
  }

  /** Limits blocks to the MTU of the interface. A smaller path MTU must be configured by the operator. */
  async #settingsAt(address: string): Promise<TftpSettings> {
    const { settings, mtuAt = interfaceMtu } = this.#deps;
    const mtu = await mtuAt(address);
    if (mtu === null) return settings;
    return { ...settings, maxBlockSize: Math.min(settings.maxBlockSize, blockWithin(mtu)) };
  }

  async #openTransfers(address: string, settings: TftpSettings): Promise<Transfers> {
    const { log, clock } = this.#deps;
    if (clock || !canUseThreads(settings)) return LocalTransfers.open(address, settings, this.#clock);
    return new TransferThreads({
      ...settings,
      address,
      onFailure: (error) => log.error({ err: error, address }, 'tftp: a transfer thread failed'),
    });
  }

  #onRequestPort(bytes: Uint8Array, from: Endpoint, endpoint: TftpEndpoint): void {
    const known = this.#book.of(from);
    if (known === undefined) this.#onNewRequest(bytes, from, endpoint);
    if (known === undefined || known === 'opening') return;
    const isNext = isRead(bytes);
    // In single-port mode every packet arrives here; otherwise only a repeated request, or the next one. Other packets are not
    // part of the transfer. They get no ERROR, because it would reach the port that the client uses for its transfer.
    if (!isNext && !this.#deps.settings.singlePort) return;
    if (isNext && !known.isAnswered() && !this.#mayRepeat(from, known)) return;
    const copy = isNext ? bytes.slice() : bytes;
    known.onRequestPort(bytes, () => {
      this.#book.leave(from, known);
      if (isNext && !this.#stopped) this.#onRequestPort(copy, from, endpoint);
    });
  }

  /** Each repeated request gets the first reply again, so it counts like the first. */
  #mayRepeat(from: Endpoint, transfer: RunningTransfer): boolean {
    const excess = this.#replyExcess.get(transfer) ?? 0;
    if (excess > 0 && this.#owesTooMuch(from)) return false;
    this.#unanswered.charge(addressOf(from), excess, this.#clock.now());
    return true;
  }

  /** Then it gets no reply, not even an ERROR: the replies to its earlier requests were never answered, so the address may be forged. */
  #owesTooMuch(from: Endpoint): boolean {
    const address = addressOf(from);
    if (!this.#unanswered.isOver(address, this.#clock.now())) return false;
    if (!this.#book.hasAnswered(address)) return true;
    this.#unanswered.answered(address);
    return false;
  }

  #onNewRequest(bytes: Uint8Array, from: Endpoint, endpoint: TftpEndpoint): void {
    const request = this.#requestIn(bytes, from, endpoint);
    if (!request) return;
    // An OACK is about as long as its request, and no means of an attack.
    const getsOptions = negotiate(request.options, endpoint.limits, 0, 'octet').acknowledged.size > 0;
    if (!getsOptions && this.#owesTooMuch(from)) return;
    // The request outlives this event-loop turn; the socket's buffer does not.
    const opening = this.#open({ request, bytes: bytes.slice(), from, endpoint })
      .catch((error: unknown) => {
        this.#deps.log.error({ err: error, client: named(from) }, 'tftp: a transfer could not be opened');
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
        noteRefused(this.#deps, peerAt(from), 'mode mail is not served', packet.fileName);
      }
      if (packet.op === 'write') {
        refuse(socket, from, TFTP_ERRORS.accessViolation, 'this server is read-only');
        noteRefused(this.#deps, peerAt(from), 'this server is read-only', packet.fileName);
        this.#deps.log.info({ client: named(from), file: shown(packet.fileName) }, 'tftp: write refused');
      }
      if (packet.op === 'ack' || packet.op === 'data') {
        if (!transfers.hasJustEnded(from)) rejectUnknownTid(bytes, from, socket);
      }
    } catch (error) {
      if (!(error instanceof TftpDecodeError)) throw error;
      this.#deps.log.debug({ client: named(from), problem: error.message }, 'tftp: not a request');
      // Only malformed requests get an ERROR: anything else may be noise, or another server's ERROR.
      if (!isRequest(bytes)) return null;
      refuse(socket, from, TFTP_ERRORS.illegalOperation, error.message);
      noteRefused(this.#deps, peerAt(from), error.message, null);
    }
    return null;
  }

  async #open(pending: PendingRequest): Promise<void> {
    const { request, from, endpoint } = pending;
    const refusal = this.#book.refusalFor(from);
    if (refusal !== null) {
      this.#deps.log.warn({ client: named(from), file: shown(request.fileName) }, `tftp: ${refusal}`);
      noteRefused(this.#deps, peerAt(from), refusal, request.fileName);
      return refuse(endpoint.requests, from, TFTP_ERRORS.notDefined, refusal);
    }
    this.#book.enter(from, 'opening');
    const peer = peerAt(from);
    try {
      const answer = await this.#deps.resolver.answer(request.fileName, peer.address);
      if (answer.reply.do === 'send' && !this.#stopped) {
        await this.#begin(answer, answer.reply.content, pending);
      } else {
        if (answer.reply.do === 'refuse') refuse(endpoint.requests, from, answer.reply.code, answer.reply.message);
        noteAnswer(this.#deps, answer, peer);
      }
    } catch (error) {
      if (this.#stopped) return;
      refuse(endpoint.requests, from, TFTP_ERRORS.notDefined, 'the server cannot send the file now');
      noteRefused(this.#deps, peer, 'the server cannot send the file now', request.fileName);
      throw error;
    } finally {
      this.#book.leave(from, 'opening');
    }
  }

  async #begin(
    answer: TftpAnswer,
    source: TftpContent,
    { request, bytes, from, endpoint }: PendingRequest,
  ): Promise<void> {
    const content = 'text' in source ? { bytes: source.text } : await this.#files.contentOf(source.asset);
    if (this.#stopped) return;
    const mode = request.mode === 'netascii' ? 'netascii' : 'octet';
    const terms = negotiate(request.options, endpoint.limits, sizeOf(content), mode);
    const startedAt = this.#clock.now();
    noteBegun(this.#deps, answer, peerAt(from), sizeOf(content));
    const firstReplies = firstRepliesTo(answer, terms);
    const excess = firstReplyBytes(terms, sizeOf(content)) - bytes.length;
    this.#unanswered.charge(addressOf(from), excess, startedAt);
    let transfer: RunningTransfer | null = null;
    let hasEnded = false;
    const order = { client: from, request: bytes, mode, terms, content, firstReplies } as const;
    const since = (): number => this.#clock.now() - startedAt;
    transfer = await endpoint.transfers.begin(order, {
      onStall: (stall) => noteStall(this.#deps, answer, peerAt(from), terms, stall, since()),
      onEnd: (outcome) => {
        hasEnded = true;
        if (transfer) this.#book.leave(from, transfer);
        if (outcome.blocks > 0 || outcome.clientError !== null) this.#unanswered.answered(addressOf(from));
        noteTransfer(this.#deps, answer, peerAt(from), terms, outcome, since());
      },
    });
    this.#replyExcess.set(transfer, excess);
    if (!hasEnded) this.#book.enter(from, transfer);
  }
}

async function closeEndpoint({ requests, transfers }: TftpEndpoint): Promise<void> {
  await transfers.stop('the server is stopping');
  requests.close();
}

/**
 * An OACK is about as long as its request, and some clients (GRUB) do not repeat their ACK of it. A first block is thirty times as long
 * as its request: it is sent again by itself only to the holder of a lease. Any other client repeats its request or its ACK (RFC
 * 1350 §2), or the address is forged.
 */
function firstRepliesTo({ mac, own }: TftpAnswer, { acknowledged }: TransferTerms): number {
  return acknowledged.size > 0 || mac !== null || own === true ? FIRST_REPLIES : 1;
}

const firstReplyBytes = ({ acknowledged, blockSize }: TransferTerms, size: number): number =>
  acknowledged.size > 0
    ? encodeTftp({ op: 'optionAck', options: acknowledged }).length
    : DATA_HEADER_BYTES + Math.min(size, blockSize);

function refuse(socket: BurstSocket, to: Endpoint, code: number, message: string): void {
  socket.send(encodeTftp({ op: 'error', code, message: shown(message) }), to);
}

const isRead = (bytes: Uint8Array): boolean => bytes[0] === 0 && bytes[1] === OPCODES.read;
const isRequest = (bytes: Uint8Array): boolean => isRead(bytes) || (bytes[0] === 0 && bytes[1] === OPCODES.write);

function named(client: Endpoint): string {
  const { address, port } = peerAt(client);
  return `${address}:${port}`;
}
