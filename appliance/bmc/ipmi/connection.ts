// A session on a real socket, with promises. One event loop holds thousands of them: each is a socket and a timer.

import type { CipherSuite } from '../../codecs/ipmi/cipher-suite.ts';
import type { IpmiCommand } from '../../codecs/ipmi/commands/command.ts';
import type { Privilege } from '../../codecs/ipmi/commands/session-commands.ts';
import { COMPLETED, completionWords, isPassing } from '../../codecs/ipmi/completion-code.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import type { IpmiReply } from '../../codecs/ipmi/message.ts';
import { type BmcClock, bmcSystemClock, pause } from '../clock.ts';
import { IpmiError } from './ipmi-error.ts';
import { type IpmiLink, type OpenLink, openUdpLink } from './link.ts';
import { type IpmiCredentials, parseLogin } from './login.ts';
import { pooledRandom } from './pooled-random.ts';
import { IpmiSession, type Reaction, type SessionSignal } from './session.ts';
import { DEFAULT_TIMINGS, type SessionTimings } from './timings.ts';

const IPMI_PORT = 623;

export interface IpmiTarget extends IpmiCredentials {
  readonly address: string;
  /** Default: 623. */
  readonly port?: number;
}

/** The cipher suite that each BMC accepted last: a login with it needs no negotiation. */
export interface SuiteMemory {
  suite(address: string): number | null;
  rememberSuite(address: string, suite: number): void;
}

export interface IpmiDeps {
  readonly clock: BmcClock;
  readonly timings: SessionTimings;
  readonly random: (bytes: number) => Uint8Array;
  readonly openLink: OpenLink;
  readonly memory?: SuiteMemory;
}

export const IPMI_DEPS: IpmiDeps = {
  clock: bmcSystemClock,
  timings: DEFAULT_TIMINGS,
  random: pooledRandom(),
  openLink: openUdpLink,
};

/** Sends commands; all that the verbs need. */
export interface IpmiCaller {
  readonly clock: BmcClock;
  /** Retries while the BMC is busy; any other refusal is an IpmiError with the completion code as text. */
  call<Reply>(command: IpmiCommand<Reply>): Promise<Reply>;
}

const BUSY_TRIES = 5;
const FIRST_BUSY_PAUSE = 250;

interface Waiting {
  readonly resolve: (reply: IpmiReply) => void;
  readonly reject: (error: IpmiError) => void;
}

export class IpmiConnection implements IpmiCaller {
  readonly clock: BmcClock;
  readonly #target: IpmiTarget;
  readonly #session: IpmiSession;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended = Promise.withResolvers<IpmiError | null>();
  readonly #opened = Promise.withResolvers<{ suite: CipherSuite['id']; privilege: Privilege }>();
  #link: IpmiLink | null = null;
  #isOpen = false;
  #networkError = '';
  #nextId = 0;
  #cancelWake: () => void = () => undefined;
  #onConsole: (payload: Uint8Array) => void = () => undefined;

  private constructor(target: IpmiTarget, deps: IpmiDeps, session: IpmiSession) {
    this.#target = target;
    this.clock = deps.clock;
    this.#session = session;
    // Neither promise may have a listener when it settles.
    this.#opened.promise.catch(() => undefined);
  }

  static async open(target: IpmiTarget, deps: IpmiDeps): Promise<IpmiConnection> {
    const login = parseLogin(target);
    if (!login.ok) throw new IpmiError('malformed', login.reason);
    const rememberedSuite = deps.memory?.suite(target.address) ?? null;
    const session = new IpmiSession({ login: login.value, ...deps, rememberedSuite }, deps.clock.now());
    const connection = new IpmiConnection(target, deps, session);
    const packet = (bytes: Uint8Array): void => connection.#apply(session.receive(bytes, deps.clock.now()));
    const networkError = (error: Error): void => {
      connection.#networkError = error.message;
    };
    try {
      connection.#link = await deps.openLink(target.address, target.port ?? IPMI_PORT, { packet, networkError });
    } catch (error) {
      throw new IpmiError(
        'unreachable',
        connection.#message(`the address is unreachable: ${error instanceof Error ? error.message : error}`),
      );
    }
    connection.#apply(session.start());
    const { suite } = await connection.#opened.promise;
    if (suite !== rememberedSuite) deps.memory?.rememberSuite(target.address, suite);
    return connection;
  }

  /** The negotiated cipher suite and privilege. */
  get terms(): Promise<{ readonly suite: CipherSuite['id']; readonly privilege: Privilege }> {
    return this.#opened.promise;
  }

  /** Settles when the session ends, with the reason unless the caller closed it. */
  get ended(): Promise<IpmiError | null> {
    return this.#ended.promise;
  }

  async call<Reply>(command: IpmiCommand<Reply>): Promise<Reply> {
    for (let tried = 1; ; tried++) {
      const reply = await this.#exchange(command);
      const code = reply.completionCode;
      if (code === COMPLETED) return this.#decode(command, reply);
      if (!isPassing(code) || !command.repeatable || tried === BUSY_TRIES) {
        const message = this.#message(`${command.name}: ${completionWords(code, command.codes)}`);
        throw new IpmiError('refused', message, { completionCode: code, retryable: isPassing(code) });
      }
      await pause(this.clock, FIRST_BUSY_PAUSE * 2 ** (tried - 1));
    }
  }

  onConsole(listener: (payload: Uint8Array) => void): void {
    this.#onConsole = listener;
  }

  sendConsole(payload: Uint8Array): void {
    this.#apply(this.#session.sendConsole(payload));
  }

  /** Never rejects: when the BMC does not reply, the session counts as closed. */
  async close(): Promise<void> {
    this.#apply(this.#session.close(this.clock.now()));
    await this.#ended.promise;
  }

  #exchange(command: IpmiCommand<unknown>): Promise<IpmiReply> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<IpmiReply>();
    this.#waiting.set(id, { resolve, reject });
    this.#apply(this.#session.request(id, command, this.clock.now()));
    return promise;
  }

  #decode<Reply>(command: IpmiCommand<Reply>, reply: IpmiReply): Reply {
    try {
      return command.decode(reply.data);
    } catch (error) {
      if (!(error instanceof IpmiDecodeError)) throw error;
      throw new IpmiError('malformed', this.#message(`${command.name}: ${error.message}`));
    }
  }

  #apply(reaction: Reaction): void {
    for (const bytes of reaction.send) this.#link?.send(bytes);
    this.#cancelWake();
    if (reaction.wakeAt !== null) {
      this.#cancelWake = this.clock.wakeAt(reaction.wakeAt, () => this.#apply(this.#session.wake(this.clock.now())));
    }
    for (const signal of reaction.signals) this.#onSignal(signal);
  }

  #onSignal(signal: SessionSignal): void {
    switch (signal.kind) {
      case 'opened':
        this.#isOpen = true;
        this.#opened.resolve({ suite: signal.suite, privilege: signal.privilege });
        return;
      case 'answered':
        this.#settle(signal.id)?.resolve(signal.reply);
        return;
      case 'failed':
        this.#settle(signal.id)?.reject(this.#withAddress(signal.error));
        return;
      case 'console':
        this.#onConsole(signal.payload);
        return;
      case 'ended': {
        this.#link?.close();
        const error = signal.error && this.#withAddress(signal.error);
        if (!this.#isOpen)
          this.#opened.reject(
            error ?? new IpmiError('closed', this.#message('the session was closed before it was open')),
          );
        this.#ended.resolve(error);
      }
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #message(words: string): string {
    return `BMC ${this.#target.address}: ${words}`;
  }

  #withAddress(error: IpmiError): IpmiError {
    const network = error.retryable && this.#networkError !== '' ? ` (network error: ${this.#networkError})` : '';
    return new IpmiError(error.reason, `${this.#message(error.message)}${network}`, {
      retryable: error.retryable,
      ...(error.completionCode === null ? {} : { completionCode: error.completionCode }),
    });
  }
}

/** Opens a session, runs the work, and closes the session in every case. */
export async function withIpmiSession<Result>(
  target: IpmiTarget,
  deps: IpmiDeps,
  work: (connection: IpmiConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await IpmiConnection.open(target, deps);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
