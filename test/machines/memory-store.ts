// The verbs of the store that the runner needs, in memory. It outlives a runner as the file outlives a process.

import type { Effect, EffectId } from '../../appliance/domain/effect.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { NewAuditEntry, NewEvent } from '../../appliance/domain/event.ts';
import type { Instant } from '../../appliance/domain/instant.ts';
import type { Machine, MachineId } from '../../appliance/domain/machine.ts';
import type { Transition } from '../../appliance/store/store.ts';
import { checkedEvent } from '../domain/events/checked-event.ts';

export class MemoryStore {
  readonly machines = new Map<MachineId, Machine>();
  readonly written: Effect[] = [];
  readonly log: NewEvent[] = [];
  readonly audit: NewAuditEntry[] = [];

  constructor(...machines: Machine[]) {
    for (const machine of machines) this.machines.set(machine.id, machine);
  }

  async machine(id: MachineId): Promise<Machine | null> {
    return this.machines.get(id) ?? null;
  }

  async transition(transition: Transition): Promise<Machine> {
    const held = this.machines.get(transition.machine);
    if (held?.version !== transition.version) throw new ColdironError('version_conflict', 'it has changed');
    const moved = { ...held, lifecycle: transition.lifecycle, version: held.version + 1 };
    this.machines.set(moved.id, moved);
    for (const effect of transition.effects) {
      const seq = this.written.length + 1;
      this.written.push({ ...effect, seq, state: 'pending', attempts: 0, notBefore: 0, lastError: null });
    }
    this.log.push(...transition.events.map(checkedEvent));
    this.audit.push(...transition.audit);
    return moved;
  }

  async appendEvents(events: readonly NewEvent[]): Promise<void> {
    this.log.push(...events.map(checkedEvent));
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

  async finishEffect(id: EffectId, events: readonly NewEvent[]): Promise<void> {
    this.#change(id, { state: 'done' });
    this.log.push(...events.map(checkedEvent));
  }

  async retryEffect(id: EffectId, notBefore: Instant, error: string): Promise<void> {
    this.#change(id, { state: 'pending', notBefore, lastError: error });
  }

  async failEffect(id: EffectId, error: string, events: readonly NewEvent[]): Promise<void> {
    this.#change(id, { state: 'failed', lastError: error });
    this.log.push(...events.map(checkedEvent));
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
    if (changes.state !== 'running' && held.state !== 'running') throw new ColdironError('conflict', 'not running');
    const changed = { ...held, ...changes };
    this.written[at] = changed;
    return changed;
  }
}
