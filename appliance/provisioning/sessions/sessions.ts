// A session from its ticket to its outcome. A positive reply is sent only after the commit; a refusal is sent with its reason,
// and recorded in the trail and the audit.

import type { Sku } from '../../domain/catalogue.ts';
import { ColdironError } from '../../domain/errors.ts';
import { canonicalJson, type Json } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionId, SessionSecret, SessionStep } from '../../domain/session.ts';
import { erasureChecked } from '../../machines/commands/erasure.ts';
import { refusalError } from '../../machines/execute.ts';
import type { Change } from '../../store/change.ts';
import type { Store } from '../../store/store.ts';
import { type CablingDeps, cableContradictions, cablingProblems, checkCables } from '../cabling.ts';
import { AWAIT_PUSH, isPushOrder, ONCE_FILES } from '../installers/nixos/order.ts';
import { erasedDisks, orderedSamples, sampledState } from '../orders/erasure-order.ts';
import type { WorkOrders } from '../orders/work-orders.ts';
import { requiredHardware, type SkuHardwareDeps, skuContradictions } from '../sku-hardware.ts';
import { contradictions } from './contradictions.ts';
import { neighbourProblem, sourceProblem } from './openers.ts';
import { type NextStep, nextStep, resolveOutcome } from './outcomes.ts';
import { progressAfter } from './progress.ts';
import {
  boundedLog,
  boundedMessage,
  type MachineFactsBody,
  type OutcomeBody,
  readFacts,
  readOutcome,
  readStep,
  type StepBody,
} from './reports.ts';
import { SEALED_TYPE, sealFile } from './sealed-file.ts';
import {
  factsReported,
  fileTaken,
  sessionConcluded,
  sessionOutlived,
  sessionRefused,
  stepReported,
} from './session-commands.ts';
import { sessionEligibility } from './session-eligibility.ts';
import { type SessionCall, SessionOpener, type SessionOpenerDeps } from './session-opener.ts';
import { hashOfSecret } from './session-secret.ts';
import { withFacts } from './shown-hardware.ts';

export interface SessionsDeps extends Omit<SessionOpenerDeps, 'refuse'> {
  readonly store: Pick<
    Store,
    'machine' | 'sessionByTicket' | 'sessionByKey' | 'sessionsOf' | 'mediumOf' | 'factsOf' | 'commit'
  >;
  readonly fleet: CablingDeps['fleet'] & SkuHardwareDeps['fleet'];
  readonly files: Pick<WorkOrders, 'file'>;
  /** An installer accepts the appliance's login, which now has to do the work. */
  readonly installerWaits?: (held: Held, address: Ipv4 | null) => void;
  readonly random: (size: number) => Buffer;
  /** Told of each request with the key of a machine's session. */
  readonly heard?: (machine: Machine) => void;
}

/** A file of the order, as it is sent. */
export interface SessionFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** A valid session, and its machine. */
export interface Held {
  readonly session: Session;
  readonly machine: Machine;
}

interface Known {
  readonly session: Session;
  readonly machine: Machine | null;
}

export class Sessions {
  readonly #deps: SessionsDeps;
  readonly #opener: SessionOpener;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.#opener = new SessionOpener({ ...deps, refuse: (held, reason, call) => this.#refuse(held, reason, call) });
  }

  /** Once for each ticket; see `SessionOpener`. */
  open(ticket: SessionSecret, body: unknown, call: SessionCall): Promise<Json> {
    return this.#opener.open(ticket, body, call);
  }

  /** The session of a valid ticket or key, while it has not ended. */
  async unended(secret: { ticket: SessionSecret } | { key: SessionSecret | null }): Promise<SessionId | null> {
    const { store } = this.#deps;
    const session =
      'ticket' in secret
        ? await store.sessionByTicket(hashOfSecret(secret.ticket))
        : secret.key && (await store.sessionByKey(hashOfSecret(secret.key)));
    return session && session.ended === null ? session.id : null;
  }

  /** The order as it was issued; `cancelled` when it no longer applies. */
  async order(key: SessionSecret): Promise<Json> {
    const { session, machine } = await this.#known(key);
    const cancelled = !sessionEligibility(session, machine, this.#deps.now()).open;
    return { ...(session.order as { readonly [key: string]: Json }), cancelled };
  }

  async facts(key: SessionSecret, body: unknown, call: SessionCall): Promise<void> {
    const { session, machine } = await this.#open(key, call);
    await this.#mustBeThere({ session, machine }, call);
    const { store, now } = this.#deps;
    const { sequence: _, ...facts } = readFacts(body);
    const newest = (await store.factsOf(machine.id))[0];
    // A repeated report changes nothing.
    if (newest && newest.at >= (session.openedAt ?? 0) && canonicalJson(newest.facts) === canonicalJson(facts)) return;
    const at = now();
    const cables = await checkCables(this.#deps, machine, [{ facts, at }]);
    const mismatches = [
      ...contradictions(machine.spec, facts),
      ...skuContradictions(this.#skuOf(machine), facts),
      ...cableContradictions(cables),
    ].map((each) => ({ ...each }));
    await store.commit(
      factsReported({ at, machine, correlationId: session.id }, { facts, at }, summary(facts), mismatches),
    );
  }

  async step(key: SessionSecret, body: unknown, call: SessionCall): Promise<void> {
    const held = await this.#open(key, call);
    await this.#mustBeThere(held, call);
    const report = readStep(body);
    await this.report(held, report);
    if (report.step === CABLING_STEP && report.status === 'done') await this.#requireCabling(held);
    if (report.samples) await this.#checkErasure(held, report.samples);
    if (report.step === AWAIT_PUSH && report.status === 'started') this.#deps.installerWaits?.(held, call.address);
  }

  /** Before the disk is written, where the profile requires it. By the reports of this session only: a cable can be moved. */
  async #requireCabling({ session, machine }: Held): Promise<void> {
    const name = machine.intent?.profile ?? machine.spec.profile;
    const profile = session.mode === 'install' && name !== null ? this.#deps.profile(name) : null;
    if (profile?.cabling !== 'require') return;
    const facts = await this.#factsOf(session, machine);
    const reports = facts === null ? [] : [{ facts, at: this.#deps.now() }];
    const problems = cablingProblems(profile.name, await checkCables(this.#deps, machine, reports));
    if (problems.length === 0) return;
    const reason = problems.join('; ');
    await this.conclude({ session, machine }, { ok: false, step: CABLING_STEP, reason });
    throw ended(reason);
  }

  /** Data on a disk that was reported as erased quarantines the node, and nothing is written. */
  async #checkErasure({ session, machine }: Held, samples: NonNullable<StepBody['samples']>): Promise<void> {
    const sampled = { ordered: orderedSamples(session.order), found: samples.map(sampledState) };
    const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
    const input = { session: session.id, samples: sampled.found.map((each) => ({ ...each })) };
    const executed = await this.#deps.commands.execute(
      { machine: machine.id, name: 'erasure-checked', input, origin },
      (current, context) => erasureChecked(current, session, sampled, context),
    );
    if (executed.outcome === 'refused') throw refusalError(executed.refusal);
    const now = await this.#deps.store.machine(machine.id);
    if (now?.lifecycle.state === 'quarantined') throw ended(now.lifecycle.note ?? 'the node is quarantined');
  }

  /** A push logs in where the session reports from, with the host keys that it reports: that must be the machine itself. */
  async #mustBeThere(held: Held, call: SessionCall): Promise<void> {
    if (!isPushOrder(held.session.order)) return;
    const elsewhere = sourceProblem(held.machine, this.#deps.seenAt(call.address));
    if (elsewhere !== null) throw await this.#refuse(held, elsewhere, call);
  }

  /** Reported by the machine or by the appliance. */
  async report({ session, machine }: Held, body: StepBody): Promise<void> {
    const at = this.#deps.now();
    const said = {
      step: body.step,
      status: body.status,
      percent: body.percent ?? null,
      message: boundedMessage(body.message),
    };
    const progress = progressAfter(session.last, { ...said, bytes: body.bytes ?? null, at });
    const step: SessionStep = { ...said, at, ...(progress !== null && { progress }) };
    const log = boundedLog(body.log);
    const data = { mode: session.mode, ...said, ...(log === null ? {} : { log }) };
    await this.#deps.store.commit(
      stepReported({ at, machine, correlationId: session.id }, session, {
        step,
        sequence: body.sequence ?? session.sequence + 1,
        news: isNews(session.last, body) ? data : null,
      }),
    );
  }

  /** A secret file is issued only once, and that is audited; null: the order has no such file. */
  async file(key: SessionSecret, name: string, call: SessionCall): Promise<SessionFile | null> {
    const { session, machine } = await this.#open(key, call);
    if (session.mode !== 'install') return null;
    const isSecret = SECRET_FILES.includes(name);
    const stranger = isSecret ? neighbourProblem(machine, this.#deps.seenAt(call.address)) : null;
    if (stranger !== null) throw await this.#refuse({ session, machine }, stranger, call);
    // Claimed before it is made: making it may issue a token, and of two concurrent requests only one may do that.
    const exchange = { at: this.#deps.now(), machine, correlationId: call.correlationId };
    if (isSecret && !(await this.#committed(fileTaken(exchange, session, name)))) {
      throw await this.#refuse({ session, machine }, `${name} was already issued, and is issued only once`, call);
    }
    const file = await this.#deps.files.file(machine, name, session.id);
    if (file === null) return null;
    const seed = isSecret ? this.#seed(session) : null;
    return seed === null
      ? { type: 'application/octet-stream', bytes: Buffer.from(file.text) }
      : { type: SEALED_TYPE, bytes: Buffer.from(JSON.stringify(sealFile(seed, name, file.text, this.#deps.random))) };
  }

  /** Null: the key of the session was delivered in the clear. */
  #seed({ id, identity }: Session): Buffer | null {
    const { seeds } = this.#deps;
    if (identity === null || identity.key === 'clear' || identity.salt === null) return null;
    return identity.key === 'media' ? seeds.mediumSeed(identity.salt) : seeds.seed(id, identity.salt);
  }

  async outcome(key: SessionSecret, body: unknown): Promise<{ readonly next: NextStep }> {
    const outcome = readOutcome(body);
    return this.conclude(await this.#known(key), outcome);
  }

  /** Reported by the machine or by the appliance. A repeated report gets the same reply. */
  async conclude({ session, machine }: Known, body: OutcomeBody): Promise<{ readonly next: NextStep }> {
    const before = concludedBefore(session);
    if (before) return before;
    const eligibility = sessionEligibility(session, machine, this.#deps.now());
    if (machine === null || !eligibility.open) throw ended(eligibility.open ? 'removed' : eligibility.reason);
    const facts = await this.#factsOf(session, machine);
    const lacks = facts === null ? [] : requiredHardware(this.#skuOf(machine), facts);
    const outcome = resolveOutcome(session, body, facts !== null, lacks);
    const shown = session.identity && facts ? withFacts(session.identity.shown, facts) : null;
    const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
    const input = { session: session.id, ok: outcome.ok, reason: outcome.reason };
    const executed = await this.#deps.commands.execute(
      { machine: machine.id, name: 'session-outcome', input, origin },
      (current, context) =>
        sessionConcluded(current, session, outcome, body.step ?? null, context, shown, erasedDisks(body)),
    );
    if (executed.outcome === 'refused') throw refusalError(executed.refusal);
    if (executed.outcome === 'lost') {
      // Ended meanwhile: by the same report on another connection, or by a cancel.
      const now = (await this.#deps.store.sessionsOf(machine.id, LAST_SESSIONS)).find(({ id }) => id === session.id);
      const first = now ? concludedBefore(now) : null;
      if (first) return first;
      throw ended(now?.ended?.reason ?? 'another request ended it');
    }
    return { next: nextStep(session.mode, outcome.ok) };
  }

  #skuOf({ spec: { sku } }: Machine): Sku | null {
    return sku === null ? null : this.#deps.fleet.sku(sku);
  }

  /** What this session reported; null: nothing. */
  async #factsOf(session: Session, machine: Machine): Promise<MachineFactsBody | null> {
    const [newest] = await this.#deps.store.factsOf(machine.id);
    return newest && newest.at >= (session.openedAt ?? 0) ? readFacts(newest.facts) : null;
  }

  async #known(key: SessionSecret): Promise<Known> {
    const session = await this.#deps.store.sessionByKey(hashOfSecret(key));
    if (!session) throw new ColdironError('unauthenticated', 'there is no session with this key');
    const machine = await this.#deps.store.machine(session.machine);
    if (machine) this.#deps.heard?.(machine);
    return { session, machine };
  }

  /** Ends an expired session, so that the trail shows when that was noticed. */
  async #open(key: SessionSecret, call: SessionCall): Promise<Held> {
    const { session, machine } = await this.#known(key);
    const at = this.#deps.now();
    const eligibility = sessionEligibility(session, machine, at);
    if (machine !== null && eligibility.open) return { session, machine };
    const reason = eligibility.open ? 'the machine was removed' : eligibility.reason;
    if (machine !== null && !eligibility.open && session.ended === null) {
      const exchange = { at, machine, correlationId: call.correlationId };
      await this.#deps.store.commit(sessionOutlived(exchange, session, { how: eligibility.how, at, reason }));
    }
    throw ended(reason);
  }

  async #refuse({ session, machine }: Held, reason: string, call: SessionCall): Promise<ColdironError> {
    const exchange = { at: this.#deps.now(), machine, correlationId: call.correlationId };
    await this.#deps.store.commit(sessionRefused(exchange, session, { reason, address: call.address }));
    return new ColdironError('conflict', `refused: ${reason}`);
  }

  /** False: the store refused it, because another request was first. */
  async #committed(change: Change): Promise<boolean> {
    return (await this.#deps.store.commit(change)).outcome === 'committed';
  }
}

/** The service OS has waited for its LLDP neighbours. */
const CABLING_STEP = 'cabling';

/** Their reader could act as the machine. */
const SECRET_FILES: readonly string[] = ['user-data', ...ONCE_FILES];

/** How many sessions of a machine to search: the session of an outcome is among the last. */
const LAST_SESSIONS = 5;

/** The reply may have been lost: the same reply again. */
function concludedBefore({ mode, ended }: Session): { readonly next: NextStep } | null {
  if (ended?.how !== 'succeeded' && ended?.how !== 'failed') return null;
  return { next: nextStep(mode, ended.how === 'succeeded') };
}

const ended = (reason: string): ColdironError => new ColdironError('session_over', `the session has ended: ${reason}`);

/** For progress every second, one event per 10 % is enough for the trail. */
function isNews(last: SessionStep | null, body: StepBody): boolean {
  if (body.status !== 'progress' || last === null || last.step !== body.step) return true;
  return Math.floor((last.percent ?? 0) / 10) !== Math.floor((body.percent ?? 0) / 10);
}

function summary(facts: ReturnType<typeof readFacts>): EventData<'session.facts'> {
  return {
    product: [facts.system?.manufacturer, facts.system?.product].filter(Boolean).join(' ') || null,
    serial: facts.system?.serial ?? null,
    threads: facts.cpu?.threads ?? null,
    memory_bytes: facts.memory?.bytes ?? null,
    disks: facts.disks.length,
    nics: facts.nics.length,
  };
}
