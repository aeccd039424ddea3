// Allocations over the store in memory, with nodes that execute tasks, and a process that can die before or after any write.

import { Allocations } from '../../appliance/allocations/allocations.ts';
import type { AccessVersion } from '../../appliance/domain/access-object.ts';
import type { Allocation, AllocationId } from '../../appliance/domain/allocation.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { Machine, MachineId } from '../../appliance/domain/machine.ts';
import { isOver, type Task, type TaskId, taskDefinition } from '../../appliance/domain/task.ts';
import { MachineCommands } from '../../appliance/machines/execute.ts';
import type { Change } from '../../appliance/store/change.ts';
import { aLife, aMachine } from '../machines/machines.ts';
import { MemoryStore } from '../machines/memory-store.ts';
import { objectName, specOf } from '../store/samples.ts';

/** The process died. */
export class Crash extends Error {}

export const ALICE = { origin: { actor: 'token:alice', correlationId: null }, role: 'admin' } as const;
export const START = Date.UTC(2026, 0, 1);

export class AllocationWorld {
  readonly store: MemoryStore;
  readonly machines: MachineId[];
  readonly tasks: Task[] = [];
  readonly records = new Map<AllocationId, { machine: MachineId; allocation: Allocation }>();
  /** The allocations that have an account, by node. */
  readonly accounts = new Map<MachineId, Set<string>>();
  keys = new Map([['1'.repeat(32), key('one')]]);
  now = START;
  /** The write that the process dies at, and on which side of it. */
  crash: { in: number; side: 'before' | 'after' } | null = null;
  #ids = 0;
  #allocations: Allocations;

  constructor(nodes = 2) {
    const machines = Array.from({ length: nodes }, (_, n) => ({
      ...aMachine({ number: n + 1, lifecycle: aLife('active') }),
      ...({ spec: specOf(n + 1), health: 'online' } as const),
    }));
    this.store = new MemoryStore(...machines);
    this.machines = machines.map(({ id }) => id);
    for (const id of this.machines) this.accounts.set(id, new Set());
    this.#allocations = this.#open();
  }

  get allocations(): Allocations {
    return this.#allocations;
  }

  machine(n: number): Machine {
    const machine = this.store.machines.get(this.machines[n % this.machines.length] as MachineId);
    if (!machine) throw new Error('no such machine');
    return machine;
  }

  commands(): MachineCommands {
    return new MachineCommands({
      store: { ...this.#verbs(), appendEvents: async () => undefined },
      ...{ now: () => this.now, newId: () => this.#id(), deployMinutes: () => null },
    });
  }

  /** The process starts again: everything that it had in memory is lost. */
  restart(): void {
    this.crash = null;
    this.#allocations = this.#open();
  }

  #id(): string {
    this.#ids += 1;
    return `00000000-0000-4000-8000-${this.#ids.toString(16).padStart(12, '0')}`;
  }

  #verbs() {
    return {
      machine: (id: MachineId) => this.store.machine(id),
      command: (id: never) => this.store.command(id),
      commit: (change: Change) =>
        this.#write(async () => {
          const committed = await this.store.commit(change);
          if (committed.outcome === 'committed') this.#follow(change);
          return committed;
        }),
    };
  }

  #open(): Allocations {
    return new Allocations({
      store: {
        ...this.#verbs(),
        allocation: async (id) => this.records.get(id) ?? null,
        allocations: async () => [...this.records.values()],
        tasksOf: async (machine) => this.tasks.filter((task) => task.machine === machine).reverse(),
        appendEvents: async () => undefined,
      },
      keys: {
        book: async () => this.keys,
        sets: async (): Promise<AccessVersion<'key-set'>[]> => [],
        siteKeys: async (): Promise<AccessVersion<'site-keys'>[]> => [],
      },
      policies: { forUser: () => Promise.reject(new ColdironError('not_found', 'no policy')) },
      tasks: { run: (machine, order) => this.#write(async () => this.#create(machine, order)) },
      commands: this.commands(),
      machines: () => this.store.machines.values(),
      now: () => this.now,
      newId: () => this.#id(),
    });
  }

  async #write<T>(work: () => Promise<T>): Promise<T> {
    const { crash } = this;
    if (crash) crash.in -= 1;
    const dies = crash !== null && crash.in <= 0;
    if (dies && crash.side === 'before') throw new Crash();
    const result = await work();
    if (dies) throw new Crash();
    return result;
  }

  #follow({ machine, writes, at }: Change): void {
    for (const write of writes) {
      if (write.kind === 'put-allocation') {
        this.records.set(write.allocation.id, { machine, allocation: write.allocation });
      }
      if (write.kind !== 'cancel-tasks') continue;
      const { task: kind } = write.cancellation;
      this.#update((task) =>
        task.machine === machine && task.kind === kind && (task.state === 'queued' || task.state === 'leased')
          ? { ...task, state: 'expired', finishedAt: at }
          : task,
      );
    }
  }

  #create(machine: Machine, order: { kind: Task['kind']; parameters: Task['parameters']; within?: number }): Task {
    if (machine.lifecycle.state !== 'active') throw new ColdironError('conflict', 'it gets no tasks');
    const task: Task = {
      ...{ id: this.#id() as TaskId, machine: machine.id, kind: order.kind, parameters: order.parameters },
      ...{ state: 'queued', actor: 'appliance', createdAt: this.now, expiresAt: this.now + (order.within ?? 0) },
      ...{ payload: '', signature: '', signingKey: '', lease: null, leaseUntil: null, attempts: 0 },
      ...{ finishedAt: null, result: null },
    };
    this.tasks.push(task);
    return task;
  }

  #update(change: (task: Task) => Task): void {
    for (const [at, task] of this.tasks.entries()) this.tasks[at] = change(task);
  }

  /** The node executes its oldest task: `lost` has its effect, and no result is reported. */
  execute(n: number, how: 'succeeds' | 'fails' | 'lost'): void {
    const machine = this.machine(n);
    if (machine.health !== 'online' || machine.lifecycle.state !== 'active') return;
    const task = this.tasks.find((each) => each.machine === machine.id && each.state === 'queued');
    if (!task) return;
    const accounts = this.accounts.get(machine.id) ?? new Set();
    const { allocation = '' } = task.parameters;
    if (how !== 'fails') {
      if (task.kind === 'remove-account') accounts.delete(allocation);
      else if (task.kind === 'provision-account') {
        accounts.clear();
        accounts.add(allocation);
      }
    }
    const ended =
      how === 'lost'
        ? ({ state: 'running', leaseUntil: this.now + taskDefinition(task.kind).limit } as const)
        : ({
            ...({ state: how === 'succeeds' ? 'succeeded' : 'failed', finishedAt: this.now } as const),
            result: { succeeded: how === 'succeeds', output: how },
          } as const);
    this.#update((each) => (each.id === task.id ? { ...each, ...ended } : each));
  }

  /** As the store sweeps tasks: a lost one is repeated if its kind allows that. */
  pass(milliseconds: number): void {
    this.now += milliseconds;
    this.#update((task) => {
      if (isOver(task.state)) return task;
      if (task.state === 'running' && (task.leaseUntil ?? 0) > this.now) return task;
      const isRepeated = task.state !== 'running' || taskDefinition(task.kind).repeatable;
      if (isRepeated && this.now < task.expiresAt) return { ...task, state: 'queued', leaseUntil: null };
      return { ...task, state: task.state === 'running' ? 'unknown' : 'expired', finishedAt: this.now };
    });
  }

  change(n: number, changes: Partial<Pick<Machine, 'health' | 'lifecycle'>>): void {
    const machine = this.machine(n);
    this.store.machines.set(machine.id, { ...machine, ...changes, version: machine.version + 1 });
  }
}

export const key = (line: string) => ({
  ...{ owner: objectName('alice'), line, fingerprint: `SHA256:${line}`, comment: '', removed: false },
});
