// The fleet rows as text, built once for all listeners. Rows change only in `refresh`, so that every listener sees the same order of changes.

import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { type FleetRowView, fleetRow, type Observed } from './fleet-row.ts';
import type { RowEntry } from './stream-filter.ts';

interface Deps {
  readonly fleet: Fleet;
  readonly observed: (id: MachineId) => Observed;
  readonly now: () => Instant;
  /** Lets other work proceed. */
  readonly breathe: () => Promise<void>;
}

export interface RowChange {
  readonly id: MachineId;
  readonly before: RowEntry | null;
  readonly after: RowEntry | null;
}

/** Rows in one message, and built without a pause. */
export const ROWS_AT_ONCE = 500;

export class RowBook {
  readonly #deps: Deps;
  readonly #rows = new Map<MachineId, RowEntry>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Builds all rows. */
  async fill(): Promise<void> {
    this.#rows.clear();
    let built = 0;
    for (const machine of [...this.#deps.fleet.machines()]) {
      this.#rows.set(machine.id, this.#entryOf(machine));
      built += 1;
      if (built % ROWS_AT_ONCE === 0) await this.#deps.breathe();
    }
  }

  clear(): void {
    this.#rows.clear();
  }

  get size(): number {
    return this.#rows.size;
  }

  ids(): IterableIterator<MachineId> {
    return this.#rows.keys();
  }

  get(id: MachineId): RowEntry | null {
    return this.#rows.get(id) ?? null;
  }

  /** Builds these rows again; returns those that differ. */
  refresh(ids: Iterable<MachineId>): RowChange[] {
    const changes: RowChange[] = [];
    for (const id of ids) {
      const machine = this.#deps.fleet.machineById(id);
      const before = this.#rows.get(id) ?? null;
      const after = machine && this.#entryOf(machine);
      if (before?.json === after?.json) continue;
      if (after) this.#rows.set(id, after);
      else this.#rows.delete(id);
      changes.push({ id, before, after });
    }
    return changes;
  }

  rowOf(machine: Machine): FleetRowView {
    const { fleet, observed, now } = this.#deps;
    return fleetRow(machine, observed(machine.id), { network: (name) => fleet.network(name), now: now() });
  }

  #entryOf(machine: Machine): RowEntry {
    const { id, spec } = machine;
    return { id, hostname: spec.hostname, site: spec.site, json: JSON.stringify(this.rowOf(machine)) };
  }
}
