// Executes a command: read the machine, decide, commit. A concurrent write makes it decide again; if the store cannot report
// the outcome, the command's id resolves it.

import { createHash } from 'node:crypto';
import { ColdironError } from '../domain/errors.ts';
import { canonicalJson, type Json, type Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { Change, CommandId, RefusedChange } from '../store/change.ts';
import type { Store } from '../store/store.ts';
import type { CommandContext, Decision, Refusal } from './commands/decision.ts';
import { moved } from './commands/move.ts';
import type { LifecycleEvent } from './transitions.ts';

export interface ExecuteDeps {
  readonly store: Pick<Store, 'machine' | 'commit' | 'command' | 'appendEvents'>;
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly deployMinutes: (machine: Machine) => number | null;
}

export interface Command {
  readonly machine: MachineId;
  readonly name: string;
  /** The input that a repetition of the same command id must have. */
  readonly input: Json;
  readonly origin: Origin;
}

/** Called again after every lost race, with the current machine. */
export type Decide = (machine: Machine, context: CommandContext) => Decision | Promise<Decision>;

export type Executed =
  | { readonly outcome: 'done'; readonly machine: Machine }
  | { readonly outcome: 'refused'; readonly machine: Machine; readonly refusal: Refusal }
  /** The precondition of a write failed: another writer was first. Nothing was written. */
  | { readonly outcome: 'lost'; readonly machine: Machine; readonly by: RefusedChange }
  /** The command no longer applies. */
  | { readonly outcome: 'nothing'; readonly machine: Machine };

const MAX_TRIES = 5;

export class MachineCommands {
  readonly #deps: ExecuteDeps;

  constructor(deps: ExecuteDeps) {
    this.#deps = deps;
  }

  /** Moves the machine by one event of the table, or throws the reason why not. */
  async request(machine: MachineId, event: LifecycleEvent, origin: Origin, failureReason?: string): Promise<Machine> {
    const input = { note: origin.note ?? null, failure_reason: failureReason ?? null };
    return this.mustExecute({ machine, name: event, input, origin }, (known, context) =>
      moved(known, { event, origin, failureReason }, context),
    );
  }

  /** The same, for callers that treat everything but a change as an error. */
  async mustExecute(command: Command, decide: Decide): Promise<Machine> {
    const executed = await this.execute(command, decide);
    if (executed.outcome === 'refused') throw refusalError(executed.refusal);
    if (executed.outcome === 'lost') throw new ColdironError('conflict', executed.by.reason);
    return executed.machine;
  }

  async execute(command: Command, decide: Decide): Promise<Executed> {
    const { commandId, expectedVersion } = command.origin;
    const id = (commandId ?? this.#deps.newId()) as CommandId;
    const digest = digestOf(command);
    // Only an id that the caller chose can have been committed before the first attempt.
    let mayBeThere = commandId !== undefined;
    for (let tries = 1; ; tries += 1) {
      const before = mayBeThere ? await this.#recorded(id, digest) : null;
      if (before) return { outcome: 'done', machine: before };
      const machine = await this.#machine(command.machine);
      if (expectedVersion !== undefined && machine.version !== expectedVersion) throw staleVersion(machine);
      const decision = await decide(machine, this.#context(machine));
      if (decision.outcome === 'nothing') return { outcome: 'nothing', machine };
      if (decision.outcome === 'refused') return this.#refuse(machine, decision.refusal);
      try {
        return await this.#commit(machine, { ...decision.change, command: { id, digest } });
      } catch (error) {
        if (!isRepeatable(error) || tries === MAX_TRIES) throw error;
        mayBeThere = true;
      }
    }
  }

  async #commit(before: Machine, change: Change): Promise<Executed> {
    const committed = await this.#deps.store.commit(change);
    if (committed.outcome === 'refused') return { outcome: 'lost', machine: before, by: committed };
    return { outcome: 'done', machine: committed.machine };
  }

  async #refuse(machine: Machine, refusal: Refusal): Promise<Executed> {
    if (refusal.events.length > 0) await this.#deps.store.appendEvents(refusal.events);
    return { outcome: 'refused', machine, refusal };
  }

  async #recorded(id: CommandId, digest: string): Promise<Machine | null> {
    const recorded = await this.#deps.store.command(id);
    if (recorded && recorded.digest !== digest) {
      throw new ColdironError('conflict', `the command id ${id} was already used for another command`);
    }
    return recorded?.machine ?? null;
  }

  async #machine(id: MachineId): Promise<Machine> {
    const machine = await this.#deps.store.machine(id);
    if (!machine) throw new ColdironError('not_found', `there is no node with the id ${id}`);
    return machine;
  }

  #context(machine: Machine): CommandContext {
    const { now, newId, deployMinutes } = this.#deps;
    return { now: now(), id: newId(), deployMinutes: deployMinutes(machine) };
  }
}

export const refusalError = ({ code, message, details, hint }: Refusal): ColdironError =>
  new ColdironError(code, message, details, hint);

const isRepeatable = (error: unknown): boolean =>
  error instanceof ColdironError && (error.code === 'version_conflict' || error.code === 'outcome_unknown');

const staleVersion = ({ spec, version }: Machine): ColdironError =>
  new ColdironError('version_conflict', `${spec.hostname} has changed: it is at version ${version}`);

const digestOf = ({ name, machine, input }: Command): string =>
  createHash('sha256').update(canonicalJson({ name, machine, input })).digest('hex');
