// What operators ask of a node: commission, deploy, release, rescue, drain. What destroys data is armed first, by name and for
// one chassis, and only then does the machine's life move on.

import { ColdironError } from '../domain/errors.ts';
import { type NewEvent, newEvent, type Origin } from '../domain/event.ts';
import type { EventData } from '../domain/events/event-table.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import type { ArmedIntent, IntentId, IntentKind } from '../domain/intent.ts';
import { type Machine, macsOf } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import { DEPLOY_MINUTES_WITHOUT_PROFILE, STATES } from '../domain/states.ts';
import type { LifecycleRunner } from '../machines/runner.ts';
import { step } from '../machines/step.ts';
import type { LifecycleEvent } from '../machines/transitions.ts';
import type { Store } from '../store/store.ts';
import { deployProblems, type GuardDeps } from './guards.ts';
import type { WorkOrders } from './orders/work-orders.ts';

export interface NodeWorkDeps extends GuardDeps {
  readonly orders: Pick<WorkOrders, 'plan' | 'seed' | 'rescueKeys'>;
  readonly store: Pick<Store, 'machine' | 'armIntent' | 'revokeIntents' | 'endSessionsOf'>;
  readonly runner: Pick<LifecycleRunner, 'request'>;
  readonly refreshFleet: () => Promise<void>;
  readonly newId: () => string;
}

/** What needs nothing but the machine's life. */
export type PlainWork = 'commission' | 'drain' | 'drained' | 'undrain' | 'rescue-ended';

export class NodeWork {
  readonly #deps: NodeWorkDeps;

  constructor(deps: NodeWorkDeps) {
    this.#deps = deps;
  }

  /** `not_deployable` lists every reason, and nothing was armed. */
  async deploy(known: Machine, chosen: ObjectName | null, request: Origin): Promise<Machine> {
    const machine = await this.#now(known);
    const { hostname } = machine.spec;
    const profile = chosen ?? machine.spec.profile;
    if (profile === null) {
      throw new ColdironError('not_deployable', `${hostname} cannot be deployed`, [
        'it has no profile: declare one, or name one',
      ]);
    }
    const problems = await deployProblems(this.#deps, { machine, profile });
    if (problems.length > 0) {
      throw new ColdironError('not_deployable', `${hostname} cannot be deployed`, [...new Set(problems)]);
    }
    const minutes = this.#deps.fleet.profile(profile)?.deployMinutes ?? DEPLOY_MINUTES_WITHOUT_PROFILE;
    return this.#armed(machine, { kind: 'deploy', profile, minutes, event: 'deploy' }, request);
  }

  async release(known: Machine, request: Origin): Promise<Machine> {
    const machine = await this.#now(known);
    const minutes = Number(STATES.releasing.deadline);
    return this.#armed(machine, { kind: 'erase', profile: null, minutes, event: 'release' }, request);
  }

  async rescue(machine: Machine, request: Origin): Promise<Machine> {
    if (this.#deps.orders.rescueKeys(machine).length === 0) {
      const { hostname } = machine.spec;
      throw new ColdironError(
        'conflict',
        `nobody could log in to ${hostname}: no account with admin: true of its site, profile or its own has a key`,
      );
    }
    return this.plain(machine, 'rescue', request);
  }

  /**
   * Calls off commissioning, deploying or releasing. What was armed is taken back first: whether a machine got it before decides
   * whether anything can have been written.
   */
  async cancel(known: Machine, request: Origin): Promise<Machine> {
    const { store, runner, now, refreshFleet } = this.#deps;
    const { id, spec, lifecycle } = await this.#now(known);
    if (!STATES[lifecycle.state].cancellable) {
      throw new ColdironError('conflict', `${spec.hostname} is ${lifecycle.state}: there is nothing to call off`);
    }
    const at = now();
    await store.revokeIntents(id, at, this.#event(known, at, 'intent.revoked', request, { state: lifecycle.state }));
    const machine = await this.#now(known);
    const begun = lifecycle.state !== 'commissioning' && machine.intent !== null && machine.intent.consumedAt !== null;
    const failureReason = `called off by ${request.actor}${begun ? ', after it had begun' : ', before anything was written'}`;
    try {
      const moved = await runner.request(id, begun ? 'break-off' : 'cancel', { ...request, failureReason });
      await store.endSessionsOf(id, 'cancelled', now(), failureReason);
      return moved;
    } finally {
      await refreshFleet();
    }
  }

  async plain(machine: Machine, event: PlainWork | 'rescue', request: Origin): Promise<Machine> {
    const moved = await this.#deps.runner.request(machine.id, event, request);
    await this.#deps.refreshFleet();
    return moved;
  }

  /** The caller may have looked a moment ago. */
  async #now({ id, spec }: Machine): Promise<Machine> {
    const machine = await this.#deps.store.machine(id);
    if (machine) return machine;
    throw new ColdironError('not_found', `${spec.hostname} is no longer there`);
  }

  async #armed(
    machine: Machine,
    work: { kind: IntentKind; profile: ObjectName | null; minutes: number; event: LifecycleEvent },
    request: Origin,
  ): Promise<Machine> {
    const { store, runner, now, newId, refreshFleet } = this.#deps;
    const { hostname, uuid } = machine.spec;
    const at = now();
    const possible = step(machine.lifecycle, work.event, { now: at, profileDeployMinutes: null });
    if (!possible.moved) throw new ColdironError('conflict', `${hostname}: ${possible.reason}`);
    const macs = macsOf(machine.spec);
    if (macs.length === 0)
      throw new ColdironError('conflict', `${hostname} has no MAC address that it could be armed for`);
    const intent: ArmedIntent = {
      id: newId() as IntentId,
      kind: work.kind,
      machine: machine.id,
      macs,
      uuid,
      profile: work.profile,
      actor: request.actor,
      armedAt: at,
      expiresAt: at + work.minutes * MINUTE,
      consumedAt: null,
      revokedAt: null,
    };
    await this.#arm(intent, machine, request);
    try {
      const moved = await runner.request(machine.id, work.event, request);
      // What an earlier stay left open ends with it: the next script makes the next ticket.
      await store.endSessionsOf(machine.id, 'cancelled', at, `${work.event} was asked for`);
      return moved;
    } catch (error) {
      const event = this.#event(machine, at, 'intent.revoked', request, { intent: intent.id });
      await store.revokeIntents(machine.id, now(), event);
      throw error;
    } finally {
      await refreshFleet();
    }
  }

  async #arm(intent: ArmedIntent, machine: Machine, request: Origin): Promise<void> {
    const { id, kind, profile, armedAt, expiresAt, macs, uuid } = intent;
    const terms = { intent: id, kind, profile, macs, uuid, expires_at: expiresAt };
    await this.#deps.store.armIntent(intent, this.#event(machine, armedAt, 'intent.armed', request, terms), {
      at: armedAt,
      actor: request.actor,
      action: 'intent.armed',
      target: `node:${machine.spec.hostname}`,
      correlationId: request.correlationId,
      before: null,
      after: terms,
    });
  }

  #event<Kind extends 'intent.armed' | 'intent.revoked'>(
    machine: Machine,
    at: Instant,
    kind: Kind,
    { actor, correlationId }: Origin,
    data: EventData<Kind>,
  ): NewEvent {
    return newEvent({ at, actor, machine: machine.id, correlationId }, kind, data);
  }
}
