import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { isOver, OPERATOR_TASK_KINDS, type TaskKind } from '../domain/task.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, printableLines, printJson, standardOutput, table } from './terminal.ts';

type Task = Answer<'getTask'>;

interface RunOptions extends ConnectionOptions, SelectionOptions {
  readonly set?: readonly string[];
  readonly wait?: boolean;
}

/** The last word is the kind of task, the words before it name nodes. */
export async function runTask(words: readonly string[], options: RunOptions): Promise<void> {
  const kind = kindOf(words.at(-1));
  const body = { kind, parameters: parameters(options.set ?? []) };
  const connection = await connect(options);
  const undertaking = { verb: `task ${kind}`, destroys: null };
  const names = words.slice(0, -1);
  const nodes = await chosenNodes(connection, names, options, undertaking);
  if (nodes === null) return;
  const create = async (node: string): Promise<Task> => {
    const task = await operate(connection, 'createTask', { params: { node }, body });
    return options.wait ? waitUntilOver(connection, node, task) : task;
  };
  const [only] = nodes;
  if (names.length === 1 && only !== undefined) return showTask(await create(only), options);
  if (!options.wait) {
    return runOnMany(nodes, options, {
      work: create,
      doing: `task ${kind} …`,
      done: ({ id, state }) => `${state} (${id})`,
      json: (task) => task,
    });
  }
  await runOnMany(nodes, options, {
    work: async (node) => mustHaveSucceeded(await create(node)),
    doing: `task ${kind} …`,
    done: ({ state, output }) => (output ? `${state}: ${output.split('\n', 1)[0]}` : state),
    json: (task) => task,
  });
}

function mustHaveSucceeded(task: Task): Task {
  if (task.state === 'succeeded') return task;
  throw new ColdironError('conflict', `the task ended as ${task.state}`, task.output ? task.output.split('\n') : []);
}

function showTask(task: Task, options: RunOptions): void {
  const output = standardOutput();
  if (options.json) printJson(output, task);
  else {
    output.write(`${task.kind} ${printable(task.id)}: ${task.state}\n`);
    // Indented, so that no line of it can pass for a line of the CLI.
    if (task.output) output.write(`    ${printableLines(task.output.trimEnd())}\n`);
  }
  if (options.wait && task.state !== 'succeeded')
    throw new ColdironError('conflict', `the task ended as ${task.state}`);
}

function kindOf(word: string | undefined): TaskKind {
  const kind = OPERATOR_TASK_KINDS.find((each) => each === word);
  if (kind === undefined) {
    throw new ColdironError('usage', `the last word is the kind of task: ${OPERATOR_TASK_KINDS.join(', ')}`);
  }
  return kind;
}

const WAIT_SECONDS = 30;

async function waitUntilOver(connection: Connection, node: string, { id }: Task): Promise<Task> {
  for (;;) {
    const query = { wait: String(WAIT_SECONDS) };
    const task = await operate(connection, 'getTask', { params: { node, task: id }, query });
    if (isOver(task.state)) return task;
  }
}

function parameters(assignments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    assignments.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw new ColdironError('usage', `--set takes name=value, not ${text}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** Of a task whose result nobody knows. */
export async function closeTask(
  verb: 'resume' | 'abandon',
  node: string,
  task: string,
  options: ConnectionOptions & { readonly reason: string },
): Promise<void> {
  const connection = await connect(options);
  const input = { params: { node, task }, body: { reason: options.reason } };
  const answer =
    verb === 'resume'
      ? await operate(connection, 'resumeTask', input)
      : await operate(connection, 'abandonTask', input);
  showTask(answer, options);
}

export async function listTasks(
  names: readonly string[],
  options: ConnectionOptions & SelectionOptions,
): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'task list',
    read: (node) => operate(connection, 'listTasks', { params: { node } }),
    print: printTasks,
    alone: ({ tasks }) => tasks,
  });
}

function printTasks(output: Output, { tasks }: Answer<'listTasks'>): void {
  if (tasks.length === 0) {
    output.write('This node has no tasks.\n');
    return;
  }
  const rows = tasks.map((task) => [
    task.id,
    task.created_at,
    task.kind,
    task.state,
    task.actor,
    task.output?.split('\n', 1)[0] ?? '',
  ]);
  output.write(table(output, ['ID', 'WHEN', 'WHAT', 'STATE', 'REQUESTED BY', 'OUTPUT'], rows));
}
