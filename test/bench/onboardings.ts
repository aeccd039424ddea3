// 1,000 onboarding runs at once, against simulated machines of which only the BMC address is known, while the appliance is killed twenty times.
// None may be lost, and nothing may be done twice.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type ShownRun, SimulatedFleet } from '../onboarding-runs/simulated-fleet.ts';
import { placeOf } from '../onboarding-runs/simulated-server.ts';
import { percentile, printTable, say } from './figures.ts';
import type { DoneByMachine } from './onboardings-machines.ts';

const SERVER = '127.3.0.1';
/** Twenty for 1,000. */
const RUNS_PER_KILL = 50;
/** Between a start and the next kill: while it works off what waited for it, and while it waits. */
const LIVES_MS = [2000, 5000, 10_000, 15_000];
const REQUESTS_AT_ONCE = 32;
const PATIENCE_MS = 45 * 60_000;

export async function benchOnboardings(runs = 1000): Promise<void> {
  const kills = Math.max(3, Math.round(runs / RUNS_PER_KILL));
  const fleet = await SimulatedFleet.start(SERVER);
  try {
    const machines = await Machines.start(runs + 1, fleet.bootUrl);
    try {
      await measure(fleet, machines, runs, kills);
    } finally {
      await machines.end();
    }
  } finally {
    await fleet.end();
  }
}

async function measure(fleet: SimulatedFleet, machines: Machines, runs: number, kills: number): Promise<void> {
  say('one run, which the first of a site needs');
  const first = await fleet.request('first', placeOf(runs));
  await fleet.api(`/onboardings/${first}/confirm`, { hostname: 'first' });
  const alone = await fleet.over(first);
  if (alone.state !== 'completed') throw new Error(`the first run: ${JSON.stringify(alone.failure)}`);
  say(`alone, it took ${secondsOf(alone).toFixed(1)} s; now ${runs} at once, and ${kills} kills`);
  const began = performance.now();
  const ids = await requestAll(fleet, runs);
  const requested = (performance.now() - began) / 1000;
  for (let kill = 0; kill < kills; kill += 1) {
    await pause(LIVES_MS[kill % LIVES_MS.length]);
    if ((await fleet.open()).length === 0) break;
    await fleet.kill();
  }
  for (let open = runs; open > 0; ) {
    if (performance.now() - began > PATIENCE_MS) break;
    await pause(2000);
    open = (await fleet.open()).length;
  }
  const took = (performance.now() - began) / 1000;
  fleet.measure();
  const all: ShownRun[] = [];
  for (const id of ids) all.push(await fleet.shown(id));
  report({ fleet, all, did: await machines.did(), requested, took });
}

/** Each request is one host: a kill comes later. */
async function requestAll(fleet: SimulatedFleet, runs: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const ask = async (): Promise<void> => {
    for (let n = next++; n < runs; n = next++)
      ids.push(await fleet.request(`node${String(n).padStart(4, '0')}`, placeOf(n)));
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, ask));
  return ids;
}

interface Result {
  readonly fleet: SimulatedFleet;
  readonly all: readonly ShownRun[];
  readonly did: readonly DoneByMachine[];
  readonly requested: number;
  readonly took: number;
}

function report({ fleet, all, did, requested, took }: Result): void {
  const steps = [...new Set(all.flatMap((run) => run.steps.map(({ step }) => step)))];
  const rows = steps.map((step) => {
    const times = all.flatMap((run) =>
      run.steps.filter((one) => one.step === step).flatMap((one) => lasted(one) ?? []),
    );
    return [step, String(times.length), ...[0.5, 0.99, 1].map((part) => percentile(times, part).toFixed(1))];
  });
  printTable(['step, seconds', 'done', 'p50', 'p99', 'max'], rows);
  const completed = all.filter(({ state }) => state === 'completed');
  const lost = all.length - completed.length;
  const doubled = did.filter((one) => (one.did.install ?? 0) > 1 || (one.did.enroll ?? 0) > 1).length;
  for (const run of all.filter(({ state }) => state !== 'completed').slice(0, 10)) {
    say(`not completed: ${run.hostname} is ${run.state} in ${run.step}: ${JSON.stringify(run.failure)}`);
  }
  const errors = [...new Set(did.flatMap((one) => Object.keys(one.did)))].filter((what) =>
    /^(error|enroll refused)/.test(what),
  );
  for (const error of errors.slice(0, 10)) say(`a machine: ${error}`);
  const p99 = percentile(
    all.flatMap((run) => run.steps.flatMap((one) => lasted(one) ?? [])),
    0.99,
  );
  say(`the requests took ${requested.toFixed(1)} s, all of it ${took.toFixed(1)} s`);
  say(
    `onboardings: runs=${all.length} lost=${lost} doubled=${doubled} kills=${fleet.kills} per_minute=${((completed.length * 60) / took).toFixed(1)} ` +
      `p99_step_s=${p99.toFixed(1)} cpu_ms_per_run=${((fleet.cpuSeconds * 1000) / all.length).toFixed(0)} peak_mb=${fleet.megabytes.toFixed(0)}`,
  );
}

const lasted = ({ started_at: from, ended_at: to }: ShownRun['steps'][number]): number | null =>
  to === null ? null : (Date.parse(to) - Date.parse(from)) / 1000;

const secondsOf = ({ steps }: ShownRun): number => steps.reduce((sum, one) => sum + (lasted(one) ?? 0), 0);

/** In a process of their own: they are not what is measured. */
class Machines {
  readonly #child: ChildProcess;
  readonly #lines: Interface;

  private constructor(child: ChildProcess, lines: Interface) {
    this.#child = child;
    this.#lines = lines;
  }

  static async start(count: number, boot: string): Promise<Machines> {
    const program = fileURLToPath(import.meta.resolve('./onboardings-machines.ts'));
    const child = spawn(process.execPath, [program, String(count), boot], { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout });
    const machines = new Machines(child, lines);
    const [said] = await Promise.race([once(lines, 'line'), once(child, 'exit')]);
    if (said === 'ready') return machines;
    await machines.end();
    throw new Error('the simulated machines did not start; is port 623 in use?');
  }

  async did(): Promise<readonly DoneByMachine[]> {
    const answer = once(this.#lines, 'line');
    this.#child.stdin?.write('did\n');
    const [line] = await answer;
    return JSON.parse(String(line)) as DoneByMachine[];
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
