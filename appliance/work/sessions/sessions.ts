// A session from its ticket to its outcome. Whatever is answered with "yes" is on disk before; whoever is refused is told why,
// and so are the trail and the audit.

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
import { AWAIT_PUSH, ONCE_FILES } from '../installers/nixos/order.ts';
import type { WorkOrders } from '../orders/work-orders.ts';
import { contradictions } from './contradictions.ts';
import { openerOf, type SeenAt } from './openers.ts';
import { type JudgedOutcome, judgeOutcome, type NextStep, nextStep } from './outcomes.ts';
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
import { isWanted, sessionEnd, sessionStanding } from './session-eligibility.ts';
import { hashOfNonce, hashOfSecret, newSessionSecret } from './session-secret.ts';

export interface SessionsDeps {
  readonly store: Pick<Store, 'machine' | 'sessionByTicket' | 'sessionByKey' | 'sessionsOf' | 'factsOf' | 'commit'>;
  readonly commands: Pick<MachineCommands, 'execute'>;
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
    const exchange = { at, machine, correlationId: call.correlationId };
    const said = { mode: session.mode, mac: opener.value, address: call.address };
    const nonceHash = told.nonce ? hashOfNonce(told.nonce) : null;
    const opening = { ticketHash, keyHash: key.hash, nonceHash, now: at, expiresAt };
    const opened =
      session.openedAt === null &&
      (await this.#committed(sessionOpened(exchange, session, opening, said, told.firmware ?? null)));
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
    const found = contradictions(machine.spec, facts).map(({ field, declared, found }) => ({ field, declared, found }));
    await store.commit(factsReported({ at, machine, correlationId: session.id }, { facts, at }, summary(facts), found));
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
    await this.#deps.store.commit(
      stepReported({ at, machine, correlationId: session.id }, session, {
        step,
        sequence: told.sequence ?? session.sequence + 1,
        news: isNews(session.last, told) ? data : null,
      }),
    );
  }

  /** A secret file is given out a single time, and that is audited; null: the order has no such file. */
  async file(key: SessionSecret, name: string, call: SessionCall): Promise<RenderedFile | null> {
    const { session, machine } = await this.#open(key, call);
    if (session.mode !== 'install') return null;
    // Taken before it is made: making it may issue a token, and of two that ask at once one shall come to that.
    const exchange = { at: this.#deps.now(), machine, correlationId: call.correlationId };
    if (SECRET_FILES.includes(name) && !(await this.#committed(fileTaken(exchange, session, name)))) {
      throw await this.#refuse({ session, machine }, `${name} was given out before, and is given out once`, call);
    }
    return this.#deps.files.file(machine, name, session.id);
  }

  async outcome(key: SessionSecret, body: unknown): Promise<{ readonly next: NextStep }> {
    const told = readOutcome(body);
    return this.conclude(await this.#known(key), told);
  }

  /** Reported by whoever does the work. A report that came before is answered as it was then. */
  async conclude({ session, machine }: Known, told: OutcomeBody): Promise<{ readonly next: NextStep }> {
    const before = concludedBefore(session);
    if (before) return before;
    const standing = sessionStanding(session, machine, this.#deps.now());
    if (machine === null || !standing.open) throw ended(standing.open ? 'removed' : standing.reason);
    const judged = await this.#judge(session, machine, told);
    const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
    const input = { session: session.id, ok: judged.ok, reason: judged.reason };
    const executed = await this.#deps.commands.execute(
      { machine: machine.id, name: 'session-outcome', input, origin },
      (current, context) => sessionConcluded(current, session, judged, told.step ?? null, context),
    );
    if (executed.outcome === 'refused') throw refusalError(executed.refusal);
    if (executed.outcome === 'lost') {
      // Somebody ended it meanwhile: this report, on another connection, or whoever cancelled the work.
      const now = (await this.#deps.store.sessionsOf(machine.id, LAST_SESSIONS)).find(({ id }) => id === session.id);
      const first = now ? concludedBefore(now) : null;
      if (first) return first;
      throw ended(now?.ended?.reason ?? 'somebody else ended it');
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
      const exchange = { at, machine, correlationId: call.correlationId };
      await this.#deps.store.commit(sessionOutlived(exchange, session, { how: standing.how, at, reason }));
    }
    throw ended(reason);
  }

  async #refuse({ session, machine }: Held, reason: string, call: SessionCall): Promise<ColdironError> {
    const exchange = { at: this.#deps.now(), machine, correlationId: call.correlationId };
    await this.#deps.store.commit(sessionRefused(exchange, session, { reason, address: call.address }));
    return new ColdironError('conflict', `refused: ${reason}`);
  }

  /** False: the store refused it, because somebody else was first. */
  async #committed(change: Change): Promise<boolean> {
    return (await this.#deps.store.commit(change)).outcome === 'committed';
  }
}

/** These hold what lets their reader speak for the machine. */
const SECRET_FILES: readonly string[] = ['user-data', ...ONCE_FILES];

/** Enough to notice that an answer is lost, and for an appliance to be restarted meanwhile. */
const REOPENED_WITHIN = 5 * MINUTE;

/** The one that an outcome is about is among the last ones of its machine. */
const LAST_SESSIONS = 5;

const USED = 'the ticket was used already: somebody else was there';

function ticketProblem(session: Session, machine: Machine, now: Instant): string | null {
  // Whether it is the same opener, the store decides.
  const unused = session.openedAt === null;
  if (session.ended !== null) return unused ? (session.ended.reason ?? 'the ticket is no longer good') : USED;
  if (unused && now >= session.ticketExpiresAt) return 'the ticket has expired; boot again for a new one';
  return isWanted(machine, session) ? null : `${machine.spec.hostname} is ${machine.lifecycle.state} now`;
}

/** The answer to it may have been lost: the same answer again. */
function concludedBefore({ mode, ended }: Session): { readonly next: NextStep } | null {
  if (ended?.how !== 'succeeded' && ended?.how !== 'failed') return null;
  return { next: nextStep(mode, ended.how === 'succeeded') };
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
