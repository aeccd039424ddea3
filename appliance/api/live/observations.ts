// What the appliance has seen of machines and keeps in memory for the fleet rows: the last report of a running session, and
// whether the cables are as declared. It follows commits, and reads the store only once per machine and report.

import type { CableVerdict } from '../../domain/cabling.ts';
import { runsSession } from '../../domain/lifecycle.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import { plainLine } from '../../domain/plain-line.ts';
import type { SessionStep } from '../../domain/session.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { type CheckedCable, cablingOf } from '../../provisioning/cabling.ts';
import type { Publication } from '../../store/change.ts';
import type { Store } from '../../store/store.ts';
import type { FleetRowView, Observed } from './fleet-row.ts';

interface Deps {
  readonly store: Pick<Store, 'subscribe' | 'sessionsOf' | 'factsOf'>;
  readonly fleet: Fleet;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
  readonly log: { error(fields: object, message: string): void };
}

type Progress = NonNullable<FleetRowView['progress']>;
type Cabling = NonNullable<FleetRowView['cabling']>;

/** Reading in the background takes at most a tenth of the time, so that it does not slow the boot servers. */
const SLICE_MS = 5;
const PAUSE_MS = 45;

export class Observations {
  readonly #deps: Deps;
  readonly #progress = new Map<MachineId, Progress>();
  readonly #cabling = new Map<MachineId, Cabling>();
  /** The declared ports that a verdict is about. */
  readonly #ports = new Map<MachineId, string>();
  /** Machines to read, in order. */
  readonly #waiting = new Set<MachineId>();
  #onChange: (id: MachineId) => void = () => {};
  #reading: Promise<void> | null = null;
  #unsubscribe: (() => void) | null = null;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Follows commits, and reads in the background what was there before. `onChange`: a row must be built again. */
  start(onChange: (id: MachineId) => void): void {
    this.#onChange = onChange;
    this.#unsubscribe = this.#deps.store.subscribe((publication) => this.#observe(publication));
    for (const machine of this.#deps.fleet.machines()) if (needsReading(machine)) this.#waiting.add(machine.id);
    this.#read();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.#waiting.clear();
    await this.#reading;
    for (const known of [this.#progress, this.#cabling, this.#ports]) known.clear();
  }

  of(id: MachineId): Observed {
    return { progress: this.#progress.get(id) ?? null, cabling: this.#cabling.get(id) ?? null };
  }

  /** The inventory may declare other ports now. */
  machineChanged(machine: Machine): void {
    const ports = declaredPorts(machine);
    if (ports === (this.#ports.get(machine.id) ?? '')) return;
    if (ports === '') this.#forget(machine.id);
    else this.#enqueue(machine.id);
  }

  machineGone(id: MachineId): void {
    this.#forget(id);
    this.#progress.delete(id);
  }

  #forget(id: MachineId): void {
    this.#cabling.delete(id);
    this.#ports.delete(id);
    this.#waiting.delete(id);
  }

  /** Called before the commit resolves: it only takes note. */
  #observe({ change }: Publication): void {
    if (change === null) return;
    const id = change.machine;
    for (const write of change.writes) {
      switch (write.kind) {
        case 'report-step':
          this.#progress.set(id, progressOf(write.report.step));
          this.#onChange(id);
          break;
        case 'open-session':
        case 'end-session':
        case 'end-sessions':
          if (this.#progress.delete(id)) this.#onChange(id);
          break;
        case 'put-facts':
          this.#enqueue(id);
          break;
      }
    }
  }

  #enqueue(id: MachineId): void {
    this.#waiting.add(id);
    this.#read();
  }

  #read(): void {
    this.#reading ??= this.#readAll()
      .catch((err: unknown) => this.#deps.log.error({ err }, 'cannot read what sessions reported'))
      .finally(() => {
        this.#reading = null;
      });
  }

  async #readAll(): Promise<void> {
    const { fleet, now, pause } = this.#deps;
    // The caller is a subscriber: the reading begins after the commit.
    await pause(0);
    let began = now();
    for (const id of this.#waiting) {
      this.#waiting.delete(id);
      const machine = fleet.machineById(id);
      if (machine) await this.#readOne(machine);
      if (now() - began < SLICE_MS) continue;
      await pause(PAUSE_MS);
      began = now();
    }
  }

  async #readOne(machine: Machine): Promise<void> {
    const { store, fleet } = this.#deps;
    const { id } = machine;
    if (runsSession(machine.lifecycle.state) && !this.#progress.has(id)) {
      const [session] = await store.sessionsOf(id, 1);
      if (session?.openedAt != null && session.ended === null && session.last && !this.#progress.has(id)) {
        this.#progress.set(id, progressOf(session.last));
      }
    }
    const ports = declaredPorts(machine);
    if (ports !== '') {
      const cabling = summaryOf(await cablingOf({ fleet, store }, machine));
      this.#ports.set(id, ports);
      if (cabling === null) this.#cabling.delete(id);
      else this.#cabling.set(id, cabling);
    }
    this.#onChange(id);
  }
}

const needsReading = (machine: Machine): boolean =>
  runsSession(machine.lifecycle.state) || declaredPorts(machine) !== '';

const declaredPorts = ({ spec: { interfaces } }: Machine): string =>
  interfaces
    .flatMap(({ name, mac, switch: port }) => (port ? [`${name} ${mac} ${port.name} ${port.port}`] : []))
    .join('\n');

const progressOf = ({ step, percent, message }: SessionStep): Progress => ({
  step: plainLine(step),
  percent,
  detail: message === null ? null : plainLine(message),
});

/** The worst first. */
const ORDER: readonly CableVerdict[] = ['another-port', 'not-heard', 'as-declared'];

/** Null: no session has reported the cards yet. */
export function summaryOf(cables: readonly CheckedCable[]): Cabling | null {
  const declared = cables.filter(({ declared: port }) => port !== null);
  if (declared.every(({ seen, link }) => seen === null && link === null)) return null;
  for (const verdict of ORDER) {
    const found = declared.filter((cable) => cable.verdict === verdict);
    if (found.length === 0) continue;
    const summary =
      verdict === 'as-declared' ? 'as declared' : found.map(({ name, summary: text }) => `${name}: ${text}`).join('; ');
    return { verdict, summary: plainLine(summary) };
  }
  return null;
}
