// A session from its ticket to its outcome. Whatever is answered with "yes" is on disk before; whoever is refused is told why,
// and so are the trail and the audit.

import { ColdironError } from '../../domain/errors.ts';
import { canonicalJson, type Json } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionSecret, SessionStep } from '../../domain/session.ts';
import type { LifecycleRunner } from '../../machines/runner.ts';
import type { RenderedFile } from '../../render/rendered-file.ts';
import type { Store } from '../../store/store.ts';
import { AWAIT_PUSH, ONCE_FILES } from '../installers/nixos/order.ts';
import type { WorkOrders } from '../orders/work-orders.ts';
import { contradictions } from './contradictions.ts';
import { openerOf, type SeenAt } from './openers.ts';
import { type JudgedOutcome, judgedBefore, judgeOutcome, type NextStep, nextStep } from './outcomes.ts';
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
import { isWanted, sessionEnd, sessionStanding } from './session-eligibility.ts';
import { sessionAudit, sessionEvent } from './session-records.ts';
import { hashOfNonce, hashOfSecret, newSessionSecret } from './session-secret.ts';

export interface SessionsDeps {
  readonly store: Pick<
    Store,
    | 'machine'
    | 'sessionByTicket'
    | 'sessionByKey'
    | 'openSession'
    | 'reopenSession'
    | 'reportStep'
    | 'endSession'
    | 'takeSessionFile'
    | 'putFacts'
    | 'factsOf'
    | 'appendEvents'
    | 'appendAudit'
  >;
  readonly runner: Pick<LifecycleRunner, 'request'>;
  readonly refreshFleet: () => Promise<void>;
  readonly files: Pick<WorkOrders, 'file'>;
  readonly seenAt: (address: Ipv4 | null) => SeenAt;
  /** An installer has let the appliance in, which now has to do the work. */
  readonly installerWaits?: (held: Held, address: Ipv4 | null) => void;
  readonly now: () => Instant;
}

/** One request, as far as it matters here. */
export interface SessionCall {
  readonly address: Ipv4 | null;
  readonly correlationId: string;
}

/** A session that still counts, and its machine. */
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
   * Once for each ticket. The answer holds the key, which is nowhere else from then on: an opener that did not hear it, and
   * shows its nonce again, gets another key.
   */
  async open(ticket: SessionSecret, body: unknown, call: SessionCall): Promise<Json> {
    const { store, now } = this.#deps;
    const told = readOpening(body);
    const ticketHash = hashOfSecret(ticket);
    const session = await store.sessionByTicket(ticketHash);
    const machine = session && (await store.machine(session.machine));
    if (!session || !machine) throw new ColdironError('not_found', 'there is no such ticket');
    const at = now();
    const refusal = ticketProblem(session, machine, at);
    if (refusal !== null) throw await this.#refuse({ session, machine }, refusal, call);
    const opener = openerOf(machine, told, this.#deps.seenAt(call.address));
    if (!opener.ok) throw await this.#refuse({ session, machine }, opener.reason, call);

    const key = newSessionSecret();
    const expiresAt = sessionEnd(machine, at);
    const happening = { at, machine, correlationId: call.correlationId };
    const said = { mode: session.mode, mac: opener.value, address: call.address };
    const nonceHash = told.nonce ? hashOfNonce(told.nonce) : null;
    const opened =
      session.openedAt === null &&
      (await store.openSession({
        ticketHash,
        keyHash: key.hash,
        nonceHash,
        now: at,
        expiresAt,
        event: sessionEvent(happening, 'session.opened', { ...said, firmware: told.firmware ?? null }),
        audit: sessionAudit(happening, 'opened', session, said),
      }));
    const reopened =
      !opened &&
      nonceHash !== null &&
      (await store.reopenSession({
        ticketHash,
        keyHash: key.hash,
        nonceHash,
        openedSince: at - REOPENED_WITHIN,
        event: sessionEvent(happening, 'session.reopened', said),
        audit: sessionAudit(happening, 'reopened', session, said),
      }));
    if (!opened && !reopened) throw await this.#refuse({ session, machine }, USED, call);
    return {
      session: key.text,
      node: machine.spec.hostname,
      mode: session.mode,
      expires_in: Math.floor((expiresAt - at) / SECOND),
      order: session.order,
    };
  }

  /** The order as it was given; `cancelled` when there is nothing to do any more. */
  async order(key: SessionSecret): Promise<Json> {
    const { session, machine } = await this.#known(key);
    const cancelled = !sessionStanding(session, machine, this.#deps.now()).open;
    return { ...(session.order as { readonly [key: string]: Json }), cancelled };
  }

  async facts(key: SessionSecret, body: unknown, call: SessionCall): Promise<void> {
    const { session, machine } = await this.#open(key, call);
    const { store, now } = this.#deps;
    const { sequence: _, ...facts } = readFacts(body);
    const newest = (await store.factsOf(machine.id))[0];
    // A report that came twice is the same report.
    if (newest && newest.at >= (session.openedAt ?? 0) && canonicalJson(newest.facts) === canonicalJson(facts)) return;
    const at = now();
    const happening = { at, machine, correlationId: session.id };
    const differs = contradictions(machine.spec, facts);
    await store.putFacts(machine.id, { facts, at }, sessionEvent(happening, 'session.facts', summary(facts)));
    if (differs.length > 0) {
      const found = differs.map(({ field, declared, found }) => ({ field, declared, found }));
      await store.appendEvents([sessionEvent(happening, 'session.contradicted', { contradictions: found })]);
    }
  }

  async step(key: SessionSecret, body: unknown, call: SessionCall): Promise<void> {
    const held = await this.#open(key, call);
    const told = readStep(body);
    await this.report(held, told);
    if (told.step === AWAIT_PUSH && told.status === 'started') this.#deps.installerWaits?.(held, call.address);
  }

  /** Whoever does the work, the machine or the appliance. */
  async report({ session, machine }: Held, told: StepBody): Promise<void> {
    const at = this.#deps.now();
    const step: SessionStep = {
      step: told.step,
      status: told.status,
      percent: told.percent ?? null,
      message: boundedMessage(told.message),
      at,
    };
    const log = boundedLog(told.log);
    const { at: _, ...said } = step;
    const data = { mode: session.mode, ...said, ...(log === null ? {} : { log }) };
    await this.#deps.store.reportStep({
      id: session.id,
      sequence: told.sequence ?? session.sequence + 1,
      step,
      event: isNews(session.last, told)
        ? sessionEvent({ at, machine, correlationId: session.id }, 'session.step', data)
        : null,
    });
  }

  /** A secret file is given out a single time, and that is audited; null: the order has no such file. */
  async file(key: SessionSecret, name: string, call: SessionCall): Promise<RenderedFile | null> {
    const { session, machine } = await this.#open(key, call);
    if (session.mode !== 'install') return null;
    // Taken before it is made: making it may issue a token, and of two that ask at once one shall come to that.
    const at = this.#deps.now();
    const happening = { at, machine, correlationId: call.correlationId };
    if (SECRET_FILES.includes(name)) {
      const audit = sessionAudit(happening, 'file', session, { file: name });
      if (!(await this.#deps.store.takeSessionFile(session.id, name, at, audit))) {
        throw await this.#refuse({ session, machine }, `${name} was given out before, and is given out once`, call);
      }
    }
    return this.#deps.files.file(machine, name, session.id);
  }

  async outcome(key: SessionSecret, body: unknown): Promise<{ readonly next: NextStep }> {
    const told = readOutcome(body);
    return this.conclude(await this.#known(key), told);
  }

  /** Told by whoever does the work. */
  async conclude({ session, machine }: Known, told: OutcomeBody): Promise<{ readonly next: NextStep }> {
    const { store, now } = this.#deps;
    const at = now();
    const standing = sessionStanding(session, machine, at);
    const toldBefore = session.ended?.how === 'succeeded' || session.ended?.how === 'failed';
    if (machine === null || (!standing.open && !toldBefore)) throw ended(standing.open ? 'removed' : standing.reason);

    const judged = session.ended
      ? judgedBefore(session.mode, session.ended)
      : await this.#judge(session, machine, told);
    const data = { mode: session.mode, ok: judged.ok, step: told.step ?? null, reason: judged.reason };
    const event = sessionEvent({ at, machine, correlationId: session.id }, 'session.ended', data);
    if (!toldBefore) await store.endSession(session.id, judged.ok ? 'succeeded' : 'failed', at, judged.reason, event);
    // Also for one that was told before: the process may have died between the two.
    if (judged.event !== null && isWanted(machine, session)) {
      await this.#deps.runner.request(machine.id, judged.event, {
        actor: `machine:${machine.spec.hostname}`,
        correlationId: session.id,
        ...(judged.reason === null ? {} : { failureReason: judged.reason }),
      });
      await this.#deps.refreshFleet();
    }
    return { next: nextStep(session.mode, judged.ok) };
  }

  async #judge(session: Session, machine: Machine, told: OutcomeBody): Promise<JudgedOutcome> {
    const facts = (await this.#deps.store.factsOf(machine.id))[0];
    return judgeOutcome(session, told, facts !== undefined && facts.at >= (session.openedAt ?? 0));
  }

  async #known(key: SessionSecret): Promise<Known> {
    const session = await this.#deps.store.sessionByKey(hashOfSecret(key));
    if (!session) throw new ColdironError('unauthenticated', 'there is no session with this key');
    return { session, machine: await this.#deps.store.machine(session.machine) };
  }

  /** Ends what has outlived itself, so that the trail says when that was noticed. */
  async #open(key: SessionSecret, call: SessionCall): Promise<Held> {
    const { session, machine } = await this.#known(key);
    const at = this.#deps.now();
    const standing = sessionStanding(session, machine, at);
    if (machine !== null && standing.open) return { session, machine };
    const reason = standing.open ? 'the machine is no longer there' : standing.reason;
    if (machine !== null && !standing.open && session.ended === null) {
      const happening = { at, machine, correlationId: call.correlationId };
      const event = sessionEvent(happening, 'session.ended', { mode: session.mode, ok: false, step: null, reason });
      await this.#deps.store.endSession(session.id, standing.how, at, reason, event);
    }
    throw ended(reason);
  }

  async #refuse({ session, machine }: Held, reason: string, call: SessionCall): Promise<ColdironError> {
    const { store, now } = this.#deps;
    const happening = { at: now(), machine, correlationId: call.correlationId };
    const said = { reason, address: call.address };
    await store.appendAudit([sessionAudit(happening, 'refused', session, said)]);
    await store.appendEvents([sessionEvent(happening, 'session.refused', { mode: session.mode, ...said })]);
    return new ColdironError('conflict', `refused: ${reason}`);
  }
}

/** These hold what lets their reader speak for the machine. */
const SECRET_FILES: readonly string[] = ['user-data', ...ONCE_FILES];

/** Enough to notice that an answer is lost, and for an appliance to be restarted meanwhile. */
const REOPENED_WITHIN = 5 * MINUTE;

const USED = 'the ticket was used already: somebody else was there';

function ticketProblem(session: Session, machine: Machine, now: Instant): string | null {
  // Whether it is the same opener, the store decides.
  const unused = session.openedAt === null;
  if (session.ended !== null) return unused ? (session.ended.reason ?? 'the ticket is no longer good') : USED;
  if (unused && now >= session.ticketExpiresAt) return 'the ticket has expired; boot again for a new one';
  return isWanted(machine, session) ? null : `${machine.spec.hostname} is ${machine.lifecycle.state} now`;
}

const ended = (reason: string): ColdironError => new ColdironError('session_over', `the session has ended: ${reason}`);

/** Of a progress that comes every second, one line for every tenth is enough for the trail. */
function isNews(last: SessionStep | null, told: StepBody): boolean {
  if (told.status !== 'progress' || last === null || last.step !== told.step) return true;
  return Math.floor((last.percent ?? 0) / 10) !== Math.floor((told.percent ?? 0) / 10);
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
