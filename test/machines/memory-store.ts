// The store in memory, as far as commands and the runner need it. It outlives a runner as the file outlives a process, fulfils
// store.ts (the contract tests of `commit` run against it too), and commits all or nothing.

import type { Effect, EffectId } from '../../appliance/domain/effect.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { Event, NewAuditEntry, NewEvent } from '../../appliance/domain/event.ts';
import type { Instant } from '../../appliance/domain/instant.ts';
import type { ArmedIntent } from '../../appliance/domain/intent.ts';
import type { Machine, MachineId } from '../../appliance/domain/machine.ts';
import type { Session } from '../../appliance/domain/session.ts';
import type { Change, CommandId, Committed, RecordedCommand, Subscriber, Write } from '../../appliance/store/change.ts';
import { Publisher } from '../../appliance/store/publisher.ts';
import { checkedEvent } from '../domain/events/checked-event.ts';

type HeldSession = Session & { readonly ticketHash: string; readonly keyHash: string | null };

/** Everything that a commit can change; copied before it, restored when it is refused. */
interface Tables {
  readonly machines: Map<MachineId, Machine>;
  readonly intents: Map<string, ArmedIntent>;
  readonly sessions: HeldSession[];
  readonly effects: Effect[];
  /** Machines with valid certificates and tokens. */
  readonly trusted: Set<MachineId>;
}

class Refused extends Error {}

export class MemoryStore {
  readonly machines = new Map<MachineId, Machine>();
  readonly intents = new Map<string, ArmedIntent>();
  readonly sessions: HeldSession[] = [];
  readonly written: Effect[] = [];
  readonly trusted = new Set<MachineId>();
  readonly log: NewEvent[] = [];
  readonly audit: NewAuditEntry[] = [];
  readonly commands = new Map<CommandId, RecordedCommand>();
  readonly #publisher = new Publisher(null);
  #revision = 1;

  constructor(...machines: Machine[]) {
    for (const machine of machines) {
      this.machines.set(machine.id, machine);
      if (machine.intent) this.intents.set(machine.intent.id, machine.intent);
    }
  }

  /** Everything that a commit could change, as text. */
  fingerprint(): string {
    const machines = [...this.machines.values()].map(({ version, lifecycle }) => [version, lifecycle.state]);
    const intents = [...this.intents.values()].map(({ id, consumedAt, revokedAt }) => [id, consumedAt, revokedAt]);
    const sessions = this.sessions.map(({ id, openedAt, ended, sequence }) => [id, openedAt, ended, sequence]);
    const effects = this.written.map(({ id, state }) => [id, state]);
    const counts = [this.log.length, this.audit.length, this.commands.size, this.trusted.size];
    return JSON.stringify([machines, intents, sessions, effects, counts]);
  }

  async machine(id: MachineId): Promise<Machine | null> {
    return this.machines.get(id) ?? null;
  }

  async command(id: CommandId): Promise<RecordedCommand | null> {
    return this.commands.get(id) ?? null;
  }

  subscribe(subscriber: Subscriber): () => void {
    return this.#publisher.subscribe(subscriber);
  }

  async commit(change: Change): Promise<Committed> {
    const turn = this.#publisher.turn();
    try {
      const committed = this.#write(change);
      if (committed.outcome === 'committed') {
        const { machine, events } = committed;
        await turn.publish({ change, machine, revision: machine.revision, events });
      } else await turn.publish(null);
      return committed;
    } catch (error) {
      await turn.publish(null);
      throw error;
    }
  }

  /** All or nothing, and synchronous: equivalent to a transaction. */
  #write(change: Change): Committed {
    const { command } = change;
    const recorded = command && this.commands.get(command.id);
    if (recorded) {
      if (recorded.digest === command?.digest) return { outcome: 'repeated', machine: recorded.machine };
      throw new ColdironError('conflict', `the command id ${command?.id} was already used for another command`);
    }
    const before = this.#copy();
    let kind: Write['kind'] = 'finish-effect';
    try {
      const known = this.machines.get(change.machine);
      if (!known) throw new ColdironError('not_found', `there is no node with the id ${change.machine}`);
      if (change.version !== null && known.version !== change.version) {
        throw new ColdironError('version_conflict', `${known.spec.hostname} has changed`);
      }
      if (change.lifecycle && known.lifecycle.state === 'removed' && change.lifecycle.state !== 'removed') {
        throw new ColdironError('conflict', `${known.spec.hostname} is removed and cannot be changed`);
      }
      const extra: NewEvent[] = [];
      for (const write of change.writes) {
        kind = write.kind;
        this.#apply(change.machine, write, extra);
      }
      this.#writeRow(change, known);
      for (const effect of change.effects) {
        const seq = this.written.length + 1;
        this.written.push({ ...effect, seq, state: 'pending', attempts: 0, notBefore: change.at, lastError: null });
      }
      const events = [...extra, ...change.events].map(
        (event, at): Event => ({ ...event, seq: this.log.length + at + 1 }),
      );
      this.log.push(...[...extra, ...change.events].map(checkedEvent));
      this.audit.push(...change.audit);
      const machine = this.machines.get(change.machine) ?? known;
      if (command) this.commands.set(command.id, { digest: command.digest, machine });
      return { outcome: 'committed', machine, events };
    } catch (error) {
      this.#putBack(before);
      if (error instanceof Refused) return { outcome: 'refused', write: kind, reason: error.message };
      throw error;
    }
  }

  #writeRow({ machine: id, lifecycle, at }: Change, known: Machine): void {
    const now = this.machines.get(id) ?? known;
    if (lifecycle === null && now === known) return;
    this.#revision += 1;
    const removed = lifecycle?.state === 'removed';
    if (removed) {
      this.#closeIntents(id, at);
      this.trusted.delete(id);
    }
    const held = this.machines.get(id) ?? now;
    this.machines.set(id, {
      ...held,
      intent: held.intent ? (this.intents.get(held.intent.id) ?? held.intent) : null,
      health: removed ? 'unknown' : held.health,
      lifecycle: lifecycle ?? held.lifecycle,
      version: known.version + 1,
      revision: this.#revision,
    });
  }

  #apply(machine: MachineId, write: Write, extra: NewEvent[]): void {
    const known = this.machines.get(machine);
    if (!known) throw new Error('checked before');
    const touch = (changes: Partial<Machine> = {}): void => void this.machines.set(machine, { ...known, ...changes });
    switch (write.kind) {
      case 'arm-intent':
        if (known.lifecycle.state === 'removed') {
          throw new ColdironError('conflict', `${known.spec.hostname} is removed: nothing can be armed for it`);
        }
        this.#closeIntents(machine, write.intent.armedAt);
        this.intents.set(write.intent.id, write.intent);
        touch({ intent: write.intent });
        return;
      case 'revoke-intents':
        if (this.#closeIntents(machine, write.at)) touch();
        return;
      case 'consume-intent': {
        const intent = this.intents.get(write.intent);
        const open = intent?.machine === machine && intent.consumedAt === null && intent.revokedAt === null;
        if (!intent || !open || write.at >= intent.expiresAt)
          throw new Refused('the intent is used, revoked or expired');
        this.intents.set(intent.id, { ...intent, consumedAt: write.at });
        touch();
        return;
      }
      case 'put-ticket': {
        const { id, mode, order, ticketHash, madeAt, expiresAt } = write.ticket;
        const unused = this.sessions.findIndex((each) => each.machine === machine && each.openedAt === null);
        if (unused >= 0) this.sessions.splice(unused, 1);
        this.sessions.push({
          ...{ id, machine, mode, order, ticketHash, ticketMadeAt: madeAt, ticketExpiresAt: expiresAt },
          ...{ keyHash: null, openedAt: null, expiresAt: null, heardAt: null, sequence: 0, last: null, ended: null },
          identity: null,
        });
        return;
      }
      case 'open-session': {
        const { ticketHash, keyHash, now, expiresAt, identity } = write.opening;
        const session = this.sessions.find((each) => each.ticketHash === ticketHash);
        const good = session?.openedAt === null && session.ended === null && session.ticketExpiresAt > now;
        if (!session || !good) throw new Refused('the ticket is used, ended or expired');
        this.#endSessions(machine, { how: 'superseded', at: now, reason: 'a newer one' }, session.id);
        this.#session(session.id, { keyHash, openedAt: now, expiresAt, heardAt: now, identity });
        return;
      }
      case 'report-step': {
        const { id, sequence, step } = write.report;
        const session = this.#open(id);
        if (!session || session.sequence >= sequence) throw new Refused('the report was seen before');
        this.#session(id, { sequence, last: step, heardAt: step.at });
        return;
      }
      case 'mark-stalled': {
        const last = this.#open(write.session)?.last;
        const progress = last?.progress;
        if (!progress || progress.moved.at !== write.movedAt || progress.stalledAt !== null) {
          throw new Refused('the step moves, or its session has ended');
        }
        this.#session(write.session, { last: { ...last, progress: { ...progress, stalledAt: write.at } } });
        return;
      }
      case 'end-session':
        if (!this.#open(write.session)) throw new Refused('the session is not open');
        this.#session(write.session, { ended: write.end });
        return;
      case 'end-sessions':
        this.#endSessions(machine, write.end, null);
        return;
      case 'put-hardware':
        touch({ hardware: write.hardware });
        return;
      case 'set-health':
        if (known.health === write.health) throw new Refused(`its health is ${write.health} already`);
        touch({ health: write.health });
        return;
      case 'revoke-identity':
        if (this.trusted.delete(machine)) extra.push(write.revocation.event);
        if (known.health === 'unknown') return;
        extra.push(write.revocation.healthEvent);
        touch({ health: 'unknown' });
        return;
      case 'cancel-tasks':
        // It keeps no tasks.
        return;
      case 'finish-effect':
        this.#settle(write.effect, { state: 'done' });
        return;
      case 'retry-effect':
        this.#settle(write.effect, { state: 'pending', notBefore: write.notBefore, lastError: write.error });
        return;
      case 'fail-effect':
        this.#settle(write.effect, { state: 'failed', lastError: write.error });
        return;
      case 'put-allocation': {
        const { allocation: _, ...without } = known;
        this.machines.set(machine, write.isOpen ? { ...without, allocation: write.allocation } : without);
        return;
      }
      case 'put-facts':
      case 'put-medium':
      case 'mark-medium':
      case 'use-medium':
      case 'take-session-file':
      case 'reopen-session':
      case 'issue-token':
      case 'redeem-token':
      case 'repeat-redemption':
      case 'renew-certificate':
        throw new Error(`the store in memory has no ${write.kind}`);
    }
  }

  #closeIntents(machine: MachineId, at: Instant): boolean {
    const open = [...this.intents.values()].filter(
      (intent) => intent.machine === machine && intent.consumedAt === null && intent.revokedAt === null,
    );
    for (const intent of open) this.intents.set(intent.id, { ...intent, revokedAt: at });
    return open.length > 0;
  }

  #open = (id: string) => this.sessions.find((each) => each.id === id && each.openedAt !== null && each.ended === null);

  #session(id: string, changes: Partial<HeldSession>): void {
    const at = this.sessions.findIndex((each) => each.id === id);
    const held = this.sessions[at];
    if (held) this.sessions[at] = { ...held, ...changes };
  }

  #endSessions(machine: MachineId, ended: NonNullable<Session['ended']>, but: string | null): void {
    for (const each of this.sessions) {
      if (each.machine === machine && each.ended === null && each.id !== but) this.#session(each.id, { ended });
    }
  }

  #settle(id: EffectId, changes: Partial<Effect>): void {
    const held = this.written.find((effect) => effect.id === id);
    if (held?.state !== 'running') throw new Refused('the effect is not running');
    this.#change(id, changes);
  }

  #copy(): Tables {
    return {
      machines: new Map(this.machines),
      intents: new Map(this.intents),
      sessions: [...this.sessions],
      effects: [...this.written],
      trusted: new Set(this.trusted),
    };
  }

  #putBack({ machines, intents, sessions, effects, trusted }: Tables): void {
    this.machines.clear();
    for (const [id, machine] of machines) this.machines.set(id, machine);
    this.intents.clear();
    for (const [id, intent] of intents) this.intents.set(id, intent);
    this.sessions.splice(0, this.sessions.length, ...sessions);
    this.written.splice(0, this.written.length, ...effects);
    this.trusted.clear();
    for (const id of trusted) this.trusted.add(id);
  }

  async appendEvents(events: readonly NewEvent[]): Promise<void> {
    this.log.push(...events.map(checkedEvent));
  }

  async sessionsOf(machine: MachineId, limit: number): Promise<Session[]> {
    return this.sessions
      .filter((session) => session.machine === machine)
      .reverse()
      .slice(0, limit);
  }

  async effects(machine: MachineId): Promise<Effect[]> {
    return this.written.filter((effect) => effect.machine === machine);
  }

  async dueDeadlines(now: Instant, limit: number): Promise<Machine[]> {
    return this.#withDeadline()
      .filter(({ at }) => at <= now)
      .slice(0, limit)
      .map(({ machine }) => machine);
  }

  async nextDeadline(): Promise<Instant | null> {
    return this.#withDeadline()[0]?.at ?? null;
  }

  async takeEffects(now: Instant, limit: number): Promise<Effect[]> {
    const due = this.#firstInLine().filter((effect) => effect.notBefore <= now);
    return due
      .slice(0, limit)
      .map((effect) => this.#change(effect.id, { state: 'running', attempts: effect.attempts + 1 }));
  }

  async reclaimEffects(): Promise<number> {
    const running = this.written.filter((effect) => effect.state === 'running');
    for (const effect of running) this.#change(effect.id, { state: 'pending' });
    return running.length;
  }

  async nextEffectDue(): Promise<Instant | null> {
    const due = this.#firstInLine().map((effect) => effect.notBefore);
    return due.length > 0 ? Math.min(...due) : null;
  }

  #withDeadline(): { machine: Machine; at: Instant }[] {
    return [...this.machines.values()]
      .flatMap((machine) => (machine.lifecycle.deadline === null ? [] : [{ machine, at: machine.lifecycle.deadline }]))
      .sort((a, b) => a.at - b.at);
  }

  #firstInLine(): Effect[] {
    const open = this.written.filter((effect) => effect.state === 'pending' || effect.state === 'running');
    return open.filter(
      (effect) => effect.state === 'pending' && open.find((each) => each.machine === effect.machine)?.id === effect.id,
    );
  }

  #change(id: EffectId, changes: Partial<Effect>): Effect {
    const at = this.written.findIndex((effect) => effect.id === id);
    const held = this.written[at];
    if (!held) throw new ColdironError('not_found', `no effect ${id}`);
    const changed = { ...held, ...changes };
    this.written[at] = changed;
    return changed;
  }
}
