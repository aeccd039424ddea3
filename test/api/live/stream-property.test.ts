// Whatever happens in whatever order, a client that resumes by id has seen every event once, in order, and shows the current rows.

import fc from 'fast-check';
import '../../seed.ts';
import { describe, expect, it } from 'vitest';
import type { StreamFilter } from '../../../appliance/api/live/stream-filter.ts';
import { machineId } from '../../machines/machines.ts';
import { hostname, LiveWorld, site, type TestReader } from './live-world.ts';

const MACHINES = 4;
const FILTERS: readonly Partial<StreamFilter>[] = [
  {},
  { machine: machineId(2) },
  { site: 'lab', kind: 'intent' },
  { rows: false, severity: 'warning' },
];

const machine = fc.integer({ min: 1, max: MACHINES });
const client = fc.integer({ min: 0, max: FILTERS.length - 1 });
const KINDS = ['intent.consumed', 'session.refused', 'session.opened'];
const command = fc.oneof(
  fc.record({
    do: fc.constant('append' as const),
    n: fc.integer({ min: 1, max: 30 }),
    machine,
    kind: fc.constantFrom(...KINDS),
  }),
  fc.record({ do: fc.constant('change' as const), machine, state: fc.constantFrom('ready', 'deploying', 'removed') }),
  fc.record({
    do: fc.constant('move' as const),
    machine,
    name: fc.constantFrom('a1', 'b1'),
    to: fc.constantFrom('lab', 'dc2'),
  }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(10, 250, 700) }),
  fc.record({ do: fc.constant('block' as const), client }),
  fc.record({ do: fc.constant('drain' as const), client }),
  fc.record({ do: fc.constant('reconnect' as const), client }),
);

class Client {
  readonly filter: Partial<StreamFilter>;
  readonly events: number[] = [];
  reader: TestReader | null = null;

  constructor(filter: Partial<StreamFilter>) {
    this.filter = filter;
  }

  async connect(world: LiveWorld): Promise<void> {
    const after = this.reader === null ? 0 : this.reader.lastId;
    if (this.reader) {
      this.reader.leave();
      this.events.push(...this.reader.events);
    }
    this.reader = await world.open(this.filter, after);
  }

  get seen(): number[] {
    return [...this.events, ...(this.reader?.events ?? [])];
  }
}

describe('any order of changes, slow readers and lost connections', () => {
  it('loses and repeats nothing', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40 }), async (commands) => {
        const world = new LiveWorld(MACHINES);
        const clients = FILTERS.map((filter) => new Client(filter));
        for (const each of clients) await each.connect(world);
        for (const step of commands) {
          if (step.do === 'append')
            for (let n = 0; n < step.n; n += 1) world.append(step.kind, machineId(step.machine));
          else if (step.do === 'change') world.put(step.machine, step.state as 'ready');
          else if (step.do === 'move') {
            world.put(step.machine, 'registered', {
              hostname: hostname(`${step.name}-${step.machine}`),
              site: site(step.to),
            });
          } else if (step.do === 'pass') await world.pass(step.ms);
          else {
            const chosen = clients[step.client];
            if (step.do === 'block') chosen?.reader?.stopReading();
            else if (step.do === 'drain') chosen?.reader?.readAgain();
            else await chosen?.connect(world);
          }
        }
        for (const { reader } of clients) reader?.readAgain();
        await world.pass(1000);
        for (const { filter, seen, reader } of clients) check(world, filter, seen, reader);
        await world.feed.stop();
      }),
      { numRuns: 60 },
    );
  });
});

function check(world: LiveWorld, filter: Partial<StreamFilter>, seen: number[], reader: TestReader | null): void {
  const wanted = world.log.filter(({ machine: id, kind }) => {
    if (filter.machine !== undefined && id !== filter.machine) return false;
    if (filter.kind !== undefined && filter.kind !== null && !kind.startsWith(`${filter.kind}.`)) return false;
    return filter.severity === undefined || kind === 'session.refused';
  });
  // The site of an event is that of its machine when it is sent, which moves here; order and repetition are checked all the same.
  if (filter.site === undefined) expect(seen).toEqual(wanted.map(({ seq }) => seq));
  else expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  const rows = [...world.fleet.machines()].filter(
    ({ id, spec }) =>
      filter.rows !== false &&
      (filter.machine === undefined || filter.machine === id) &&
      (filter.site === undefined || spec.site === filter.site),
  );
  const shown = [...(reader?.rows.values() ?? [])].map((row) => `${row.hostname} ${row.state} ${row.version}`).sort();
  expect(shown).toEqual(
    rows.map(({ spec, lifecycle, version }) => `${spec.hostname} ${lifecycle.state} ${version}`).sort(),
  );
}
