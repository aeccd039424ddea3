// A session on a real socket, with promises. Thousands of these live in one event loop: each is a socket and a timer.

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
  /** 623 unless told otherwise. */
  readonly port?: number;
}

/** Which cipher suite each BMC took last: a login that knows it needs no negotiation. */
export interface SuiteMemory {
  suite(address: string): number | null;
  rememberSuite(address: string, suite: number): void;
}

export interface IpmiTools {
  readonly clock: BmcClock;
  readonly timings: SessionTimings;
  readonly random: (bytes: number) => Uint8Array;
  readonly openLink: OpenLink;
  readonly memory?: SuiteMemory;
}

export const IPMI_TOOLS: IpmiTools = {
  clock: bmcSystemClock,
  timings: DEFAULT_TIMINGS,
  random: pooledRandom(),
  openLink: openUdpLink,
};

/** Who can be asked; the verbs need no more than this. */
export interface IpmiCaller {
  readonly clock: BmcClock;
  /** Repeats what the BMC was too busy for; any other refusal is an IpmiError with its completion code in words. */
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
  #trouble = '';
  #nextId = 0;
  #cancelWake: () => void = () => undefined;
  #onConsole: (payload: Uint8Array) => void = () => undefined;

  private constructor(target: IpmiTarget, tools: IpmiTools, session: IpmiSession) {
    this.#target = target;
    this.clock = tools.clock;
    this.#session = session;
    // Nobody may be waiting for either when it happens.
    this.#opened.promise.catch(() => undefined);
  }

  static async open(target: IpmiTarget, tools: IpmiTools): Promise<IpmiConnection> {
    const login = parseLogin(target);
    if (!login.ok) throw new IpmiError('malformed', login.reason);
    const rememberedSuite = tools.memory?.suite(target.address) ?? null;
    const session = new IpmiSession({ login: login.value, ...tools, rememberedSuite }, tools.clock.now());
    const connection = new IpmiConnection(target, tools, session);
    const packet = (bytes: Uint8Array): void => connection.#act(session.receive(bytes, tools.clock.now()));
    const trouble = (error: Error): void => {
      connection.#trouble = error.message;
    };
    try {
      connection.#link = await tools.openLink(target.address, target.port ?? IPMI_PORT, { packet, trouble });
    } catch (error) {
      throw new IpmiError(
        'unreachable',
        connection.#says(`no way to it: ${error instanceof Error ? error.message : error}`),
      );
    }
    connection.#act(session.start());
    const { suite } = await connection.#opened.promise;
    if (suite !== rememberedSuite) tools.memory?.rememberSuite(target.address, suite);
    return connection;
  }

  /** Which cipher suite and privilege it came to. */
  get terms(): Promise<{ readonly suite: CipherSuite['id']; readonly privilege: Privilege }> {
    return this.#opened.promise;
  }

  /** Settles when the session is over, with the reason unless it was closed as asked. */
  get ended(): Promise<IpmiError | null> {
    return this.#ended.promise;
  }

  async call<Reply>(command: IpmiCommand<Reply>): Promise<Reply> {
    for (let tried = 1; ; tried++) {
      const reply = await this.#exchange(command);
      const code = reply.completionCode;
      if (code === COMPLETED) return this.#decode(command, reply);
      if (!isPassing(code) || !command.repeatable || tried === BUSY_TRIES) {
        const message = this.#says(`${command.name}: ${completionWords(code, command.codes)}`);
        throw new IpmiError('refused', message, { completionCode: code, retryable: isPassing(code) });
      }
      await pause(this.clock, FIRST_BUSY_PAUSE * 2 ** (tried - 1));
    }
  }

  onConsole(listener: (payload: Uint8Array) => void): void {
    this.#onConsole = listener;
  }

  sendConsole(payload: Uint8Array): void {
    this.#act(this.#session.sendConsole(payload));
  }

  /** Never rejects: a session that cannot be closed any more is closed. */
  async close(): Promise<void> {
    this.#act(this.#session.close(this.clock.now()));
    await this.#ended.promise;
  }

  #exchange(command: IpmiCommand<unknown>): Promise<IpmiReply> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<IpmiReply>();
    this.#waiting.set(id, { resolve, reject });
    this.#act(this.#session.request(id, command, this.clock.now()));
    return promise;
  }

  #decode<Reply>(command: IpmiCommand<Reply>, reply: IpmiReply): Reply {
    try {
      return command.decode(reply.data);
    } catch (error) {
      if (!(error instanceof IpmiDecodeError)) throw error;
      throw new IpmiError('malformed', this.#says(`${command.name}: ${error.message}`));
    }
  }

  #act(reaction: Reaction): void {
    for (const bytes of reaction.send) this.#link?.send(bytes);
    this.#cancelWake();
    if (reaction.wakeAt !== null) {
      this.#cancelWake = this.clock.wakeAt(reaction.wakeAt, () => this.#act(this.#session.wake(this.clock.now())));
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
        this.#settle(signal.id)?.reject(this.#named(signal.error));
        return;
      case 'console':
        this.#onConsole(signal.payload);
        return;
      case 'ended': {
        this.#link?.close();
        const error = signal.error && this.#named(signal.error);
        if (!this.#isOpen)
          this.#opened.reject(error ?? new IpmiError('closed', this.#says('closed before it was open')));
        this.#ended.resolve(error);
      }
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #says(words: string): string {
    return `BMC ${this.#target.address}: ${words}`;
  }

  #named(error: IpmiError): IpmiError {
    const network = error.retryable && this.#trouble !== '' ? ` (the network says: ${this.#trouble})` : '';
    return new IpmiError(error.reason, `${this.#says(error.message)}${network}`, {
      retryable: error.retryable,
      ...(error.completionCode === null ? {} : { completionCode: error.completionCode }),
    });
  }
}

/** Opens, works and closes; the session is closed however the work ends. */
export async function withIpmiSession<Result>(
  target: IpmiTarget,
  tools: IpmiTools,
  work: (connection: IpmiConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await IpmiConnection.open(target, tools);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
