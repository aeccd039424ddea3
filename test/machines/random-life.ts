// Random lifecycles of one machine: commands of operators, reports of the machine, the clock, the runner and its crashes. The
// invariants are checked after every step.

import type { EffectKind } from '../../appliance/domain/effect.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { ObjectName } from '../../appliance/domain/names.ts';
import type { Session, SessionId, SessionMode } from '../../appliance/domain/session.ts';
import { STATES } from '../../appliance/domain/states.ts';
import { deadlinePassed } from '../../appliance/machines/commands/clock.ts';
import { consumed } from '../../appliance/machines/commands/intents.ts';
import { moved } from '../../appliance/machines/commands/move.ts';
import { cancel, deploy, release, startServiceOs } from '../../appliance/machines/commands/work.ts';
import { EffectError, type EffectHandler, type EffectHandlers } from '../../appliance/machines/effects/handler.ts';
import { type Command, type Decide, MachineCommands } from '../../appliance/machines/execute.ts';
import { runEffect } from '../../appliance/machines/runner/run-effect.ts';
import { EVENTS, type LifecycleEvent } from '../../appliance/machines/transitions.ts';
import { resolveOutcome } from '../../appliance/provisioning/sessions/outcomes.ts';
import { sessionConcluded, ticketIssued } from '../../appliance/provisioning/sessions/session-commands.ts';
import { isSessionCurrent } from '../../appliance/provisioning/sessions/session-eligibility.ts';
import type { NewTicket } from '../../appliance/store/session-store.ts';
import { ASSERTED } from '../provisioning/sessions/asserted.ts';
import { Died, FaultyStore, type Random, type Subject } from './faulty-store.ts';
import { violatedInvariant } from './life-invariants.ts';
import { T0 } from './machines.ts';

const OPERATOR: readonly LifecycleEvent[] = (Object.keys(EVENTS) as LifecycleEvent[]).filter(
  (event) =>
    EVENTS[event].by === 'operator' && !['deploy', 'release', 'commission', 'rescue', 'cancel'].includes(event),
);
const PROFILE = 'worker' as ObjectName;

/** One lifecycle. Throws the violated invariant. */
export class Life {
  readonly #subject: Subject;
  readonly #store: FaultyStore;
  readonly #random: Random;
  readonly #commands: MachineCommands;
  readonly #finished = new Set<string>();
  readonly #carriedOut = new Map<string, number>();
  #now = T0;
  #ids = 0;
  readonly #prefix: string;
  #last: { readonly command: Command; readonly decide: Decide } | null = null;
  #violation: Error | null = null;
  readonly steps: string[] = [];

  constructor(subject: Subject, random: Random, oneIn: number, prefix: string) {
    this.#subject = subject;
    this.#random = random;
    this.#prefix = prefix;
    this.#store = new FaultyStore(subject, random, oneIn);
    this.#commands = new MachineCommands({
      store: this.#store,
      now: () => this.#now,
      newId: () => this.#newId(),
      deployMinutes: () => 30,
    });
  }

  async live(length: number): Promise<void> {
    const unsubscribe = this.#subject.store.subscribe(({ change }) => {
      if (!change?.command || change.machine !== this.#subject.machine) return;
      // Its certificate moves a node from enrolling to active.
      const enrolled = change.audit.some(({ action }) => action === 'node.enrolled');
      if (enrolled) this.#subject.trusted?.add(change.machine);
      this.#carriedOut.set(change.command.id, (this.#carriedOut.get(change.command.id) ?? 0) + 1);
    });
    try {
      for (let step = 0; step < length; step += 1) {
        this.#now += 1 + this.#random(MINUTE);
        await this.#attempt(() => this.#step());
        await this.#invariants();
      }
      await this.#settle();
      await this.#invariants();
    } finally {
      unsubscribe();
    }
  }

  /** A step may fail as the contract allows; after a crash the next process resumes running effects. */
  async #attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (this.#violation) throw this.#violation;
      if (error instanceof Died) {
        this.steps.push('died');
        await this.#subject.store.reclaimEffects();
      } else if (!(error instanceof ColdironError)) throw error;
      else if (error.message.length === 0) throw new Error('a refusal without a reason');
      else this.steps.push(error.code);
    }
  }

  async #step(): Promise<unknown> {
    switch (this.#random(10)) {
      case 0:
      case 1:
        return this.#boot();
      case 2:
        return this.#report();
      case 3:
        return this.#effect();
      case 4:
        return this.#deadline();
      case 5:
        return this.#again();
      case 6:
        this.steps.push('restart');
        return this.#subject.store.reclaimEffects();
      default:
        return this.#operator();
    }
  }

  #operator(): Promise<unknown> {
    const origin = { actor: 'token:ops', correlationId: null, commandId: this.#newId() };
    const problems = this.#random(8) === 0 ? ['something is missing'] : [];
    const work: readonly (readonly [string, Decide])[] = [
      ['deploy', (machine, context) => deploy(machine, { profile: PROFILE, minutes: 30, problems, origin }, context)],
      ['release', (machine, context) => release(machine, { problems, origin }, context)],
      ['commission', (machine, context) => startServiceOs(machine, 'commission', { problems, origin }, context)],
      ['rescue', (machine, context) => startServiceOs(machine, 'rescue', { problems, origin }, context)],
      ['cancel', (machine, context) => cancel(machine, origin, context)],
      ['enrolled', (machine, context) => moved(machine, { event: 'enrolled', origin }, context)],
    ];
    // Half of the time an event that makes progress, so that lifecycles get far.
    const chosen = this.#random(2) === 0 ? work[this.#random(work.length)] : undefined;
    const event = OPERATOR[this.#random(OPERATOR.length)] ?? 'accept';
    const [name, decide]: readonly [string, Decide] = chosen ?? [
      event,
      (machine, context) => moved(machine, { event, origin }, context),
    ];
    this.#last = { command: { machine: this.#subject.machine, name, input: null, origin }, decide };
    return this.#execute(this.#last.command, decide);
  }

  /** With the same id, like a client that did not receive the reply. */
  async #again(): Promise<unknown> {
    if (this.#last) await this.#execute(this.#last.command, this.#last.decide);
    return undefined;
  }

  async #execute(command: Command, decide: Decide): Promise<void> {
    this.steps.push(command.name);
    const executed = await this.#commands.execute(command, decide);
    if (executed.outcome === 'refused' && executed.refusal.message.length === 0) {
      throw this.#broken(`${command.name} was refused without a reason`);
    }
  }

  /** The machine fetches its script: an intent is consumed with its ticket, or a ticket is issued; its session opens. */
  async #boot(): Promise<void> {
    const machine = await this.#machine();
    const mode = STATES[machine.lifecycle.state].session?.mode;
    if (!mode || machine.lifecycle.fallbackUsed) return;
    this.steps.push(`boot:${mode}`);
    const { intent } = machine;
    const ticket = this.#ticket(mode);
    if (mode === 'install' || mode === 'erase') {
      if (!intent || intent.consumedAt !== null) return this.#restarted(machine, mode);
      const { outcome } = await this.#store.commit(consumed(machine, intent.id, ticket, this.#now));
      if (outcome !== 'committed') return;
    } else await this.#store.commit(ticketIssued(ticket));
    if (this.#random(4) === 0) return;
    const opening = {
      ticketHash: ticket.ticketHash,
      keyHash: this.#newId(),
      nonceHash: null,
      now: this.#now,
      expiresAt: this.#now + 30 * MINUTE,
      identity: ASSERTED,
    };
    const change = { ...ticketIssued(ticket), writes: [{ kind: 'open-session', opening } as const] };
    await this.#store.commit(change);
  }

  #restarted(machine: Machine, mode: 'install' | 'erase'): Promise<void> {
    const event = mode === 'install' ? 'install-failed' : 'erase-failed';
    const origin = { actor: 'appliance', correlationId: null };
    return this.#execute({ machine: machine.id, name: 'restarted', input: null, origin }, (known, context) => {
      const end = { how: 'failed', at: context.now, reason: 'restarted' } as const;
      return moved(known, { event, origin, also: { writes: [{ kind: 'end-sessions', end }] } }, context);
    });
  }

  async #report(): Promise<void> {
    const machine = await this.#machine();
    const session = (await this.#store.sessionsOf(machine.id, 5)).find(
      (each: Session) => each.openedAt !== null && each.ended === null && isSessionCurrent(machine, each),
    );
    if (!session) return;
    const outcome = resolveOutcome(session, { ok: this.#random(3) > 0, reason: 'a disk is missing' }, true);
    const origin = { actor: 'machine:node01', correlationId: session.id };
    await this.#execute({ machine: machine.id, name: 'outcome', input: null, origin }, (known, context) =>
      sessionConcluded(known, session, outcome, null, context),
    );
  }

  async #deadline(): Promise<void> {
    const machine = await this.#machine();
    const { deadline } = machine.lifecycle;
    if (deadline === null) return;
    this.#now = Math.max(this.#now, deadline);
    const origin = { actor: 'appliance', correlationId: null };
    await this.#execute({ machine: machine.id, name: 'deadline', input: null, origin }, (known, context) =>
      deadlinePassed(known, undefined, context),
    );
  }

  async #effect(): Promise<void> {
    for (const effect of await this.#store.takeEffects(this.#now, 1)) {
      this.steps.push(`effect:${effect.kind}`);
      await runEffect(
        {
          store: this.#store,
          commands: this.#commands,
          handlers: this.#handlers(),
          log: { warn: () => undefined },
          persistently: (verb) => persistently(verb),
        },
        effect,
      ).catch((error: unknown) => {
        // The runner logs it and continues; the effect stays running until the next start.
        if (error instanceof Died || !(error instanceof ColdironError)) throw error;
      });
      const [now] = (await this.#subject.store.effects(effect.machine)).filter(({ id }) => id === effect.id);
      if (now?.state === 'done' || now?.state === 'failed') this.#finished.add(effect.id);
    }
  }

  #handlers(): EffectHandlers {
    const does: EffectHandler = async ({ effect }) => {
      if (this.#finished.has(effect.id)) throw this.#broken(`${effect.kind} was run again after its end was committed`);
      const luck = this.#random(6);
      if (luck === 0) throw new Error('the BMC does not answer');
      if (luck === 1) throw new EffectError('no driver', { retryable: false });
      const leads = effect.kind === 'release-without-erase';
      return { events: [], ...(leads && { leadsTo: { event: 'released-unerased', note: 'unerased' } as const }) };
    };
    return Object.fromEntries(KINDS.map((kind) => [kind, does])) as Record<EffectKind, EffectHandler>;
  }

  /** No more faults: everything running must end. */
  async #settle(): Promise<void> {
    this.#store.oneIn = 0;
    await this.#subject.store.reclaimEffects();
    for (let round = 0; round < 60; round += 1) {
      const open = (await this.#subject.store.effects(this.#subject.machine)).filter(
        ({ state }) => state === 'pending' || state === 'running',
      );
      if (open.length === 0) return;
      this.#now = Math.max(this.#now, ...open.map(({ notBefore }) => notBefore));
      await this.#effect();
    }
    throw this.#broken('effects that never end');
  }

  async #invariants(): Promise<void> {
    const { store, machine: id, trusted } = this.#subject;
    const machine = await store.machine(id);
    if (!machine) throw this.#broken('the machine is gone');
    const violated = violatedInvariant(machine, trusted?.has(id) ?? null);
    if (violated !== null) throw this.#broken(violated);
    for (const [command, times] of this.#carriedOut) {
      if (times > 1) throw this.#broken(`command ${command} was executed ${times} times`);
    }
  }

  #broken(what: string): Error {
    this.#violation = new Error(`${what}; steps: ${this.steps.join(' ')}`);
    return this.#violation;
  }

  async #machine(): Promise<Machine> {
    const machine = await this.#store.machine(this.#subject.machine);
    if (!machine) throw this.#broken('the machine is gone');
    return machine;
  }

  #ticket(mode: SessionMode): NewTicket {
    const { machine } = this.#subject;
    const id = this.#newId() as SessionId;
    const times = { madeAt: this.#now, expiresAt: this.#now + 15 * MINUTE };
    return { id, machine, mode, order: {}, ticketHash: `hash of ${id}`, ...times };
  }

  #newId(): string {
    this.#ids += 1;
    return `${this.#prefix}-${this.#ids}`;
  }
}

const KINDS: readonly EffectKind[] = ['boot-from-network', 'boot-from-disk', 'power-off', 'release-without-erase'];

/** Like the runner, without its pauses. */
async function persistently<T>(verb: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await verb();
    } catch (error) {
      const passes =
        error instanceof ColdironError && (error.code === 'store_unavailable' || error.code === 'outcome_unknown');
      if (!passes || tries === 20) throw error;
    }
  }
}
