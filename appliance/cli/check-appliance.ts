// What `check` asks a running appliance: its problems, its listeners, its boot files and its templates.

import { ColdironError } from '../domain/errors.ts';
import type { Listener } from '../domain/listener.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { type Output, printable } from './terminal.ts';

export interface ShownProblem {
  readonly id: string;
  readonly severity: 'error' | 'warning';
  readonly subject: string;
  readonly words: string;
  readonly next_step: string;
}

export interface ApplianceState {
  readonly problems: readonly ShownProblem[];
  readonly silent: readonly (Listener & { readonly problem: string })[];
}

/** Null: no appliance is running. */
export async function fromRunning<T>(
  options: ConnectionOptions,
  read: (appliance: Connection) => Promise<T>,
): Promise<T | null> {
  try {
    return await read(await connect(options));
  } catch (error) {
    if (error instanceof ColdironError && error.code === 'not_running') return null;
    throw error;
  }
}

/** An interface may be missing, another DHCP server may be present, a disk may be full. */
export async function applianceState(appliance: Connection): Promise<ApplianceState> {
  const { listeners } = await operate(appliance, 'listListeners', {});
  const { problems } = await operate(appliance, 'listApplianceProblems', {});
  return {
    problems,
    silent: listeners.flatMap((each) => (each.problem === null ? [] : [{ ...each, problem: each.problem }])),
  };
}

export function printState(output: Output, { problems, silent }: ApplianceState): void {
  for (const { service, where, networks, problem } of silent) {
    const of = networks.length === 0 ? '' : ` (${networks.map(printable).join(', ')})`;
    output.write(`Not answering: ${service.toUpperCase()} on ${printable(where)}${of}: ${printable(problem)}\n`);
  }
  for (const { severity, words, next_step } of others(problems)) {
    output.write(
      `${severity === 'error' ? 'Problem' : 'Warning'}: ${printable(words)}\n  next: ${printable(next_step)}\n`,
    );
  }
  output.write(missingFiles(problems));
}

/** One line for all: one command builds them. */
function missingFiles(problems: readonly ShownProblem[]): string {
  const missing = problems.filter(({ id }) => id === 'boot-file-missing');
  if (missing.length === 0) return '';
  const names = missing.map(({ subject }) => printable(subject)).join(', ');
  const steps = [...new Set(missing.map(({ next_step }) => next_step))];
  const count = missing.length === 1 ? '1 boot file is' : `${missing.length} boot files are`;
  return `Warning: ${count} missing: ${names}\n${steps.map((step) => `  next: ${printable(step)}\n`).join('')}`;
}

/** The lines about listeners say the same. */
const others = (problems: readonly ShownProblem[]): readonly ShownProblem[] =>
  problems.filter(({ id }) => id !== 'listener-missing' && id !== 'boot-file-missing');

const isError = ({ severity }: ShownProblem): boolean => severity === 'error';

export const isSound = ({ problems }: ApplianceState): boolean => !problems.some(isError);

/** After everything was printed: a script must see that something is wrong. */
export function requireSound({ problems: all }: ApplianceState): void {
  const problems = all.filter(isError);
  if (problems.length === 0) return;
  const count = `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}`;
  throw new ColdironError('appliance_degraded', `the appliance has ${count}, listed above`);
}
