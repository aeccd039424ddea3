// `coldiron onboard` and `coldiron onboardings`: request a run, and list, show, confirm, cancel and retry runs.

import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { confirmed } from './confirmed.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { type Output, printable, printJson, standardOutput, table } from './terminal.ts';

type Run = Answer<'createOnboarding'>;

const LOOK_EVERY_MS = 1000;

interface OnboardOptions extends ConnectionOptions {
  readonly site: string;
  readonly profile: string;
  readonly sku: string;
  readonly bmc: string;
  readonly wait?: boolean;
  readonly yes?: boolean;
}

export async function onboard(hostname: string, options: OnboardOptions): Promise<void> {
  const { site, profile, sku, bmc } = options;
  const means = `this overwrites the data on the disk of ${hostname}`;
  await confirmed(hostname, { yes: options.yes, means, purpose: 'to onboard it' });
  const connection = await connect(options);
  const body = { site_id: site, profile_id: profile, sku_id: sku, hostname, ipmi_ip: bmc };
  const run = await operate(connection, 'createOnboarding', { body });
  // Whoever typed the host name here has confirmed it.
  const begun =
    run.state === 'awaiting-confirmation' && !options.yes ? await confirm(connection, run.id, hostname) : run;
  if (options.wait && begun.state !== 'awaiting-confirmation') return followRun(connection, begun, options);
  showRun(begun, options);
}

interface ListOptions extends ConnectionOptions {
  readonly in?: string;
  readonly limit?: string;
}

export async function listOnboardings(options: ListOptions): Promise<void> {
  const query = { state: options.in, limit: options.limit } as { state?: string; limit?: string };
  const { onboardings } = await operate(await connect(options), 'listOnboardings', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, onboardings);
  if (onboardings.length === 0) return output.write('There are no onboarding runs.\n');
  const rows = onboardings.map((run) => [
    run.id,
    run.hostname,
    run.state,
    run.state === 'completed' ? '' : (run.step ?? ''),
    String(run.attempt),
    run.created_at,
    run.failure && run.state === 'failed' ? `${run.failure.class}: ${run.failure.reason}` : '',
  ]);
  output.write(table(output, ['ID', 'HOST', 'STATE', 'STEP', 'ATTEMPT', 'REQUESTED', 'REASON'], rows));
}

export async function showOnboarding(id: string, options: ConnectionOptions): Promise<void> {
  const run = await operate(await connect(options), 'getOnboarding', { params: { onboarding: id } });
  if (options.json) return printJson(standardOutput(), run);
  printRun(standardOutput(), run);
}

export async function confirmOnboarding(
  id: string,
  options: ConnectionOptions & { readonly yes?: boolean },
): Promise<void> {
  const connection = await connect(options);
  const { hostname, site_id } = await operate(connection, 'getOnboarding', { params: { onboarding: id } });
  const means = `this is the first run of site ${site_id}, and overwrites the data on the disk of ${hostname}`;
  await confirmed(hostname, { yes: options.yes, means, purpose: 'to confirm it' });
  showRun(await confirm(connection, id, hostname), options);
}

const confirm = (connection: Connection, onboarding: string, hostname: string): Promise<Run> =>
  operate(connection, 'confirmOnboarding', { params: { onboarding }, body: { hostname } });

interface NoteOptions extends ConnectionOptions {
  readonly note?: string;
  readonly wait?: boolean;
}

export async function cancelOnboarding(id: string, options: NoteOptions): Promise<void> {
  const connection = await connect(options);
  showRun(
    await operate(connection, 'cancelOnboarding', { params: { onboarding: id }, body: bodyOf(options) }),
    options,
  );
}

export async function retryOnboarding(id: string, options: NoteOptions): Promise<void> {
  const connection = await connect(options);
  const run = await operate(connection, 'retryOnboarding', { params: { onboarding: id }, body: bodyOf(options) });
  return options.wait ? followRun(connection, run, options) : showRun(run, options);
}

const bodyOf = ({ note }: NoteOptions) => (note === undefined ? {} : { note });

/** A line for each step as it ends. Fails when the run fails. */
async function followRun(connection: Connection, begun: Run, options: ConnectionOptions): Promise<void> {
  const output = standardOutput();
  let shown = 0;
  for (let run = begun; ; ) {
    const over = run.steps.filter(({ outcome }) => outcome !== 'running');
    if (!options.json) for (const step of over.slice(shown)) output.write(stepLine(step));
    shown = over.length;
    if (run.state !== 'running') {
      if (options.json) printJson(output, run);
      if (run.state === 'completed') return options.json ? undefined : output.write(`${run.hostname} is active.\n`);
      const reason = run.failure?.reason ?? run.state;
      throw new ColdironError('work_failed', `the onboarding of ${run.hostname} is ${run.state}`, [
        reason,
        `  → ${run.next_step}`,
      ]);
    }
    await pause(LOOK_EVERY_MS);
    run = await operate(connection, 'getOnboarding', { params: { onboarding: begun.id } });
  }
}

function showRun(run: Run, options: ConnectionOptions): void {
  const output = standardOutput();
  if (options.json) printJson(output, run);
  else output.write(`${run.hostname}: ${run.state} (${run.id})\n  → ${run.next_step}\n`);
}

type Step = Run['steps'][number];
const stepLine = ({ step, attempt, outcome, reason }: Step): string =>
  `  ${step}: ${outcome}${attempt > 1 ? ` (attempt ${attempt})` : ''}${reason === null ? '' : `: ${printable(reason)}`}\n`;

function printRun(output: Output, run: Answer<'getOnboarding'>): void {
  const line = (name: string, value: string | null): void => {
    if (value !== null) output.write(`${name.padEnd(14)}${printable(value)}\n`);
  };
  line('run', run.id);
  line('host', `${run.hostname}, BMC ${run.ipmi_ip}`);
  line('site', `${run.site_id}, profile ${run.profile_id}, SKU ${run.sku_id}`);
  line('state', run.state);
  line('requested', `${run.created_at} by ${run.requested_by}`);
  line('confirmed', run.confirmed_by && `by ${run.confirmed_by}`);
  line('cancelled', run.cancelled_by && `by ${run.cancelled_by}`);
  line('attempt', String(run.attempt));
  line('deadline', run.deadline);
  line('ended', run.ended_at);
  line('failure', run.failure && `${run.failure.step}, ${run.failure.class}: ${run.failure.reason}`);
  line('candidates', run.failure?.candidates.length ? run.failure.candidates.join(', ') : null);
  line('correlation', run.correlation_id);
  line('next step', run.next_step);
  output.write('steps\n');
  for (const step of run.steps) output.write(stepLine(step));
}
