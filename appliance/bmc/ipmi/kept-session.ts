// One session for a series of verbs: the first verb opens it, and it is closed some time after the last. Verbs are queued: BMCs
// are fragile and have few session slots.

import type { IpmiCommand } from '../../codecs/ipmi/commands/command.ts';
import type { Instant } from '../../domain/instant.ts';
import type { BmcClock } from '../clock.ts';
import { type IpmiCaller, IpmiConnection, type IpmiDeps, type IpmiTarget } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';

export class KeptSession {
  readonly #target: IpmiTarget;
  readonly #deps: IpmiDeps;
  readonly #keepFor: number;
  #last: Promise<unknown> = Promise.resolve();
  #kept: IpmiConnection | null = null;
  #cancelClose: () => void = () => undefined;
  #closed = false;

  constructor(target: IpmiTarget, deps: IpmiDeps, keepFor: number) {
    this.#target = target;
    this.#deps = deps;
    this.#keepFor = keepFor;
  }

  run<Result>(work: (bmc: IpmiCaller) => Promise<Result>): Promise<Result> {
    if (this.#closed) {
      return Promise.reject(new IpmiError('closed', `BMC ${this.#target.address}: the driver is closed`));
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

  /** After the queued verbs. Never rejects. */
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
        // A restarted BMC has lost the session. As long as no command was answered, none was executed.
        if (caller.answered > 0 || !(error instanceof IpmiError && error.failure === 'vanished')) throw error;
      }
    }
    return work(this.#caller(await this.#open()));
  }

  #caller(connection: IpmiConnection): VerbCaller {
    const { clock, timings } = this.#deps;
    return new VerbCaller(connection, clock.now() + timings.verb);
  }

  async #open(): Promise<IpmiConnection> {
    const connection = await IpmiConnection.open(this.#target, this.#deps);
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
    const { clock } = this.#deps;
    this.#cancelClose = clock.wakeAt(clock.now() + this.#keepFor, () => void this.#inTurn(() => this.#drop()));
  }
}

/** Counts the replies, to detect a lost session, and enforces the deadline of a verb. */
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
      const words = `${command.name}: timed out after ${this.answered} replies; the BMC is too slow, or its list is endless`;
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
