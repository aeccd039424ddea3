// Notices a second machine that uses the identity of a node. Two kinds of facts reveal it: a system that its machine has ended goes
// on reporting, or reports come while the BMC reads the machine as off. Everything is in memory; after a start it begins anew.

import { levelOf } from '../domain/hardware-identity.ts';
import { DAY, HOUR, type Instant, instantText, MINUTE, SECOND } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import {
  CHECK_THE_BMC,
  IN_FLIGHT,
  type PowerEvidence,
  type PowerFact,
  type PowerReading,
  weigh,
} from '../domain/power-evidence.ts';
import type { SetTimer } from './notifier.ts';

export interface TwinWatchDeps {
  readonly now: () => Instant;
  readonly setTimer: SetTimer;
  readonly heartbeatEvery: Instant;
  readonly silentAfter: Instant;
  readonly machines: () => Iterable<Machine>;
  readonly power: ReadsPower;
  readonly onTwin: (machine: Machine, reason: string, correlationId: string | null) => Promise<void>;
  readonly log: { warn(fields: object, message: string): void };
}

/** The BMCs of machines, of which nothing reaches an attacker on the provisioning network. */
export interface ReadsPower {
  observe(witness: PowerObserver): void;
  /** The machine has a BMC that may be used. */
  mayRead(machine: Machine): boolean;
  /** The observer is told what it reads. */
  read(machine: Machine): Promise<void>;
  /** Its BMC was seen to switch on this machine and no other one. */
  hasObeyed(machine: Machine): Promise<boolean>;
}

/** Told by the BMCs; each verb is explained there. */
export interface PowerObserver {
  expects(machine: Machine): boolean;
  cut(machine: Machine): void;
  reading(machine: Machine, power: PowerReading): Promise<void>;
  heldOff(machine: Machine, most: Instant, signal?: AbortSignal): Promise<void>;
  started(machine: Machine): void;
}

/** The power states of online nodes are read this often, in the background. */
const READ_EVERY = 20 * MINUTE;
/** Those that were read as off while their nodes report. */
const READ_AGAIN_AFTER = MINUTE;
/** At most this many with each check: a thousand nodes in 20 minutes. */
const READ_AT_ONCE = 4;
export const CHECK_EVERY = 5 * SECOND;
/** Boot ids of a node that have ended. */
const MOST_BOOTS = 8;
/** For how long a long pause between two reports is remembered. */
const GAP_MEMORY = HOUR;

interface Watched {
  /** The last request of its node. */
  heardAt: Instant | null;
  /** The longest pause between two reports lately, and when it ended. */
  gap: Instant;
  gapAt: Instant;
  bootId: string | null;
  /** Boot ids that have ended, and from when on they must not be reported. */
  readonly ended: Map<string, EndedBoot>;
  evidence: PowerEvidence | null;
  readonly woken: Set<() => void>;
  isReading: boolean;
  readAt: Instant | null;
  failures: number;
  readNotBefore: Instant;
}

interface EndedBoot {
  readonly from: Instant;
  readonly because: string;
}

export class TwinWatch implements PowerObserver {
  readonly #deps: TwinWatchDeps;
  readonly #watched = new Map<MachineId, Watched>();
  readonly #stopping = new AbortController();

  constructor(deps: TwinWatchDeps) {
    this.#deps = deps;
    deps.power.observe(this);
  }

  /** What an earlier process heard. */
  remember(machine: MachineId, at: Instant, bootId: string | null): void {
    Object.assign(this.#of(machine), { heardAt: at, bootId });
  }

  /** A request with the node's certificate. */
  heard(machine: Machine): void {
    const at = this.#deps.now();
    const watched = this.#of(machine.id);
    const pause = watched.heardAt === null ? 0 : at - watched.heardAt;
    if (pause < this.#deps.silentAfter && (pause >= watched.gap || at - watched.gapAt > GAP_MEMORY)) {
      Object.assign(watched, { gap: pause, gapAt: at });
    }
    watched.heardAt = at;
    this.heardSession(machine);
  }

  /** A request with the key of the machine's session. */
  heardSession(machine: Machine): void {
    const at = this.#deps.now();
    const watched = this.#of(machine.id);
    if (watched.evidence === null) return;
    this.#weigh(machine, { kind: 'heard', at });
    if (watched.evidence.heardAt === null) return;
    // Whoever holds the machine off reads its power state next.
    if (watched.woken.size > 0) for (const wake of [...watched.woken]) wake();
    else if (at >= watched.readNotBefore) void this.#read(machine, watched);
  }

  /** A heartbeat. The boot id is of the kernel: new at each boot. */
  async reported(machine: Machine, bootId: string | null, correlationId: string): Promise<void> {
    const watched = this.#of(machine.id);
    if (bootId === null || machine.lifecycle.state === 'quarantined') return;
    const at = this.#deps.now();
    const ended = watched.ended.get(bootId);
    if (ended === undefined) {
      if (watched.bootId !== bootId) end(watched, at + IN_FLIGHT, ANOTHER_REPORTS);
      watched.bootId = bootId;
    } else if (at >= ended.from) {
      await this.#deps.onTwin(machine, ended.because, correlationId);
      // Once: whoever clears the quarantine trusts the system that reports.
      watched.ended.delete(bootId);
      watched.bootId = bootId;
    }
  }

  /** The machine has requested its boot script: the system that reported before runs no more. */
  booted(machine: MachineId): void {
    end(this.#of(machine), this.#deps.now(), BOOTED);
  }

  expects(machine: Machine): boolean {
    const watched = this.#of(machine.id);
    return watched.heardAt !== null && this.#deps.now() - watched.heardAt < this.#patience(watched);
  }

  /** Within this time its node reports, if it runs. */
  #patience({ gap }: Watched): Instant {
    const { heartbeatEvery, silentAfter } = this.#deps;
    return Math.min(silentAfter, Math.max(gap, heartbeatEvery)) + IN_FLIGHT;
  }

  cut(machine: Machine): void {
    const at = this.#deps.now();
    const because =
      `the appliance switched its machine off at ${instantText(at)}, and the system that ran before that goes on reporting ` +
      `with its certificate. ${CHECK_THE_BMC}`;
    end(this.#of(machine.id), at + IN_FLIGHT, because);
    this.#weigh(machine, { kind: 'cut', at });
  }

  async reading(machine: Machine, power: PowerReading): Promise<void> {
    const at = this.#deps.now();
    const watched = this.#of(machine.id);
    watched.readAt = at;
    watched.failures = 0;
    const before = watched.evidence;
    const twin = this.#weigh(machine, { kind: 'reading', power, at });
    if (twin === null) return;
    // A wrong BMC address is more likely than an attacker while the BMC was never seen to do anything to this machine.
    if (!before?.cut && !(await this.#deps.power.hasObeyed(machine))) {
      this.#deps.log.warn({ node: machine.spec.hostname, observed: twin }, 'the BMC of a node contradicts its reports');
      watched.readNotBefore = at + DAY;
      return;
    }
    await this.#deps.onTwin(machine, twin, null);
  }

  async heldOff(machine: Machine, most: Instant, signal?: AbortSignal): Promise<void> {
    const { now, setTimer } = this.#deps;
    const watched = this.#of(machine.id);
    const { evidence, heardAt } = watched;
    // Nobody else gets the secrets of a machine that proves its identity with its TPM.
    if (!evidence?.cut || evidence.heardAt !== null || levelOf(machine.hardware.bound) === 'tpm') return;
    // Its node had stopped before.
    if (heardAt === null || evidence.offSince - heardAt > this.#patience(watched)) return;
    const left = evidence.offSince + Math.min(this.#patience(watched), most) - now();
    const signals = AbortSignal.any([this.#stopping.signal, ...(signal ? [signal] : [])]);
    if (left <= 0 || signals.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimer(left, resolve);
    watched.woken.add(resolve);
    signals.addEventListener('abort', () => resolve(), { once: true });
    try {
      await promise;
    } finally {
      timer.cancel();
      watched.woken.delete(resolve);
    }
  }

  started(machine: Machine): void {
    this.#weigh(machine, { kind: 'started' });
  }

  /** Reads the power states that are due, a few at a time. A machine with a TPM is left out: its identity is proved. */
  async check(): Promise<void> {
    const due: [Machine, Watched][] = [];
    for (const machine of this.#deps.machines()) {
      if (due.length >= READ_AT_ONCE) break;
      if (machine.health !== 'online' || levelOf(machine.hardware.bound) === 'tpm') continue;
      const watched = this.#of(machine.id);
      if (this.#isDue(watched) && this.#deps.power.mayRead(machine)) due.push([machine, watched]);
    }
    await Promise.all(due.map(([machine, watched]) => this.#read(machine, watched)));
  }

  /** Machines that are held off are started. */
  stop(): void {
    this.#stopping.abort();
  }

  #isDue({ readAt, evidence, readNotBefore, isReading, woken }: Watched): boolean {
    if (isReading || woken.size > 0) return false;
    const every = evidence === null ? READ_EVERY : READ_AGAIN_AFTER;
    return this.#deps.now() >= Math.max(readNotBefore, readAt === null ? 0 : readAt + every);
  }

  async #read(machine: Machine, watched: Watched): Promise<void> {
    if (watched.isReading || this.#stopping.signal.aborted) return;
    watched.isReading = true;
    try {
      await this.#deps.power.read(machine);
    } catch (error) {
      // A BMC that rejects our password locks the user after a few attempts.
      watched.failures += 1;
      watched.readNotBefore = this.#deps.now() + Math.min(DAY, READ_EVERY * 2 ** watched.failures);
      this.#deps.log.warn({ node: machine.spec.hostname, err: error }, 'the power state of a node could not be read');
    } finally {
      watched.isReading = false;
    }
  }

  #weigh(machine: Machine, fact: PowerFact): string | null {
    const watched = this.#of(machine.id);
    const { evidence, twin } = weigh(watched.evidence, fact);
    watched.evidence = evidence;
    return twin;
  }

  #of(machine: MachineId): Watched {
    const before = this.#watched.get(machine);
    if (before) return before;
    const watched: Watched = {
      ...{ heardAt: null, gap: 0, gapAt: 0, bootId: null, evidence: null },
      ...{ isReading: false, readAt: null, failures: 0, readNotBefore: 0 },
      ended: new Map(),
      woken: new Set(),
    };
    this.#watched.set(machine, watched);
    return watched;
  }
}

const BOOTED =
  'its machine booted from the network, and the system that ran before that goes on reporting with its certificate';
const ANOTHER_REPORTS =
  'two systems report with its certificate by turns: one that ran before goes on reporting after another one has started';

function end({ ended, bootId }: Watched, from: Instant, because: string): void {
  if (bootId === null || ended.has(bootId)) return;
  ended.set(bootId, { from, because });
  const [oldest] = ended.keys();
  if (ended.size > MOST_BOOTS && oldest !== undefined) ended.delete(oldest);
}
