// Admission to every BMC: one request at a time per BMC, a pause after each change, a fleet-wide limit, and no request to a BMC
// that could lock our user. Gates outlive the drivers.

import { createHmac, randomBytes } from 'node:crypto';
import { type Instant, instantText, SECOND } from '../domain/instant.ts';
import type { Secret } from '../domain/secret.ts';
import { BmcError } from './bmc-error.ts';
import { type BmcClock, pause } from './clock.ts';
import { LOCK_OUT, LockOut, type LockOutRule } from './lock-out.ts';
import { Slots } from './slots.ts';

export interface GateSettings {
  /** Most concurrent verbs in the whole fleet. */
  readonly atOnce: number;
  /** Pause between the end of one change and the start of the next at the same BMC. */
  readonly restAfterChange: number;
  readonly lockOut: LockOutRule;
}

/** Slow BMCs lose commands that arrive back to back; one second does not matter to the fast ones. */
export const GATE_SETTINGS: GateSettings = { atOnce: 256, restAfterChange: SECOND, lockOut: LOCK_OUT };

/** A verb that runs at a BMC: others wait for its end. */
export interface BmcWork {
  readonly verb: string;
  readonly since: Instant;
}

export interface Visit {
  readonly verb: string;
  /** Identifies the credentials without revealing them: see `BmcGates.fingerprint`. */
  readonly credential: string;
  readonly changes: boolean;
}

export class BmcGates {
  readonly #clock: BmcClock;
  readonly #settings: GateSettings;
  readonly #fleet: Slots;
  readonly #gates = new Map<string, BmcGate>();
  readonly #fingerprintKey = randomBytes(32);

  constructor(clock: BmcClock, settings: GateSettings = GATE_SETTINGS) {
    this.#clock = clock;
    this.#settings = settings;
    this.#fleet = new Slots(settings.atOnce);
  }

  /** Null: no verb runs at this BMC. */
  running(address: string): BmcWork | null {
    return this.#gates.get(address)?.running ?? null;
  }

  gate(address: string): BmcGate {
    const gate = this.#gates.get(address) ?? new BmcGate(address, this.#clock, this.#settings, this.#fleet);
    this.#gates.set(address, gate);
    return gate;
  }

  /** Distinguishes credentials without storing them. */
  fingerprint(userName: string, password: Secret): string {
    return createHmac('sha256', this.#fingerprintKey)
      .update(userName)
      .update('\0')
      .update(password.reveal())
      .digest('hex');
  }
}

export class BmcGate {
  readonly #address: string;
  readonly #clock: BmcClock;
  readonly #rest: number;
  readonly #fleet: Slots;
  readonly #lockOut: LockOut;
  readonly #turn = new Slots(1);
  #changedAt: Instant = Number.NEGATIVE_INFINITY;
  #running: BmcWork | null = null;

  constructor(address: string, clock: BmcClock, settings: GateSettings, fleet: Slots) {
    this.#address = address;
    this.#clock = clock;
    this.#rest = settings.restAfterChange;
    this.#fleet = fleet;
    this.#lockOut = new LockOut(settings.lockOut);
  }

  get running(): BmcWork | null {
    return this.#running;
  }

  /** Queues the work. Rejects with `locked-out` instead of sending a request after too many wrong passwords. */
  pass<Result>(visit: Visit, work: () => Promise<Result>): Promise<Result> {
    return this.#turn.hold(async () => {
      this.#refuseLocked(visit.credential);
      const rest = visit.changes ? this.#changedAt + this.#rest - this.#clock.now() : 0;
      if (rest > 0) await pause(this.#clock, rest);
      try {
        return await this.#fleet.hold(() => {
          this.#running = { verb: visit.verb, since: this.#clock.now() };
          return this.#watched(visit.credential, work);
        });
      } finally {
        this.#running = null;
        if (visit.changes) this.#changedAt = this.#clock.now();
      }
    });
  }

  #refuseLocked(credential: string): void {
    const until = this.#lockOut.lockedUntil(credential, this.#clock.now());
    if (until === null) return;
    throw new BmcError(
      'locked-out',
      `BMC ${this.#address}: no request was sent, because the last logins failed and the BMC may lock the user; ` +
        `correct the password, or try again after ${instantText(until)}`,
    );
  }

  async #watched<Result>(credential: string, work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
      this.#lockOut.succeeded();
      return result;
    } catch (error) {
      if (error instanceof BmcError && error.failure === 'authentication') {
        this.#lockOut.failed(credential, this.#clock.now());
      }
      throw error;
    }
  }
}
