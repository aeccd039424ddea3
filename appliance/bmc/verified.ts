// Verified booting: set the boot device, read it back, power on, and wait until the machine shows up. When the BMC accepts and
// the firmware ignores the setting, the next method is tried; the method that worked is recorded for the BMC's kind.

import { type Instant, SECOND } from '../domain/instant.ts';
import type { Bmc, PowerState } from './bmc.ts';
import { BmcError, type BmcFailure } from './bmc-error.ts';
import { type BootMethod, type BootTarget, bootLadder, choiceOf, type DriverName, methodText } from './boot-methods.ts';
import { BOOT_WAIT, type BootWait, usualWait, waitShare } from './boot-wait.ts';
import type { BmcClock } from './clock.ts';
import type { BmcKind, QuirkLedger } from './quirk-ledger.ts';

/** The verbs that a boot needs. */
export type BootingBmc = Pick<Bmc, 'identity' | 'powerState' | 'powerOn' | 'powerOff' | 'setBoot'>;

export interface NamedBmc {
  readonly driver: DriverName;
  readonly bmc: BootingBmc;
}

export interface BootExpectation {
  /** Resolves with the time at which the machine showed up, at or after `since`; rejects once `signal` is aborted. */
  readonly seen: (since: Instant, signal: AbortSignal) => Promise<Instant>;
  /** The durations of earlier boots of this machine, in milliseconds. */
  readonly earlier: readonly number[];
  /** Deadline of the whole operation; null: none. */
  readonly deadline: Instant | null;
  /**
   * Cancels the boot with the signal's reason before the next request to the BMC; afterwards the machine is not changed, except
   * that a persistent override is removed.
   */
  readonly signal?: AbortSignal;
}

export interface BootReport {
  readonly kind: 'lasting' | 'asked' | 'obeyed' | 'ignored' | 'refused' | 'undone' | 'not-undone' | 'no-time';
  readonly method: string;
  /** One sentence. */
  readonly words: string;
  /** What the BMC reports after it accepted the setting. */
  readonly read_back?: { readonly device: string; readonly differences: readonly string[] };
}

export interface VerifiedDeps {
  readonly clock: BmcClock;
  readonly ledger: QuirkLedger;
  /** Awaited before a persistent override (`lasting`), so that it is on record if the process crashes. */
  readonly report: (report: BootReport) => void | Promise<void>;
  readonly bootWait?: BootWait;
  /** Awaited while the machine is off, before it is switched on. */
  readonly beforeStart?: (bmc: BootingBmc, signal: AbortSignal | undefined) => Promise<void>;
}

export interface BootOutcome {
  readonly method: string;
  /** From power on to the machine showing up, in milliseconds. */
  readonly took: number;
}

export interface VerifiedBmc {
  /**
   * Restarts the machine from the target device, and verifies it. Rejects with `contradiction` when no method worked, and lists
   * all attempts.
   */
  bootFrom(target: BootTarget, expectation: BootExpectation): Promise<BootOutcome>;
}

/** The first driver is preferred; the others are fallbacks. */
export const verified = (bmcs: readonly NamedBmc[], deps: VerifiedDeps): VerifiedBmc => ({
  bootFrom: (target, expectation) => new VerifiedBoot(bmcs, target, expectation, deps).run(),
});

/** After these failures, another method of the same driver cannot help. */
const DRIVER_FAILED: ReadonlySet<BmcFailure> = new Set([
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
  readonly #target: BootTarget;
  readonly #expectation: BootExpectation;
  readonly #deps: VerifiedDeps;
  readonly #attempts: Attempt[] = [];
  readonly #failedDrivers = new Set<DriverName>();
  /** The BMC may hold the override, at least in part. */
  #maySet = false;
  /** The wait of the current attempt. */
  #wait = 0;

  constructor(bmcs: readonly NamedBmc[], target: BootTarget, expectation: BootExpectation, deps: VerifiedDeps) {
    this.#bmcs = bmcs;
    this.#target = target;
    this.#expectation = expectation;
    this.#deps = deps;
  }

  async run(): Promise<BootOutcome> {
    const kind = await this.#kind();
    const drivers = this.#bmcs.map(({ driver }) => driver);
    const ladder = bootLadder(drivers, this.#target, await this.#deps.ledger.best(kind));
    for (const [at, method] of ladder.entries()) {
      const bmc = this.#bmcOf(method.driver);
      if (!bmc) continue;
      const triesLeft = ladder.slice(at).filter(({ driver }) => !this.#failedDrivers.has(driver)).length;
      if (!this.#hasTimeFor(method, triesLeft)) continue;
      const took = await this.#attempt(bmc, method, kind);
      if (took !== null) return { method: method.name, took };
    }
    throw this.#failure();
  }

  #hasTimeFor(method: BootMethod, triesLeft: number): boolean {
    const { earlier, deadline } = this.#expectation;
    const { clock, bootWait = BOOT_WAIT } = this.#deps;
    const first = this.#attempts.length === 0;
    const wait = waitShare(usualWait(earlier, bootWait), { deadline, now: clock.now(), triesLeft, first });
    if (wait !== null) {
      this.#wait = wait;
      return true;
    }
    const words = 'not tried: too little time is left before the deadline';
    this.#attempts.push({ method, words, error: null });
    this.#report('no-time', method, `${words} (${methodText(method)})`);
    return false;
  }

  /** From the first driver that replies, so that a kind has one name. */
  async #kind(): Promise<BmcKind> {
    for (const { driver, bmc } of this.#bmcs) {
      try {
        return await bmc.identity();
      } catch (error) {
        if (!(error instanceof BmcError) || !DRIVER_FAILED.has(error.failure)) throw error;
        this.#failedDrivers.add(driver);
        if (this.#failedDrivers.size === this.#bmcs.length) throw error;
      }
    }
    throw new BmcError('unsupported', 'no BMC driver is configured to boot the machine');
  }

  #bmcOf(driver: DriverName): BootingBmc | null {
    return this.#failedDrivers.has(driver) ? null : (this.#bmcs.find((named) => named.driver === driver)?.bmc ?? null);
  }

  /** Milliseconds until the machine showed up; null: this method did not work. */
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
      // An ignored override may take effect at a later boot. The override of a cancelled wait stays, unless it is persistent.
      if (method.persistent || failed) await this.#undo(bmc, method);
    }
  }

  /** Returns the time from which on the machine may show up. */
  async #start(bmc: BootingBmc, method: BootMethod): Promise<Instant> {
    const choice = choiceOf(method, this.#target);
    this.#maySet = false;
    this.#mustBeWanted();
    if (method.persistent) {
      const words = `the machine will boot from ${this.#target.device} at every boot until the override is removed`;
      await this.#deps.report({ kind: 'lasting', method: method.name, words });
    }
    const { device, differences } = await bmc.setBoot(choice);
    this.#maySet = true;
    const lost = differences.length === 0 ? '' : `, but reads back a difference: ${differences.join('; ')}`;
    this.#report('asked', method, `the BMC accepted ${this.#target.device} boot (${methodText(method)})${lost}`, {
      ...{ device, differences },
    });
    this.#mustBeWanted();
    await bmc.powerOff();
    this.#mustBeWanted();
    // Some BMCs lose the override at power-off. After a failed attempt, set it again while the machine is off.
    if (this.#attempts.length > 0) await bmc.setBoot(choice);
    await this.#deps.beforeStart?.(bmc, this.#expectation.signal);
    this.#mustBeWanted();
    const since = this.#deps.clock.now();
    await bmc.powerOn();
    return since;
  }

  /** A BMC may take minutes for each request, also one that it does not obey: the machine may have left its state meanwhile. */
  #mustBeWanted(): void {
    this.#expectation.signal?.throwIfAborted();
  }

  async #waitUntilSeen(since: Instant): Promise<number | null> {
    const { clock } = this.#deps;
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
    await this.#deps.ledger.worked(kind, method.name, took);
    const words = `the machine boots from ${this.#target.device}: it showed up after ${seconds(took)} (${methodText(method)})`;
    this.#report('obeyed', method, words);
  }

  async #ignored(bmc: BootingBmc, method: BootMethod, kind: BmcKind): Promise<void> {
    const power = await powerNow(bmc);
    // A machine that is off has not ignored the override.
    if (power !== 'off') await this.#deps.ledger.ignored(kind, method.name);
    const words =
      power === 'off'
        ? 'the machine was powered on and is off again'
        : `the BMC accepted the setting and the firmware ignored it: the machine did not show up within ${seconds(this.#wait)}`;
    this.#attempts.push({ method, words, error: null });
    this.#report('ignored', method, `${words} (${methodText(method)})`);
  }

  #refused(method: BootMethod, error: BmcError): void {
    if (DRIVER_FAILED.has(error.failure)) this.#failedDrivers.add(method.driver);
    this.#maySet ||= ['vanished', 'contradiction', 'malformed'].includes(error.failure);
    this.#attempts.push({ method, words: error.message, error });
    const readBack = error.readBack === null ? undefined : { device: error.readBack, differences: [] };
    this.#report('refused', method, `${error.message} (${methodText(method)})`, readBack);
  }

  async #undo(bmc: BootingBmc, method: BootMethod): Promise<void> {
    if (!this.#maySet) return;
    try {
      await bmc.setBoot({ device: 'none', persistent: false, firmware: null });
      this.#report('undone', method, 'the boot override was removed');
    } catch (error) {
      if (!(error instanceof BmcError)) throw error;
      const when = method.persistent ? 'at every boot' : 'at its next boot';
      const words = `the machine may boot from ${this.#target.device} ${when}, because the boot override could not be removed`;
      this.#report('not-undone', method, `${words}: ${error.message}`);
    }
  }

  #failure(): BmcError {
    const last = this.#attempts.at(-1)?.error;
    if (last && this.#attempts.every(({ error }) => error !== null && DRIVER_FAILED.has(error.failure))) return last;
    if (this.#attempts.length === 0) {
      return new BmcError('unsupported', `none of the BMC's protocols supports ${this.#target.device} boot`);
    }
    const tried = this.#attempts.map(({ method, words }) => `${methodText(method)}: ${words}`).join('; ');
    return new BmcError(
      'contradiction',
      `the machine does not boot from ${this.#target.device}. Tried: ${tried}. ${LOOK_AT}`,
    );
  }

  #report(kind: BootReport['kind'], method: BootMethod, words: string, readBack?: BootReport['read_back']): void {
    void this.#deps.report({ kind, method: method.name, words, ...(readBack && { read_back: readBack }) });
  }
}

const LOOK_AT =
  'Check its console and event log for a POST error, the boot order and the network boot setting of the card in its ' +
  'firmware, and the cable, the port and the VLAN of that card';

const seconds = (duration: number): string => `${Math.round(duration / SECOND)} s`;

/** For the report only: a failed query counts as unknown. */
async function powerNow(bmc: BootingBmc): Promise<PowerState> {
  try {
    return await bmc.powerState();
  } catch (error) {
    if (error instanceof BmcError) return 'unknown';
    throw error;
  }
}
