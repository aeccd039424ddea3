// Requests of operators to a node's BMC: each is in the audit log before it is executed, and in the trail with its outcome.

import { type NewEvent, newEvent, type Origin } from '../../domain/event.ts';
import type { BmcCommand } from '../../domain/events/bmc-events.ts';
import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import type { Bmc, BmcConsole } from '../bmc.ts';
import type { BmcWork } from '../gates.ts';
import type { BmcOpener } from './bmc-opener.ts';
import { explained } from './failure.ts';
import type { NodeConsoles } from './node-consoles.ts';

/** The verb, `power`, `bootdev`, …, and its parameters. Never contains a secret. */
export interface BmcRequest {
  readonly what: BmcCommand;
  readonly details: Omit<EventData<'bmc.done'>, 'effect' | 'what' | 'address'>;
}

export interface NodeBmcsDeps {
  readonly opener: Pick<BmcOpener, 'mustBeOpen' | 'using'>;
  readonly store: Pick<Store, 'appendEvents' | 'appendAudit' | 'deletePersistentBootOverride'>;
  readonly consoles: Pick<NodeConsoles, 'view'>;
  readonly now: () => Instant;
  /** The verb that runs at the BMC with this address; left out: not known. */
  readonly running?: (address: string) => BmcWork | null;
}

export interface ConsoleRequest {
  /** Takes the typing over, or the console from a client outside this appliance. */
  readonly steal: boolean;
  readonly readOnly: boolean;
}

export interface Done<T> {
  /** `recorder`: the site does not use its BMCs; the action was only recorded. */
  readonly mode: 'real' | 'recorder';
  readonly result: T;
}

export interface OpenedConsole {
  readonly console: BmcConsole;
  readonly closed: (because: string) => Promise<void>;
}

export class NodeBmcs {
  readonly #deps: NodeBmcsDeps;

  constructor(deps: NodeBmcsDeps) {
    this.#deps = deps;
  }

  /** Read-only, so nothing is recorded. */
  async ask<T>(machine: Machine, read: (bmc: Bmc) => Promise<T>): Promise<Done<T>> {
    const { opener } = this.#deps;
    const { mode } = opener.mustBeOpen(machine);
    try {
      return { mode, result: await opener.using(machine, () => undefined, read) };
    } catch (error) {
      throw explained(error, machine);
    }
  }

  /** What the appliance itself does at the BMC now: a question waits for its end. */
  running({ spec: { bmc } }: Machine): BmcWork | null {
    return bmc === null ? null : (this.#deps.running?.(bmc.address) ?? null);
  }

  async act<T>(machine: Machine, by: Origin, request: BmcRequest, work: (bmc: Bmc) => Promise<T>): Promise<Done<T>> {
    return this.audited(machine, by, request, async (record) => {
      const { opener } = this.#deps;
      return opener.using(machine, record, work);
    });
  }

  /** The same for work that opens the BMC itself. */
  async audited<T>(
    machine: Machine,
    by: Origin,
    request: BmcRequest,
    work: (record: (action: string) => void) => Promise<T>,
  ): Promise<Done<T>> {
    const { opener, store } = this.#deps;
    const { mode, endpoint } = opener.mustBeOpen(machine);
    await store.appendAudit([this.#audit(machine, by, request)]);
    const events: NewEvent[] = [];
    const details = { what: request.what, ...request.details };
    try {
      const result = await work((action) => {
        const recorded = { ...details, action, address: endpoint.address };
        events.push(this.#event(machine, by, 'bmc.recorded', recorded));
      });
      // The choice of the operator replaces the override, which must not be removed at the next start.
      if (mode === 'real' && request.what === 'bootdev') await store.deletePersistentBootOverride(machine.id);
      if (mode === 'real') events.push(this.#event(machine, by, 'bmc.done', details));
      return { mode, result };
    } catch (error) {
      const explanation = explained(error, machine);
      const reason = explanation instanceof Error ? explanation.message : String(explanation);
      events.push(this.#event(machine, by, 'bmc.failed', { ...details, reason }));
      throw explanation;
    } finally {
      await store.appendEvents(events);
    }
  }

  /** The caller must call `closed` with the reason. */
  async openConsole(machine: Machine, by: Origin, { steal, readOnly }: ConsoleRequest): Promise<OpenedConsole> {
    const { opener, store, consoles } = this.#deps;
    const details = readOnly ? { steal, read_only: true } : { steal };
    const { result } = await this.audited(machine, by, { what: 'console', details }, async (record) => {
      const viewed = opener.mustBeOpen(machine).mode === 'real';
      if (viewed) return consoles.view(machine, { who: by.actor, readOnly, steal });
      return opener.using(machine, record, (bmc) => bmc.openConsole({ steal }));
    });
    return {
      console: result,
      closed: async (because) => {
        await result.close();
        await store.appendEvents([this.#event(machine, by, 'bmc.console-closed', { because })]);
      },
    };
  }

  #audit(machine: Machine, { actor, correlationId }: Origin, { what, details }: BmcRequest) {
    return {
      at: this.#deps.now(),
      actor,
      action: `bmc.${what}`,
      target: `node:${machine.spec.hostname}`,
      correlationId,
      before: null,
      after: details,
    };
  }

  #event<Kind extends EventKind>(
    machine: Machine,
    { actor, correlationId }: Origin,
    kind: Kind,
    data: EventData<Kind>,
  ): NewEvent {
    return newEvent({ at: this.#deps.now(), actor, machine: machine.id, correlationId }, kind, data);
  }
}
