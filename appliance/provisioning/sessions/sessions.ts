// A session from its ticket to its outcome. A positive reply is sent only after the commit; a refusal is sent with its reason,
// and recorded in the trail and the audit.

import { ColdironError } from '../../domain/errors.ts';
import { canonicalJson, type Json } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionSecret, SessionStep } from '../../domain/session.ts';
import { type MachineCommands, refusalError } from '../../machines/execute.ts';
import type { RenderedFile } from '../../render/rendered-file.ts';
import type { Change } from '../../store/change.ts';
import type { Store } from '../../store/store.ts';
import { AWAIT_PUSH, isPushOrder, ONCE_FILES } from '../installers/nixos/order.ts';
import type { WorkOrders } from '../orders/work-orders.ts';
import { contradictions } from './contradictions.ts';
import { openerOf, type SeenAt, sourceProblem } from './openers.ts';
import { type NextStep, nextStep, type ResolvedOutcome, resolveOutcome } from './outcomes.ts';
import {
  boundedLog,
  boundedMessage,
  type OutcomeBody,
  readFacts,
  readOpening,
  readOutcome,
  readStep,
  type StepBody,
} from './reports.ts';
import {
  factsReported,
  fileTaken,
  sessionConcluded,
  sessionOpened,
  sessionOutlived,
  sessionRefused,
  sessionReopened,
  stepReported,
} from './session-commands.ts';
import { isSessionCurrent, sessionEligibility, sessionEnd } from './session-eligibility.ts';
import { hashOfNonce, hashOfSecret, newSessionSecret } from './session-secret.ts';

export interface SessionsDeps {
  readonly store: Pick<Store, 'machine' | 'sessionByTicket' | 'sessionByKey' | 'sessionsOf' | 'factsOf' | 'commit'>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly files: Pick<WorkOrders, 'file'>;
  readonly seenAt: (address: Ipv4 | null) => SeenAt;
  /** An installer accepts the appliance's login, which now has to do the work. */
  readonly installerWaits?: (held: Held, address: Ipv4 | null) => void;
  readonly now: () => Instant;
}

/** What is needed of a request. */
export interface SessionCall {
  readonly address: Ipv4 | null;
  readonly correlationId: string;
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

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
  }

  /**
   * Once for each ticket. The reply holds the key, which is stored nowhere else: an opener that did not receive it, and
   * sends its nonce again, gets a new key.
   */
  async open(ticket: SessionSecret, body: unknown, call: SessionCall): Promise<Json> {
    const { store, now } = this.#deps;
    const request = readOpening(body);
    const ticketHash = hashOfSecret(ticket);
    const session = await store.sessionByTicket(ticketHash);
    const machine = session && (await store.machine(session.machine));
    if (!session || !machine) throw new ColdironError('not_found', 'there is no such ticket');
    const at = now();
    const refusal = ticketProblem(session, machine, at);
    if (refusal !== null) throw await this.#refuse({ session, machine }, refusal, call);
    const opener = openerOf(machine, request, this.#deps.seenAt(call.address));
    if (!opener.ok) throw await this.#refuse({ session, machine }, opener.reason, call);

    const key = newSessionSecret();
    const expiresAt = sessionEnd(machine, at);
    const exchange = { at, machine, correlationId: call.correlationId };
    const said = { mode: session.mode, mac: opener.value, address: call.address };
    const nonceHash = request.nonce ? hashOfNonce(request.nonce) : null;
    const opening = { ticketHash, keyHash: key.hash, nonceHash, now: at, expiresAt };
    const opened =
      session.openedAt === null &&
      (await this.#committed(sessionOpened(exchange, session, opening, said, request.firmware ?? null)));
    const reopening = nonceHash !== null && {
      ticketHash,
      keyHash: key.hash,
      nonceHash,
      openedSince: at - REOPENED_WITHIN,
    };
    const reopened =
      !opened && reopening !== false && (await this.#committed(sessionReopened(exchange, session, reopening, said)));
    if (!opened && !reopened) throw await this.#refuse({ session, machine }, USED, call);
    return {
      session: key.text,
      node: machine.spec.hostname,
      mode: session.mode,
      expires_in: Math.floor((expiresAt - at) / SECOND),
      order: session.order,
    };
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
    const mismatches = contradictions(machine.spec, facts).map(({ field, declared, found }) => ({
      field,
      declared,
      found,
    }));
    await store.commit(
      factsReported({ at, machine, correlationId: session.id }, { facts, at }, summary(facts), mismatches),
    );
  }

  async step(key: SessionSecret, body: unknown, call: SessionCall): Promise<void> {
    const held = await this.#open(key, call);
    await this.#mustBeThere(held, call);
    const report = readStep(body);
    await this.report(held, report);
    if (report.step === AWAIT_PUSH && report.status === 'started') this.#deps.installerWaits?.(held, call.address);
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
    const step: SessionStep = {
      step: body.step,
      status: body.status,
      percent: body.percent ?? null,
      message: boundedMessage(body.message),
      at,
    };
    const log = boundedLog(body.log);
    const { at: _, ...said } = step;
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
  async file(key: SessionSecret, name: string, call: SessionCall): Promise<RenderedFile | null> {
    const { session, machine } = await this.#open(key, call);
    if (session.mode !== 'install') return null;
    // Claimed before it is made: making it may issue a token, and of two concurrent requests only one may do that.
    const exchange = { at: this.#deps.now(), machine, correlationId: call.correlationId };
    if (SECRET_FILES.includes(name) && !(await this.#committed(fileTaken(exchange, session, name)))) {
      throw await this.#refuse({ session, machine }, `${name} was already issued, and is issued only once`, call);
    }
    return this.#deps.files.file(machine, name, session.id);
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
    const outcome = await this.#resolveOutcome(session, machine, body);
    const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
    const input = { session: session.id, ok: outcome.ok, reason: outcome.reason };
    const executed = await this.#deps.commands.execute(
      { machine: machine.id, name: 'session-outcome', input, origin },
      (current, context) => sessionConcluded(current, session, outcome, body.step ?? null, context),
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

  async #resolveOutcome(session: Session, machine: Machine, body: OutcomeBody): Promise<ResolvedOutcome> {
    const facts = (await this.#deps.store.factsOf(machine.id))[0];
    return resolveOutcome(session, body, facts !== undefined && facts.at >= (session.openedAt ?? 0));
  }

  async #known(key: SessionSecret): Promise<Known> {
    const session = await this.#deps.store.sessionByKey(hashOfSecret(key));
    if (!session) throw new ColdironError('unauthenticated', 'there is no session with this key');
    return { session, machine: await this.#deps.store.machine(session.machine) };
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

/** Their reader could act as the machine. */
const SECRET_FILES: readonly string[] = ['user-data', ...ONCE_FILES];

/** Enough to notice a lost reply, and to restart an appliance. */
const REOPENED_WITHIN = 5 * MINUTE;

/** How many sessions of a machine to search: the session of an outcome is among the last. */
const LAST_SESSIONS = 5;

const USED = 'the ticket was used already: another client opened the session';

function ticketProblem(session: Session, machine: Machine, now: Instant): string | null {
  // The store decides whether it is the same opener.
  const unused = session.openedAt === null;
  if (session.ended !== null) return unused ? (session.ended.reason ?? 'the ticket is no longer valid') : USED;
  if (unused && now >= session.ticketExpiresAt) return 'the ticket has expired; boot again for a new one';
  return isSessionCurrent(machine, session) ? null : `${machine.spec.hostname} is ${machine.lifecycle.state} now`;
}

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
