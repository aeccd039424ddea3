// The allocations of nodes: requests of people, and the workflow that carries them out by signed tasks of the nodes.

import { type Allocation, type AllocationId, isOpen, parseAllocationId, parseUserName } from '../domain/allocation.ts';
import { ColdironError } from '../domain/errors.ts';
import { newEvent, type Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import { type ObjectName, parseObjectName } from '../domain/names.ts';
import { shown } from '../domain/parsed.ts';
import type { TaskQueue } from '../identity/task-queue.ts';
import { type Decide, type MachineCommands, refusalError } from '../machines/execute.ts';
import type { StoredAllocation } from '../store/allocation-store.ts';
import type { CommandId } from '../store/change.ts';
import type { Store } from '../store/store.ts';
import { type AccessCaller, must, mustOwn, personOf } from './access-changes.ts';
import type { AccessKeys } from './access-keys.ts';
import { accountKeys } from './account-keys.ts';
import { allocate, changeKeySet, cleanUp, moveAllocation, requestRelease, whyNotFree } from './commands.ts';
import type { SudoPolicies } from './sudo-policies.ts';
import { encodedKeys, type NextStep, NO_KEYS, nextStep } from './workflow.ts';

export interface AllocationsDeps {
  readonly store: Pick<Store, 'allocation' | 'allocations' | 'machine' | 'command' | 'tasksOf' | 'appendEvents'>;
  readonly keys: Pick<AccessKeys, 'book' | 'sets' | 'siteKeys'>;
  readonly policies: Pick<SudoPolicies, 'forUser'>;
  readonly tasks: Pick<TaskQueue, 'run'>;
  readonly commands: Pick<MachineCommands, 'execute' | 'request'>;
  readonly machines: () => Iterable<Machine>;
  readonly now: () => Instant;
  readonly newId: () => string;
}

export interface NewAllocation {
  readonly user: string;
  readonly where: { readonly node: Machine } | { readonly sku: string };
  readonly keySet: string | undefined;
  readonly sudoPolicy?: string | undefined;
}

/** Far more tasks than a node gets during one state of an allocation. */
const TASKS_READ = 200;
/** From `requested` to the first task are two steps. */
const STEPS_AT_ONCE = 4;
const BY_APPLIANCE: Origin = { actor: 'appliance', correlationId: null };

export class Allocations {
  readonly #deps: AllocationsDeps;
  /** What was decided to rest, by node: each visit of a state costs one query. */
  #resting = new Map<MachineId, string>();
  readonly #warned = new Map<MachineId, string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: AllocationsDeps) {
    this.#deps = deps;
  }

  async find(text: string): Promise<StoredAllocation> {
    const id = parseAllocationId(text);
    const found = id.ok ? await this.#deps.store.allocation(id.value) : null;
    if (!found) {
      throw new ColdironError(
        'not_found',
        `there is no allocation ${shown(text)}`,
        [],
        'List them: coldiron allocations list',
      );
    }
    return found;
  }

  async request(
    { user: text, where, keySet, sudoPolicy }: NewAllocation,
    caller: AccessCaller,
  ): Promise<StoredAllocation> {
    const repeated = await this.#committedBefore(caller.origin);
    if (repeated) return repeated;
    const user = must(parseUserName(text), 'user');
    const chosen = await this.#keySet(keySet ?? null, user, caller);
    const id = must(parseAllocationId(this.#deps.newId()), 'id');
    const candidates = 'node' in where ? [where.node] : this.#freeNodes(where.sku);
    const sudo = sudoPolicy === undefined ? null : await this.#deps.policies.forUser(sudoPolicy, user);
    const request = { id, user, keySet: chosen, sudo, origin: caller.origin };
    let refusal: ColdironError | null = null;
    for (const machine of candidates) {
      await this.#requireKeys(machine, { user, keySet: chosen });
      const name = 'allocation.request';
      const input = { user, key_set: chosen, sudo_policy: sudoPolicy ?? null };
      const executed = await this.#deps.commands.execute(
        { machine: machine.id, name, input, origin: caller.origin },
        (known, context) => allocate(known, request, context),
      );
      if (executed.outcome === 'done') {
        await this.reconcile(machine.id);
        return this.find(executed.machine.allocation?.id ?? id);
      }
      refusal =
        executed.outcome === 'refused'
          ? refusalError(executed.refusal)
          : new ColdironError('conflict', `${machine.spec.hostname} was changed meanwhile`);
      // Another caller may have taken it: the next free node will do.
      if ('node' in where) break;
    }
    throw refusal ?? new ColdironError('conflict', 'there is no free node');
  }

  async release(text: string, caller: AccessCaller): Promise<StoredAllocation> {
    const { allocation } = await this.find(text);
    const reason = `released by ${caller.origin.actor}`;
    return this.#onNode(text, 'release', { attempt: allocation.attempt }, caller.origin, (known, context) =>
      requestRelease(known, { id: allocation.id, reason, origin: caller.origin }, context),
    );
  }

  /** An admin vouches that nothing of the account is left on the node. */
  async cleanUp(text: string, note: string, caller: AccessCaller): Promise<StoredAllocation> {
    const { allocation } = await this.find(text);
    const origin = { ...caller.origin, note };
    const reason = `cleaned up by ${origin.actor}: ${note}`;
    return this.#onNode(text, 'clean-up', { note }, origin, (known, context) =>
      cleanUp(known, { id: allocation.id, reason, origin }, context),
    );
  }

  async setKeySet(text: string, keySet: string | null, caller: AccessCaller): Promise<StoredAllocation> {
    const { allocation } = await this.find(text);
    if (!isOpen(allocation.state)) throw new ColdironError('conflict', `the allocation ${text} is released`);
    const chosen = await this.#keySet(keySet, allocation.user, caller);
    // The override of somebody else's keys is theirs or an admin's to change.
    if (chosen === null) mustOwn(caller, [allocation.user as string as ObjectName]);
    return this.#onNode(text, 'keys', { key_set: chosen }, caller.origin, (known, context) =>
      changeKeySet(known, { id: allocation.id, keySet: chosen, origin: caller.origin }, context),
    );
  }

  /** Takes every step that is due: for one node, or for all. */
  reconcile(only?: MachineId): Promise<void> {
    const turn = this.#turn.then(() => this.#reconcile(only));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #reconcile(only: MachineId | undefined): Promise<void> {
    const failures: unknown[] = [];
    const seen = new Set<MachineId>();
    for (const machine of [...this.#deps.machines()]) {
      if (!machine.allocation || (only !== undefined && machine.id !== only)) continue;
      seen.add(machine.id);
      // A node that fails does not delay the others.
      await this.#settle(machine.id).catch((error: unknown) => failures.push(error));
    }
    if (only === undefined) this.#resting = new Map([...this.#resting].filter(([id]) => seen.has(id)));
    if (failures.length > 0) throw failures[0];
  }

  async #settle(id: MachineId): Promise<void> {
    for (let steps = 0; steps < STEPS_AT_ONCE; steps += 1) {
      const machine = await this.#deps.store.machine(id);
      if (!machine?.allocation) return;
      const { allocation } = machine;
      const keys = await this.#accountKeys(machine, allocation);
      const known = JSON.stringify([allocation, machine.health, machine.lifecycle.since, encodedKeys(keys)]);
      if (this.#resting.get(id) === known) return;
      const isOnline = machine.health === 'online';
      const { state } = machine.lifecycle;
      const noTasks = state === 'active' ? null : `the node is ${state}`;
      const step = nextStep({
        ...{ allocation, noTasks, isOnline, keys, now: this.#deps.now() },
        stateSince: machine.lifecycle.since,
        tasks: await this.#deps.store.tasksOf(id, TASKS_READ),
      });
      if (step.do === 'rest') this.#resting.set(id, known);
      if (!(await this.#take(machine, allocation, step))) return;
    }
  }

  /** True: another step may follow at once. */
  async #take(machine: Machine, allocation: Allocation, step: NextStep): Promise<boolean> {
    switch (step.do) {
      case 'wait':
      case 'rest':
        return false;
      case 'move': {
        const { event, reason } = step;
        const move = { id: allocation.id, event, reason, origin: BY_APPLIANCE };
        const input = { allocation: allocation.id, attempt: allocation.attempt };
        await this.#deps.commands.execute(
          { machine: machine.id, name: `allocation.${event}`, input, origin: BY_APPLIANCE },
          (known, context) =>
            // The decision is about this state and attempt only.
            known.allocation?.state === allocation.state && known.allocation.attempt === allocation.attempt
              ? moveAllocation(known, move, context)
              : { outcome: 'nothing' },
        );
        return true;
      }
      case 'run':
        await this.#deps.tasks.run(machine, step, BY_APPLIANCE);
        return false;
      case 'quarantine': {
        const origin = { ...BY_APPLIANCE, note: `${step.reason} (allocation ${allocation.id})` };
        await this.#deps.commands.request(machine.id, 'quarantine', origin);
        return true;
      }
      case 'warn-keys':
        return this.#warnOnce(machine, allocation, step.task.id, step.reason);
    }
  }

  async #warnOnce({ id }: Machine, { id: allocation, user }: Allocation, task: string, reason: string): Promise<false> {
    if (this.#warned.get(id) === task) return false;
    this.#warned.set(id, task);
    const frame = { at: this.#deps.now(), machine: id, ...BY_APPLIANCE };
    await this.#deps.store.appendEvents([newEvent(frame, 'allocation.keys_failed', { allocation, user, reason })]);
    return false;
  }

  async #accountKeys(machine: Machine, allocation: Pick<Allocation, 'user' | 'keySet'>): Promise<string[]> {
    const { keys } = this.#deps;
    const [book, sets, sites] = [await keys.book(), await keys.sets(), await keys.siteKeys()];
    return accountKeys({ ...allocation, site: machine.spec.site }, { book, sets, sites });
  }

  async #requireKeys(machine: Machine, allocation: Pick<Allocation, 'user' | 'keySet'>): Promise<void> {
    if ((await this.#accountKeys(machine, allocation)).length > 0) return;
    throw new ColdironError('conflict', NO_KEYS, [], `Add a key: coldiron keys add FILE --owner ${allocation.user}`);
  }

  /** A key set of the user or of the caller; an admin may use any. */
  async #keySet(name: string | null, user: string, caller: AccessCaller): Promise<ObjectName | null> {
    if (name === null) return null;
    const set = (await this.#deps.keys.sets()).find((each) => each.name === name);
    if (!set) {
      throw new ColdironError(
        'not_found',
        `there is no key set ${shown(name)}`,
        [],
        'List the key sets: coldiron key-sets list',
      );
    }
    if (set.value.owner !== user && set.value.owner !== personOf(caller)) mustOwn(caller, [set.value.owner]);
    return must(parseObjectName(name), 'key_set');
  }

  /** By host name; `conflict` says why none is free. */
  #freeNodes(text: string): Machine[] {
    const sku = must(parseObjectName(text), 'sku');
    const nodes = [...this.#deps.machines()]
      .filter(({ spec }) => spec.sku === sku)
      .sort((a, b) => (a.spec.hostname < b.spec.hostname ? -1 : 1));
    const free = nodes.filter((machine) => whyNotFree(machine) === null);
    if (free.length > 0) return free;
    const reasons = nodes.map((machine) => `${machine.spec.hostname}: ${whyNotFree(machine)}`);
    const message = nodes.length === 0 ? `no node has the SKU ${sku}` : `no node of the SKU ${sku} is free`;
    throw new ColdironError(
      'conflict',
      message,
      reasons.slice(0, MAX_REASONS),
      'Release an allocation, or choose another SKU.',
    );
  }

  async #committedBefore({ commandId }: Origin): Promise<StoredAllocation | null> {
    if (commandId === undefined) return null;
    const recorded = await this.#deps.store.command(commandId as CommandId);
    return recorded?.machine.allocation ? this.find(recorded.machine.allocation.id) : null;
  }

  async #onNode(
    text: string,
    verb: string,
    input: { readonly [key: string]: string | number | null },
    origin: Origin,
    decide: Decide,
  ): Promise<StoredAllocation> {
    const { machine, allocation } = await this.find(text);
    const name = `allocation.${verb}`;
    const executed = await this.#deps.commands.execute(
      { machine, name, input: { allocation: allocation.id as AllocationId, ...input }, origin },
      decide,
    );
    if (executed.outcome === 'refused') throw refusalError(executed.refusal);
    if (executed.outcome === 'lost') throw new ColdironError('conflict', executed.by.reason);
    await this.reconcile(machine);
    return this.find(text);
  }
}

const MAX_REASONS = 20;
