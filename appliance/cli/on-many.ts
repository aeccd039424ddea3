// The same request for many nodes: so many at once, every outcome told, failures grouped by what caused them.

import { ColdironError, ERRORS, type ErrorCode } from '../domain/errors.ts';
import { type Progress, progressOn } from './progress.ts';
import { printJson, standardOutput } from './terminal.ts';

export interface Outcome<T> {
  readonly node: string;
  readonly answer: T | null;
  readonly error: ColdironError | null;
}

/** What one appliance takes on at once without other callers noticing; its gates limit the BMCs themselves. */
const AT_ONCE = 32;

export async function onMany<T>(
  nodes: readonly string[],
  work: (node: string) => Promise<T>,
  heard: (outcome: Outcome<T>) => void = () => undefined,
  begun: (node: string) => void = () => undefined,
): Promise<Outcome<T>[]> {
  const outcomes = new Map<string, Outcome<T>>();
  const queue = nodes.values();
  const worker = async (): Promise<void> => {
    for (const node of queue) {
      begun(node);
      const outcome = await settled(node, work);
      outcomes.set(node, outcome);
      heard(outcome);
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

/** One node fails as a request for one node does; several fail with the most frequent cause first. Null: none failed. */
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

/** Every reason with the nodes that it is true of: those with the same reasons share their lines. */
function reasonsOf(failed: readonly { readonly node: string; readonly error: ColdironError }[]): string[] {
  // Messages begin with the name of their node, which the line has already.
  const linesOf = ({ node, error }: (typeof failed)[number]): string[] =>
    [error.message, ...error.details]
      .map((line) => (line.startsWith(node) ? line.slice(node.length) : line))
      .map((line) => line.replace(/^:? /, ''));
  const alike = Map.groupBy(failed, (each) => linesOf(each).join('\n'));
  return [...alike].flatMap(([reasons, those]) => {
    const [message, ...details] = reasons.split('\n');
    return [`  ${those.map(({ node }) => node).join(' ')}: ${message}`, ...details.map((detail) => `    ${detail}`)];
  });
}

const failureJson = (error: ColdironError | null) => ({
  code: error?.code,
  message: error?.message,
  ...(error && error.details.length > 0 && { details: error.details }),
});

export interface ManyOptions {
  readonly json?: boolean;
}

/** Runs, shows and ends as a verb does: with one JSON value, or with a line for each node and the failures at the end. */
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
      ...(error || answer === null ? failureJson(error) : verb.json(answer)),
    })),
  );
  if (failure) process.exitCode = ERRORS[failure.code].exit;
}
