import { ColdironError } from '../domain/errors.ts';
import { isOver, type TaskState } from '../domain/task.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { printable, printJson, standardOutput, table } from './terminal.ts';

interface Task {
  readonly id: string;
  readonly kind: string;
  readonly state: TaskState;
  readonly actor: string;
  readonly created_at: string;
  readonly output: string | null;
}

interface RunOptions extends ConnectionOptions {
  readonly set?: readonly string[];
  readonly wait?: boolean;
}

const pathOf = (node: string): string => `/api/v1/nodes/${encodeURIComponent(node)}/tasks`;

export async function runTask(node: string, kind: string, options: RunOptions): Promise<void> {
  const connection = await connect(options);
  const given = await connection.post<Task>(pathOf(node), { kind, parameters: parameters(options.set ?? []) });
  const task = options.wait ? await over(connection, node, given) : given;
  const output = standardOutput();
  if (options.json) printJson(output, task);
  else {
    output.write(`${task.kind} ${task.id}: ${task.state}\n`);
    if (task.output) output.write(`${task.output.split('\n').map(printable).join('\n').trimEnd()}\n`);
  }
  if (options.wait && task.state !== 'succeeded') throw new ColdironError('conflict', `the task is ${task.state}`);
}

const WAIT_SECONDS = 30;

async function over(connection: Connection, node: string, { id }: Task): Promise<Task> {
  for (;;) {
    const task = await connection.get<Task>(`${pathOf(node)}/${id}`, { wait: String(WAIT_SECONDS) });
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

export async function listTasks(node: string, options: ConnectionOptions): Promise<void> {
  const { tasks } = await (await connect(options)).get<{ tasks: Task[] }>(pathOf(node));
  const output = standardOutput();
  if (options.json) return printJson(output, tasks);
  if (tasks.length === 0) return output.write('No task was given to this node.\n');
  const rows = tasks.map(({ created_at, kind, state, actor, output: told }) => [
    created_at,
    kind,
    state,
    actor,
    told?.split('\n', 1)[0] ?? '',
  ]);
  output.write(table(output, ['WHEN', 'WHAT', 'STATE', 'ASKED BY', 'TOLD'], rows));
}
