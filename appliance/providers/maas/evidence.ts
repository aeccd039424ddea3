// Brings what MAAS knows about a machine into its trail: events, script results and the end of the installation log, each once. The stored
// events are the record of what was brought: a process that is killed in between continues after the last one.

import { newEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { Onboarding } from '../../domain/onboarding.ts';
import { plainLine } from '../../domain/plain-line.ts';
import { beginsPrivateKey, endsPrivateKey, MASKED, maskSecrets } from '../../domain/secret-masks.ts';
import type { Store } from '../../store/store.ts';
import {
  FAILED_SCRIPT,
  type MaasApi,
  type MaasEvent,
  type ResultKind,
  type ScriptResult,
  UNFINISHED_SCRIPT,
} from './maas-api.ts';
import { MaasRejected } from './maas-error.ts';
import { type MaasMachine, STATUS } from './maas-machine.ts';

export interface EvidenceDeps {
  readonly api: Pick<MaasApi, 'events' | 'results' | 'lastEvent'>;
  readonly store: Pick<Store, 'events' | 'appendEvents'>;
  readonly now: () => Instant;
}

/** As stored, the oldest first. */
export interface Evidence {
  readonly events: readonly StoredMaasEvent[];
  readonly results: readonly StoredResult[];
}

export interface StoredMaasEvent {
  readonly at: Instant;
  readonly event_id: number;
  readonly level: string;
  readonly type: string;
  readonly description: string;
}

export interface StoredResult {
  readonly result_id: number;
  readonly set: string;
  readonly script: string;
  readonly status: string;
  readonly failed: boolean;
  readonly output: readonly string[];
}

/** An event with a lower id may become visible after one with a higher id. */
const LATE = 200;
const REMEMBERED = 600;
const LONGEST_TEXT = 500;
const MOST_LINES = 40;

/** The results that a status makes final. */
const SETS: Readonly<Record<number, readonly ResultKind[]>> = {
  [STATUS.failedCommissioning]: ['commissioning', 'testing'],
  [STATUS.failedTesting]: ['commissioning', 'testing'],
  [STATUS.ready]: ['commissioning', 'testing'],
  [STATUS.deployed]: ['installation'],
  [STATUS.failedDeployment]: ['installation'],
};

export class EvidenceReader {
  readonly #deps: EvidenceDeps;
  /** Results are read again only when their machine has changed; in a new process, once more. */
  readonly #read = new Map<string, string>();

  constructor(deps: EvidenceDeps) {
    this.#deps = deps;
  }

  /** The id of the last event that happened before: those up to it are not brought. */
  lastEvent(systemId: string): Promise<number> {
    return this.#deps.api.lastEvent(systemId);
  }

  async gather(run: Onboarding, node: MachineId, machine: MaasMachine): Promise<Evidence> {
    const known = await this.#stored(node, machine.systemId);
    const events = await this.#newEvents(machine.systemId, known);
    const results = await this.#newResults(machine, known);
    if (events.length + results.length === 0) return known.evidence;
    const about = { onboarding: run.id, maas_system_id: machine.systemId };
    const frame = { at: this.#deps.now(), actor: 'maas', machine: node, correlationId: run.correlationId };
    await this.#deps.store.appendEvents([
      ...events.map((event) => newEvent(frame, kindOf(event), { ...about, ...eventData(event) })),
      ...results.map(({ set, result }) => {
        const kind = FAILED_SCRIPT.has(result.status) ? 'maas.result-failed' : 'maas.result';
        return newEvent(frame, kind, { ...about, ...resultData(set, result) });
      }),
    ]);
    return (await this.#stored(node, machine.systemId)).evidence;
  }

  async #stored(node: MachineId, systemId: string) {
    const rows = await this.#deps.store.events({ machine: node, kind: 'maas', limit: REMEMBERED, newest: true });
    const own = rows.flatMap(({ at, kind, data }) => {
      const fields = data as Readonly<Record<string, unknown>>;
      return fields.maas_system_id === systemId ? [{ at, kind, fields }] : [];
    });
    const linked = own.findLast(({ kind }) => kind === 'maas.linked');
    const events = own.flatMap(({ at, fields }) =>
      typeof fields.event_id === 'number' ? [{ ...(fields as unknown as StoredMaasEvent), at }] : [],
    );
    const results = own.flatMap(({ kind, fields }) =>
      typeof fields.result_id === 'number'
        ? [{ ...(fields as unknown as StoredResult), failed: kind === 'maas.result-failed' }]
        : [],
    );
    return {
      evidence: { events: events.toSorted((one, other) => one.event_id - other.event_id), results },
      ids: new Set(events.map(({ event_id }) => event_id)),
      resultIds: new Set(results.map(({ result_id, status }) => `${result_id} ${status}`)),
      from: typeof linked?.fields.last_event === 'number' ? linked.fields.last_event : null,
    };
  }

  async #newEvents(
    systemId: string,
    { ids, from }: { readonly ids: ReadonlySet<number>; readonly from: number | null },
  ): Promise<MaasEvent[]> {
    const { api } = this.#deps;
    const highest = Math.max(0, ...ids);
    // Its link was deleted with old events: what happened since is not known any more.
    const floor = from ?? (ids.size > 0 ? Math.min(...ids) : await api.lastEvent(systemId));
    const found = await api.events(systemId, Math.max(floor, highest - LATE));
    return found.filter(({ id }) => id > floor && !ids.has(id));
  }

  async #newResults(machine: MaasMachine, { resultIds }: { readonly resultIds: ReadonlySet<string> }) {
    const { api } = this.#deps;
    const state = `${machine.status} ${JSON.stringify(machine.results)}`;
    if (this.#read.get(machine.systemId) === state) return [];
    const sets = (SETS[machine.status] ?? []).filter((set) => machine.results[set] !== null);
    const found: { set: ResultKind; result: ScriptResult }[] = [];
    let isFinal = true;
    for (const set of sets) {
      // 400: it has none any more, for example because the machine was released.
      const results = await api.results(machine.systemId, set).catch((error: unknown) => {
        if (error instanceof MaasRejected) return [];
        throw error;
      });
      for (const result of results) {
        if (UNFINISHED_SCRIPT.has(result.status)) isFinal = false;
        else if (!resultIds.has(`${result.id} ${result.statusName}`)) found.push({ set, result });
      }
    }
    if (isFinal) this.#read.set(machine.systemId, state);
    return found;
  }
}

const kindOf = ({ level }: MaasEvent): 'maas.event' | 'maas.warning' | 'maas.error' =>
  /^(ERROR|CRITICAL)$/i.test(level) ? 'maas.error' : /^WARNING$/i.test(level) ? 'maas.warning' : 'maas.event';

const eventData = ({ id, level, type, description, created }: MaasEvent) => ({
  event_id: id,
  level: safe(level),
  type: safe(type),
  description: safe(description),
  created: safe(created),
});

const resultData = (set: ResultKind, { id, name, statusName, exit, output, status }: ScriptResult) => ({
  result_id: id,
  set,
  script: safe(name),
  status: safe(statusName),
  exit,
  // The log of an installation is wanted in any case; of scripts that passed, only that they did.
  output: set === 'installation' || FAILED_SCRIPT.has(status) ? lastLines(output ?? '') : [],
});

const safe = (text: string): string => maskSecrets(plainLine(text)).slice(0, LONGEST_TEXT);

/** Without the content of private keys, which span several lines. */
function lastLines(output: string): string[] {
  let isKey = false;
  const lines = output.split(/\r?\n|\r/).flatMap((line) => {
    const begins = beginsPrivateKey(line);
    const hidden = isKey || begins;
    isKey = (isKey || begins) && !endsPrivateKey(line);
    if (hidden) return begins ? [MASKED] : [];
    return line.trim() === '' ? [] : [safe(line)];
  });
  return lines.slice(-MOST_LINES);
}
