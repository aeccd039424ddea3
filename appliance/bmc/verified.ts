// Booting that is seen to happen: set, read back, start, and wait for the machine to show up. Where the BMC accepts and the
// firmware ignores, the next way is tried; what worked is remembered for its kind.

import { type Instant, SECOND } from '../domain/instant.ts';
import type { Bmc, PowerState } from './bmc.ts';
import { BmcError, type BmcFailure } from './bmc-error.ts';
import { type BootMethod, type BootWish, bootLadder, choiceOf, type DriverName, methodWords } from './boot-methods.ts';
import type { BmcClock } from './clock.ts';
import { PATIENCE, type Patience, shareOf, waitFor } from './patience.ts';
import type { BmcKind, QuirkLedger } from './quirk-ledger.ts';

/** The verbs that a boot is made of. */
export type BootingBmc = Pick<Bmc, 'identity' | 'powerState' | 'powerOn' | 'powerOff' | 'setBoot'>;

export interface NamedBmc {
  readonly driver: DriverName;
  readonly bmc: BootingBmc;
}

export interface BootExpectation {
  /** Resolves with the moment the machine showed up at or after `since`; rejects once `signal` is aborted. */
  readonly seen: (since: Instant, signal: AbortSignal) => Promise<Instant>;
  /** How long earlier starts of this machine took, in milliseconds. */
  readonly earlier: readonly number[];
  /** When all of it has to be over; null: whenever. */
  readonly deadline: Instant | null;
  /** Gives up waiting, with the signal's reason; the machine is left as it is, save for a choice that would last. */
  readonly signal?: AbortSignal;
}

export interface BootReport {
  readonly kind: 'lasting' | 'asked' | 'obeyed' | 'ignored' | 'refused' | 'undone' | 'not-undone' | 'no-time';
  readonly method: string;
  /** One sentence. */
  readonly words: string;
}

export interface VerifiedTools {
  readonly clock: BmcClock;
  readonly ledger: QuirkLedger;
  /** Before a choice that lasts (`lasting`), it is waited for: whoever finds a machine after a crash has to know. */
  readonly report: (report: BootReport) => void | Promise<void>;
  readonly patience?: Patience;
}

export interface BootOutcome {
  readonly method: string;
  /** From power on to the machine showing up, in milliseconds. */
  readonly took: number;
}

export interface VerifiedBmc {
  /**
   * The machine starts anew, and from what was wished: it was seen. Rejects with `contradiction` when nothing worked, naming
   * everything that was tried.
   */
  bootFrom(wish: BootWish, expectation: BootExpectation): Promise<BootOutcome>;
}

/** The BMC is asked through the first; the others are for when that does not help. */
export const verified = (bmcs: readonly NamedBmc[], tools: VerifiedTools): VerifiedBmc => ({
  bootFrom: (wish, expectation) => new VerifiedBoot(bmcs, wish, expectation, tools).run(),
});

/** With these there is no use in asking the same driver another way. */
const DRIVER_IS_OUT: ReadonlySet<BmcFailure> = new Set([
  'unreachable',
  'vanished',
  'authentication',
  'privilege',
  'busy',
  'untrusted',
  'locked-out',
  'closed',
]);

interface Attempt {
  readonly method: BootMethod;
  readonly words: string;
  readonly error: BmcError | null;
}

class VerifiedBoot {
  readonly #bmcs: readonly NamedBmc[];
  readonly #wish: BootWish;
  readonly #expectation: BootExpectation;
  readonly #tools: VerifiedTools;
  readonly #attempts: Attempt[] = [];
  readonly #out = new Set<DriverName>();
  /** The BMC holds the choice, or something of it. */
  #maybeSet = false;
  /** Of the attempt that is being made. */
  #wait = 0;

  constructor(bmcs: readonly NamedBmc[], wish: BootWish, expectation: BootExpectation, tools: VerifiedTools) {
    this.#bmcs = bmcs;
    this.#wish = wish;
    this.#expectation = expectation;
    this.#tools = tools;
  }

  async run(): Promise<BootOutcome> {
    const kind = await this.#kind();
    const drivers = this.#bmcs.map(({ driver }) => driver);
    const ladder = bootLadder(drivers, this.#wish, await this.#tools.ledger.best(kind));
    for (const [at, method] of ladder.entries()) {
      const bmc = this.#bmcOf(method.driver);
      if (!bmc) continue;
      const triesLeft = ladder.slice(at).filter(({ driver }) => !this.#out.has(driver)).length;
      if (!this.#hasTimeFor(method, triesLeft)) continue;
      const took = await this.#attempt(bmc, method, kind);
      if (took !== null) return { method: method.name, took };
    }
    throw this.#failure();
  }

  #hasTimeFor(method: BootMethod, triesLeft: number): boolean {
    const { earlier, deadline } = this.#expectation;
    const { clock, patience = PATIENCE } = this.#tools;
    const first = this.#attempts.length === 0;
    const wait = shareOf(waitFor(earlier, patience), { deadline, now: clock.now(), triesLeft, first });
    if (wait !== null) {
      this.#wait = wait;
      return true;
    }
    const words = 'not tried: its time is nearly up';
    this.#attempts.push({ method, words, error: null });
    this.#report('no-time', method, `${words} (${methodWords(method)})`);
    return false;
  }

  /** Asked through the first driver that answers, so that a kind has one name. */
  async #kind(): Promise<BmcKind> {
    for (const { driver, bmc } of this.#bmcs) {
      try {
        return await bmc.identity();
      } catch (error) {
        if (!(error instanceof BmcError) || !DRIVER_IS_OUT.has(error.failure)) throw error;
        this.#out.add(driver);
        if (this.#out.size === this.#bmcs.length) throw error;
      }
    }
    throw new BmcError('unsupported', 'no driver was given to boot the machine with');
  }

  #bmcOf(driver: DriverName): BootingBmc | null {
    return this.#out.has(driver) ? null : (this.#bmcs.find((named) => named.driver === driver)?.bmc ?? null);
  }

  /** How long it took to be seen; null: this method did not do it. */
  async #attempt(bmc: BootingBmc, method: BootMethod, kind: BmcKind): Promise<number | null> {
    let failed = false;
    try {
      const since = await this.#start(bmc, method);
      const took = await this.#waitUntilSeen(since);
      failed = took === null;
      if (took === null) await this.#ignored(bmc, method, kind);
      else await this.#obeyed(method, kind, took);
      return took;
    } catch (error) {
      if (!(error instanceof BmcError)) throw error;
      failed = true;
      this.#refused(method, error);
      return null;
    } finally {
      // A choice that was ignored now may be obeyed at a start that nobody expects it from. One that is still waited for stays.
      if (method.persistent || failed) await this.#undo(bmc, method);
    }
  }

  /** Returns the moment from which on it may be seen. */
  async #start(bmc: BootingBmc, method: BootMethod): Promise<Instant> {
    const choice = choiceOf(method, this.#wish);
    this.#maybeSet = false;
    if (method.persistent) {
      const words = `the machine is now to boot from ${this.#wish.device} at every start, until that is taken back`;
      await this.#tools.report({ kind: 'lasting', method: method.name, words });
    }
    const { differences } = await bmc.setBoot(choice);
    this.#maybeSet = true;
    const lost = differences.length === 0 ? '' : `, and shows it otherwise: ${differences.join('; ')}`;
    this.#report('asked', method, `the BMC accepted ${this.#wish.device} boot (${methodWords(method)})${lost}`);
    await bmc.powerOff();
    // Some forget the choice when the power goes. Once that may have happened, it is told again to a machine that is off.
    if (this.#attempts.length > 0) await bmc.setBoot(choice);
    const since = this.#tools.clock.now();
    await bmc.powerOn();
    return since;
  }

  async #waitUntilSeen(since: Instant): Promise<number | null> {
    const { clock } = this.#tools;
    const { seen, signal } = this.#expectation;
    const timeUp = new AbortController();
    const cancel = clock.wakeAt(clock.now() + this.#wait, () => timeUp.abort());
    try {
      return (await seen(since, signal ? AbortSignal.any([signal, timeUp.signal]) : timeUp.signal)) - since;
    } catch (error) {
      signal?.throwIfAborted();
      if (timeUp.signal.aborted) return null;
      throw error;
    } finally {
      cancel();
    }
  }

  async #obeyed(method: BootMethod, kind: BmcKind, took: number): Promise<void> {
    await this.#tools.ledger.worked(kind, method.name, took);
    const words = `the machine boots from ${this.#wish.device}: it was seen after ${seconds(took)} (${methodWords(method)})`;
    this.#report('obeyed', method, words);
  }

  async #ignored(bmc: BootingBmc, method: BootMethod, kind: BmcKind): Promise<void> {
    const power = await powerNow(bmc);
    // A machine that is off has not ignored anything.
    if (power !== 'off') await this.#tools.ledger.ignored(kind, method.name);
    const words =
      power === 'off'
        ? 'the machine was switched on, and is off again'
        : `the BMC accepted, the firmware ignored: not seen within ${seconds(this.#wait)}`;
    this.#attempts.push({ method, words, error: null });
    this.#report('ignored', method, `${words} (${methodWords(method)})`);
  }

  #refused(method: BootMethod, error: BmcError): void {
    if (DRIVER_IS_OUT.has(error.failure)) this.#out.add(method.driver);
    this.#maybeSet ||= ['vanished', 'contradiction', 'malformed'].includes(error.failure);
    this.#attempts.push({ method, words: error.message, error });
    this.#report('refused', method, `${error.message} (${methodWords(method)})`);
  }

  async #undo(bmc: BootingBmc, method: BootMethod): Promise<void> {
    if (!this.#maybeSet) return;
    try {
      await bmc.setBoot({ device: 'none', persistent: false, firmware: null });
      this.#report('undone', method, 'the boot choice was taken back');
    } catch (error) {
      if (!(error instanceof BmcError)) throw error;
      const when = method.persistent ? 'at every start' : 'at its next start';
      const words = `the machine may boot from ${this.#wish.device} ${when}, for its boot choice could not be taken back`;
      this.#report('not-undone', method, `${words}: ${error.message}`);
    }
  }

  #failure(): BmcError {
    const last = this.#attempts.at(-1)?.error;
    if (last && this.#attempts.every(({ error }) => error !== null && DRIVER_IS_OUT.has(error.failure))) return last;
    if (this.#attempts.length === 0) {
      return new BmcError('unsupported', `none of its protocols has a word for ${this.#wish.device} boot`);
    }
    const tried = this.#attempts.map(({ method, words }) => `${methodWords(method)}: ${words}`).join('; ');
    return new BmcError(
      'contradiction',
      `the machine does not boot from ${this.#wish.device}. Tried: ${tried}. ${LOOK_AT}`,
    );
  }

  #report(kind: BootReport['kind'], method: BootMethod, words: string): void {
    void this.#tools.report({ kind, method: method.name, words });
  }
}

const LOOK_AT =
  'Look at its console and event log for a POST error, at the boot order and the network boot setting of the card in its ' +
  'firmware, and at the cable, the port and the VLAN of that card';

const seconds = (duration: number): string => `${Math.round(duration / SECOND)} s`;

/** For the report only: whoever cannot be asked says nothing. */
async function powerNow(bmc: BootingBmc): Promise<PowerState> {
  try {
    return await bmc.powerState();
  } catch (error) {
    if (error instanceof BmcError) return 'unknown';
    throw error;
  }
}
