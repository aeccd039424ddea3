// What people ask of a node's BMC: each wish is in the audit before the BMC hears of it, and in the trail with its outcome.

import { type NewEvent, newEvent, type Origin } from '../../domain/event.ts';
import type { BmcCommand } from '../../domain/events/bmc-events.ts';
import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import type { Bmc, BmcConsole } from '../bmc.ts';
import type { BmcOpener } from './bmc-opener.ts';
import { explained } from './failure.ts';

/** What is wanted: `power`, `bootdev`, …, with what tells two of them apart. Never with a secret. */
export interface Wish {
  readonly what: BmcCommand;
  readonly details: Omit<EventData<'bmc.done'>, 'effect' | 'what' | 'address'>;
}

export interface NodeBmcsSettings {
  readonly desk: Pick<BmcOpener, 'mustBeOpen' | 'using' | 'open'>;
  readonly store: Pick<Store, 'appendEvents' | 'appendAudit' | 'deletePersistentBootOverride'>;
  readonly now: () => Instant;
}

export interface Done<T> {
  /** `recorder`: the site's BMCs are not touched; it was only written down. */
  readonly mode: 'real' | 'recorder';
  readonly result: T;
}

export interface OpenedConsole {
  readonly console: BmcConsole;
  readonly closed: (because: string) => Promise<void>;
}

export class NodeBmcs {
  readonly #settings: NodeBmcsSettings;

  constructor(settings: NodeBmcsSettings) {
    this.#settings = settings;
  }

  /** Asks and changes nothing, so nothing is written down. */
  async ask<T>(machine: Machine, read: (bmc: Bmc) => Promise<T>): Promise<Done<T>> {
    const { desk } = this.#settings;
    const { mode } = desk.mustBeOpen(machine);
    try {
      return { mode, result: await desk.using(machine, () => undefined, read) };
    } catch (error) {
      throw explained(error, machine);
    }
  }

  async act<T>(machine: Machine, by: Origin, wish: Wish, work: (bmc: Bmc) => Promise<T>): Promise<Done<T>> {
    return this.audited(machine, by, wish, async (record) => {
      const { desk } = this.#settings;
      return desk.using(machine, record, work);
    });
  }

  /** The same for work that opens the BMC by itself. */
  async audited<T>(
    machine: Machine,
    by: Origin,
    wish: Wish,
    work: (record: (action: string) => void) => Promise<T>,
  ): Promise<Done<T>> {
    const { desk, store } = this.#settings;
    const { mode, endpoint } = desk.mustBeOpen(machine);
    await store.appendAudit([this.#audit(machine, by, wish)]);
    const events: NewEvent[] = [];
    const asked = { what: wish.what, ...wish.details };
    try {
      const result = await work((action) => {
        const recorded = { ...asked, action, address: endpoint.address };
        events.push(this.#event(machine, by, 'bmc.recorded', recorded));
      });
      // What a person has set replaces it, and is not undone at the next start.
      if (mode === 'real' && wish.what === 'bootdev') await store.deletePersistentBootOverride(machine.id);
      if (mode === 'real') events.push(this.#event(machine, by, 'bmc.done', asked));
      return { mode, result };
    } catch (error) {
      const explanation = explained(error, machine);
      const reason = explanation instanceof Error ? explanation.message : String(explanation);
      events.push(this.#event(machine, by, 'bmc.failed', { ...asked, reason }));
      throw explanation;
    } finally {
      await store.appendEvents(events);
    }
  }

  /** The console keeps its BMC open until `closed` is called. */
  async openConsole(machine: Machine, by: Origin, options: { readonly steal: boolean }): Promise<OpenedConsole> {
    const { desk, store } = this.#settings;
    const { result } = await this.audited(machine, by, { what: 'console', details: options }, async (record) => {
      const bmc = await desk.open(machine, record);
      try {
        return { bmc, console: await bmc.openConsole(options) };
      } catch (error) {
        await bmc.close();
        throw error;
      }
    });
    return {
      console: result.console,
      closed: async (because) => {
        await result.bmc.close();
        await store.appendEvents([this.#event(machine, by, 'bmc.console-closed', { because })]);
      },
    };
  }

  #audit(machine: Machine, { actor, correlationId }: Origin, { what, details }: Wish) {
    return {
      at: this.#settings.now(),
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
    return newEvent({ at: this.#settings.now(), actor, machine: machine.id, correlationId }, kind, data);
  }
}
