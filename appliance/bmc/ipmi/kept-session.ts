// One session for a series of verbs: opened by the first, kept for a while after the last, always closed. Verbs wait for
// each other: BMCs are fragile and have few slots.

import type { IpmiCommand } from '../../codecs/ipmi/commands/command.ts';
import type { Instant } from '../../domain/instant.ts';
import type { BmcClock } from '../clock.ts';
import { type IpmiCaller, IpmiConnection, type IpmiTarget, type IpmiTools } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';

export class KeptSession {
  readonly #target: IpmiTarget;
  readonly #tools: IpmiTools;
  readonly #keepFor: number;
  #last: Promise<unknown> = Promise.resolve();
  #kept: IpmiConnection | null = null;
  #cancelClose: () => void = () => undefined;
  #closed = false;

  constructor(target: IpmiTarget, tools: IpmiTools, keepFor: number) {
    this.#target = target;
    this.#tools = tools;
    this.#keepFor = keepFor;
  }

  ask<Result>(work: (bmc: IpmiCaller) => Promise<Result>): Promise<Result> {
    if (this.#closed) {
      return Promise.reject(new IpmiError('closed', `BMC ${this.#target.address}: the driver was closed`));
    }
    return this.#inTurn(async () => {
      this.#cancelClose();
      try {
        return await this.#work(work);
      } finally {
        if (this.#keepFor === 0) await this.#drop();
        else this.#dropLater();
      }
    });
  }

  /** After what was asked before. Never rejects. */
  close(): Promise<void> {
    this.#closed = true;
    return this.#inTurn(() => this.#drop());
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #work<Result>(work: (bmc: IpmiCaller) => Promise<Result>): Promise<Result> {
    if (this.#kept) {
      const caller = this.#caller(this.#kept);
      try {
        return await work(caller);
      } catch (error) {
        // A BMC that restarted since has forgotten the session. As long as it has answered nothing, nothing was done.
        if (caller.answered > 0 || !(error instanceof IpmiError && error.failure === 'vanished')) throw error;
      }
    }
    return work(this.#caller(await this.#open()));
  }

  #caller(connection: IpmiConnection): VerbCaller {
    const { clock, timings } = this.#tools;
    return new VerbCaller(connection, clock.now() + timings.verb);
  }

  async #open(): Promise<IpmiConnection> {
    const connection = await IpmiConnection.open(this.#target, this.#tools);
    this.#kept = connection;
    void connection.ended.then(() => {
      if (this.#kept === connection) this.#kept = null;
    });
    return connection;
  }

  async #drop(): Promise<void> {
    this.#cancelClose();
    const connection = this.#kept;
    this.#kept = null;
    await connection?.close();
  }

  #dropLater(): void {
    const { clock } = this.#tools;
    this.#cancelClose = clock.wakeAt(clock.now() + this.#keepFor, () => void this.#inTurn(() => this.#drop()));
  }
}

/** Tells whether a session that was kept still lives, and ends a verb that does not end by itself. */
class VerbCaller implements IpmiCaller {
  readonly clock: BmcClock;
  readonly #connection: IpmiConnection;
  readonly #deadline: Instant;
  answered = 0;

  constructor(connection: IpmiConnection, deadline: Instant) {
    this.clock = connection.clock;
    this.#connection = connection;
    this.#deadline = deadline;
  }

  async call<Reply>(command: IpmiCommand<Reply>): Promise<Reply> {
    if (this.clock.now() >= this.#deadline) {
      const words = `${command.name}: given up after ${this.answered} answers; the BMC is too slow, or its list has no end`;
      throw new IpmiError('malformed', words);
    }
    try {
      const reply = await this.#connection.call(command);
      this.answered += 1;
      return reply;
    } catch (error) {
      if (!(error instanceof IpmiError && error.failure === 'vanished')) this.answered += 1;
      throw error;
    }
  }
}
