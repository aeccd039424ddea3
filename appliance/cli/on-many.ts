// Sends one request for each of many nodes, a limited number at once, and groups the failures by cause.

import { ColdironError, ERRORS, type ErrorCode } from '../domain/errors.ts';
import { type Progress, progressOn } from './progress.ts';
import { printJson, standardOutput } from './terminal.ts';

export interface Outcome<T> {
  readonly node: string;
  readonly answer: T | null;
  readonly error: ColdironError | null;
}

/** Concurrent requests that do not slow down other callers; the appliance itself limits the load on BMCs. */
const AT_ONCE = 32;

export async function onMany<T>(
  nodes: readonly string[],
  work: (node: string) => Promise<T>,
  onOutcome: (outcome: Outcome<T>) => void = () => undefined,
  onStart: (node: string) => void = () => undefined,
): Promise<Outcome<T>[]> {
  const outcomes = new Map<string, Outcome<T>>();
  const queue = nodes.values();
  const worker = async (): Promise<void> => {
    for (const node of queue) {
      onStart(node);
      const outcome = await settled(node, work);
      outcomes.set(node, outcome);
      onOutcome(outcome);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, nodes.length) }, worker));
  return nodes.flatMap((node) => outcomes.get(node) ?? []);
}

async function settled<T>(node: string, work: (node: string) => Promise<T>): Promise<Outcome<T>> {
  try {
    return { node, answer: await work(node), error: null };
  } catch (error) {
    if (!(error instanceof ColdironError)) throw error;
    return { node, answer: null, error };
  }
}

/** The error of a single node as it is; for several nodes the most frequent cause first. Null: none failed. */
export function failureOf(outcomes: readonly Outcome<unknown>[]): ColdironError | null {
  const failed = outcomes.flatMap(({ node, error }) => (error ? [{ node, error }] : []));
  const [first] = failed;
  if (!first) return null;
  if (outcomes.length === 1) return first.error;
  const causes = [...Map.groupBy(failed, ({ error }) => error.code)].sort(([, a], [, b]) => b.length - a.length);
  const code: ErrorCode = causes[0]?.[0] ?? first.error.code;
  const details = causes.flatMap(([cause, those]) => [
    `${cause}, ${those.length}: ${those.map(({ node }) => node).join(' ')}`,
    ...reasonsOf(those),
    ...(cause === code ? [] : [`  → ${those[0]?.error.hint ?? ERRORS[cause].hint}`]),
  ]);
  const hint = causes[0]?.[1][0]?.error.hint;
  return new ColdironError(code, `${failed.length} of ${outcomes.length} nodes failed`, details, hint);
}

/** Every reason with its nodes: nodes with the same reasons share their lines. */
function reasonsOf(failed: readonly { readonly node: string; readonly error: ColdironError }[]): string[] {
  // Messages begin with the name of their node, which the line already has.
  const linesOf = ({ node, error }: (typeof failed)[number]): string[] =>
    [error.message, ...error.details].map((line) => {
      const start = [`${node}: `, `${node} `].find((each) => line.startsWith(each)) ?? '';
      return line.slice(start.length);
    });
  const alike = Map.groupBy(failed, (each) => linesOf(each).join('\n'));
  return [...alike].flatMap(([reasons, those]) => {
    const [message, ...details] = reasons.split('\n');
    return [`  ${those.map(({ node }) => node).join(' ')}: ${message}`, ...details.map((detail) => `    ${detail}`)];
  });
}

/** The failure of one node, in the JSON of a verb. */
export const failureJson = ({ code, message, details }: ColdironError) => ({
  code,
  message,
  ...(details.length > 0 && { details }),
});

export interface ManyOptions {
  readonly json?: boolean;
}

/** Runs the request and prints the result: one JSON value, or a line for each node and the failures at the end. */
export async function runOnMany<T>(
  nodes: readonly string[],
  options: ManyOptions,
  verb: {
    readonly work: (node: string) => Promise<T>;
    readonly doing: string;
    readonly done: (answer: T) => string;
    readonly json: (answer: T) => object;
  },
): Promise<void> {
  const output = standardOutput();
  const { isTTY, rows, columns } = process.stdout;
  const size = isTTY ? { rows, columns } : null;
  const progress: Progress = options.json ? { show: () => undefined } : progressOn({ ...output, size }, nodes);
  const outcomes = await onMany(
    nodes,
    verb.work,
    ({ node, answer, error }) =>
      error || answer === null
        ? progress.show(node, error?.code ?? 'internal', 'red', true)
        : progress.show(node, verb.done(answer), 'green', true),
    (node) => progress.show(node, verb.doing, 'yellow', false),
  );
  const failure = failureOf(outcomes);
  if (!options.json) {
    if (failure) throw failure;
    return;
  }
  printJson(
    output,
    outcomes.map(({ node, answer, error }) => ({
      node,
      ...(error ? failureJson(error) : answer !== null && verb.json(answer)),
    })),
  );
  if (failure) process.exitCode = ERRORS[failure.code].exit;
}
