// Injects several faults side by side: each machine takes the next fault for its kind.

import { type Fault, MACHINES } from './fault.ts';
import { FaultRack } from './rack.ts';
import { type FaultResult, type RunOptions, runFault } from './run-fault.ts';

/** Three runs of similar machines: from then on the expected times of stages are known. */
const LEARNED_FROM = 3;
const LEARNED_WITHIN_MS = 15 * 60_000;

/** A machine that sends nothing is overdue after eight minutes while no times are known. */
const LATE: ReadonlySet<string> = new Set(['no-discover', 'powered-off', 'boot-override-ignored', 'siblings-stopped']);
export const needsTimes = ({ stage, right }: Fault): boolean =>
  stage === 'power' && right.some((cause) => LATE.has(cause));

export async function learnTimes({ rig }: FaultRack): Promise<void> {
  const names = FaultRack.machines('bios').slice(0, LEARNED_FROM);
  await rig.json('commission', ...names, '--yes');
  for (const name of names) await rig.waitForState(name, 'ready', LEARNED_WITHIN_MS);
}

export interface LaneOptions extends RunOptions {
  /** How many BIOS machines are worked on side by side, at most: each takes most of a processor. */
  readonly lanes?: number | undefined;
  /** No further fault is injected once this is false. */
  readonly isInTime: () => boolean;
  readonly report: (result: FaultResult) => Promise<void>;
}

/** Faults that affect all machines come last, one after the other. */
export async function runInLanes(rack: FaultRack, faults: readonly Fault[], options: LaneOptions): Promise<void> {
  const apart = faults.filter((fault) => fault.apart);
  const nodes = FaultRack.machines('bios');
  // From the other end than the rest.
  const waitedFor = apart.map((fault, index) => runOne(rack, fault, nodes.at(-1 - index), options));
  const free = nodes.slice(0, nodes.length - apart.length).slice(0, options.lanes);
  await Promise.all(
    MACHINES.flatMap((kind) => {
      const waiting = faults.filter((fault) => fault.machine === kind && !fault.alone && !fault.apart);
      return (kind === 'bios' ? free : FaultRack.machines(kind)).map(async (node) => {
        for (let fault = waiting.shift(); fault; fault = waiting.shift()) await runOne(rack, fault, node, options);
      });
    }),
  );
  for (const fault of faults.filter(({ alone }) => alone)) {
    await runOne(rack, fault, FaultRack.machines(fault.machine)[0], options);
  }
  await Promise.all(waitedFor);
}

async function runOne(
  { rig }: FaultRack,
  fault: Fault,
  node: string | undefined,
  { recover, isInTime, report }: LaneOptions,
): Promise<void> {
  if (node === undefined) throw new Error(`the rack has too few machines for ${fault.id}`);
  if (isInTime()) await report(await runFault(rig, fault, node, { recover }));
}
