// Injects one fault of the catalogue into a real run, asks for the diagnosis, and helps the machine as the answer says.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { operate } from '../../appliance/cli/operate.ts';
import type { Answer } from '../../appliance/contract/wire.ts';
import { runsSession } from '../../appliance/domain/lifecycle.ts';
import { STAGE_ORDER } from '../../appliance/trail/diagnosis/stages.ts';
import type { OnboardingRig } from '../onboarding/rig.ts';
import { COMMISSION, type Fault, type Step } from './fault.ts';
import { Injector, makeReady } from './inject.ts';
import { carryOut } from './next-step.ts';
import { compactRecording } from './recordings.ts';
import { isRight } from './result.ts';

export interface FaultResult {
  readonly id: string;
  /** The first answer when the machine was overdue; null: "nothing is wrong". */
  readonly answer: string | null;
  readonly reason: string | null;
  readonly right: boolean;
  readonly harmful: boolean;
  /** Null: not tried. */
  readonly recovered: boolean | null;
  /** From the stall to the first time that the answer was right. */
  readonly seconds: number | null;
  /** What it was judged by. Null: it could not be injected. */
  readonly recording: string | null;
  readonly problem: string | null;
}

export interface RunOptions {
  readonly recover: boolean;
}

const ASK_EVERY_MS = 3_000;
/** Somebody asks this long after the stall, or when the stage is overdue. */
const ASKED_AFTER_MS = 60_000;
/** The longest stage is that of a machine about which nothing was learned. */
const ASK_FOR_MS = 11 * 60_000;
const RECOVERED_WITHIN_MS = 6 * 60_000;

type Diagnosis = Answer<'diagnoseNode'>;

export async function runFault(
  rig: OnboardingRig,
  fault: Fault,
  node: string,
  { recover }: RunOptions,
): Promise<FaultResult> {
  const injector = new Injector(rig, node);
  const nothing = { id: fault.id, answer: null, reason: null, right: false, harmful: false, recovered: null };
  try {
    await prepare(rig, fault, node);
    if (fault.refused !== undefined) return await refusal(fault, fault.refused, injector);
    await injector.all(fault.inject);
    const { answer, seconds } = await firstAnswer(rig, fault, node);
    const recording = await recordingOf(rig, node);
    const { recovered, problem } = recover ? await recovers(rig, fault, node, injector, answer) : NOT_TRIED;
    if (problem !== null) process.stderr.write(`${fault.id}: ${problem}\n`);
    const id = answer?.id ?? null;
    return {
      ...{ id: fault.id, answer: id, reason: answer?.reason ?? null, recovered, seconds, recording },
      right: isRight(fault, id),
      harmful: id !== null && fault.harmful.includes(id),
      problem: null,
    };
  } catch (error) {
    return {
      ...nothing,
      seconds: null,
      recording: null,
      problem: error instanceof Error ? error.message : String(error),
    };
  } finally {
    await injector.undoAll().catch(() => undefined);
    await tidyUp(rig, node);
  }
}

/** A machine that is in service is not commissioned. */
async function prepare(rig: OnboardingRig, { inject }: Fault, node: string): Promise<void> {
  const work = inject.find((step) => step.do === 'work');
  const { state } = await rig.node(node);
  if (work?.do === 'work' && (work.verb !== 'commission' || state === 'active')) await makeReady(rig, node);
}

/** The work must not begin; with the fault undone it begins. */
async function refusal(fault: Fault, expected: RegExp, injector: Injector): Promise<FaultResult> {
  const said = await injector.all(fault.inject).then(
    () => null,
    (error: Error) => error.message,
  );
  const right = said !== null && expected.test(said);
  await injector.undoAll();
  const work = fault.inject.filter((step) => step.do === 'work');
  const recovered = await injector.all(work).then(
    () => true,
    () => false,
  );
  const rest = { reason: said, right, harmful: false, recovered, seconds: right ? 0 : null, recording: null };
  return { id: fault.id, answer: right ? 'refused' : null, ...rest, problem: null };
}

interface FirstAnswer {
  readonly answer: Diagnosis['diagnosis'];
  readonly seconds: number | null;
}

/** Asks again and again from the stall on; what counts is the answer when the machine is overdue, or a minute after the stall. */
async function firstAnswer(rig: OnboardingRig, fault: Fault, node: string): Promise<FirstAnswer> {
  const began = performance.now();
  let stalled: number | null = null;
  let seconds: number | null = null;
  for (;;) {
    const asked = performance.now();
    const view = await diagnosisOf(rig, node);
    if (view !== null) {
      if (stalled === null && hasStopped(fault, view)) stalled = asked;
      const id = view.diagnosis?.id ?? null;
      if (seconds === null && fault.right.length > 0 && isRight(fault, id))
        seconds = (asked - (stalled ?? began)) / 1000;
      if (isDue(fault, view, stalled === null ? null : asked - stalled)) return { answer: view.diagnosis, seconds };
    }
    if (asked - began > ASK_FOR_MS) return { answer: view?.diagnosis ?? null, seconds };
    await pause(ASK_EVERY_MS);
  }
}

/** It has come to where the fault takes effect. */
const hasStopped = ({ stage }: Fault, view: Diagnosis): boolean =>
  stage === null || view.stage === null || placeOf(view.stage.stage) >= placeOf(stage) || view.state === 'failed';

/** `waited`: since the stall; null: before that, only an answer that is certain counts, because a slow host delays every stage. */
function isDue({ right }: Fault, { diagnosis, stage, state }: Diagnosis, waited: number | null): boolean {
  // It goes on by itself: any answer on the way is judged.
  if (right.length === 0) return diagnosis !== null || state === 'ready' || state === 'active';
  if (diagnosis === null) return false;
  if (diagnosis.confidence === 'certain' || state === 'failed') return true;
  return waited !== null && (stage?.overdue === true || waited >= ASKED_AFTER_MS);
}

/** Null: the appliance does not answer, which is part of some faults. */
async function diagnosisOf(rig: OnboardingRig, node: string): Promise<Diagnosis | null> {
  try {
    return await operate(await rig.api(), 'diagnoseNode', { params: { node } });
  } catch {
    return null;
  }
}

async function recordingOf(rig: OnboardingRig, node: string): Promise<string> {
  // Not in the state folder, whose disk can be full.
  const folder = await mkdtemp(join(tmpdir(), 'coldiron-recording-'));
  try {
    const file = join(folder, `${node}.json`);
    const { status, stderr } = await rig.run('record', node, file);
    if (status !== 0) throw new Error(`coldiron record ${node}: ${stderr}`);
    return compactRecording(await readFile(file, 'utf8'), rig.state);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Recovered {
  readonly recovered: boolean | null;
  /** A command of the next step that failed. */
  readonly problem: string | null;
}
const NOT_TRIED: Recovered = { recovered: null, problem: null };

/** What was injected is undone: that is what a person does by hand. Then the commands of the next step run as they are printed. */
async function recovers(
  rig: OnboardingRig,
  fault: Fault,
  node: string,
  injector: Injector,
  answer: Diagnosis['diagnosis'],
): Promise<Recovered> {
  const { recovery } = fault;
  if (recovery.kind === 'none') return NOT_TRIED;
  await injector.undoAll();
  const { started, problem } = await carryOut(rig, answer?.next_step ?? '');
  if (problem !== null) return { recovered: false, problem };
  if (recovery.kind !== 'goes-on') await injector.all(recovery.steps ?? []);
  if (recovery.kind === 'again') {
    // The next step of a machine without work, such as one that is trusted again, starts none.
    if (!started) await injector.all([fault.inject.find((step) => step.do === 'work') ?? COMMISSION]);
    if ((await rig.node(node)).bmc === null) await injector.all([OFF, ON]);
  }
  return { recovered: await goesOn(rig, fault, node), problem: null };
}

const OFF: Step = { do: 'press', button: 'off' };
const ON: Step = { do: 'press', button: 'on' };

/** It enters a later stage than the one in which it stopped (one that boots nothing: it gets a boot script), or its work is done. */
async function goesOn(rig: OnboardingRig, fault: Fault, node: string): Promise<boolean> {
  const { stage: stopped, recovery } = fault;
  const stage = stopped ?? (recovery.kind === 'again' ? 'script' : null);
  const done = stopped === 'first-boot' ? ['active'] : ['ready', 'active', 'enrolling'];
  const deadline = performance.now() + RECOVERED_WITHIN_MS;
  while (performance.now() < deadline) {
    const view = await diagnosisOf(rig, node);
    if (view !== null && fault.apart) {
      if (view.diagnosis === null && (await rig.node(node)).health === 'online') return true;
    } else if (view !== null) {
      if (done.includes(view.state)) return true;
      if (view.state === 'failed') return false;
      if (stage !== null && view.stage !== null && placeOf(view.stage.stage) > placeOf(stage)) return true;
    }
    await pause(ASK_EVERY_MS);
  }
  return false;
}

const placeOf = (stage: string): number => (STAGE_ORDER as readonly string[]).indexOf(stage);

async function stopWork(rig: OnboardingRig, node: string): Promise<void> {
  const { state } = await rig.node(node);
  if (runsSession(state) || state === 'enrolling') await rig.run('cancel', node, '--yes');
  await rig.server(node).powerOff();
}

async function tidyUp(rig: OnboardingRig, node: string): Promise<void> {
  await stopWork(rig, node).catch(() => undefined);
}
