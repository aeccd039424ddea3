import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, standardOutput, table } from './terminal.ts';

type Agent = Answer<'getNodeAgent'>;

export async function showAgents(
  names: readonly string[],
  options: ConnectionOptions & SelectionOptions,
): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'agent show',
    read: (node) => operate(connection, 'getNodeAgent', { params: { node } }),
    print: printAgent,
  });
}

function printAgent(output: Output, agent: Agent): void {
  const row = (name: string, { used, wanted }: Agent['digest']): string[] => [
    name,
    printable(used ?? 'not reported'),
    wanted === null ? '-' : printable(wanted),
    used === null || wanted === null ? '?' : sameUrl(used, wanted) ? 'yes' : 'NO',
  ];
  output.write(
    `Agent of ${printable(agent.node)}: version ${printable(agent.version ?? 'unknown')}, last heard ${agent.last_heard ?? 'never'}\n`,
  );
  output.write(`Settings: ${agent.settings}. Version: ${agent.updated}.\n`);
  const rows = [
    row('API URL', agent.api_url),
    row('authorities', agent.ca_sha256),
    row('task keys', agent.task_keys),
    row('agent', agent.digest),
  ];
  output.write(table(output, ['SETTING', 'USED', 'WANTED', 'CURRENT'], rows));
  if (agent.problem !== null) output.write(`It kept its old settings: ${printable(agent.problem)}\n`);
}

const sameUrl = (one: string, other: string): boolean => one.replace(/\/$/, '') === other.replace(/\/$/, '');

interface ReconcileOptions extends ConnectionOptions, SelectionOptions {
  readonly timeout: string;
}

export async function reconcileAgents(names: readonly string[], options: ReconcileOptions): Promise<void> {
  const limit = secondsOf('--timeout', options.timeout);
  const connection = await connect(options);
  const nodes = await chosenNodes(connection, names, options, { verb: 'agent reconcile', destroys: null });
  if (nodes === null) return;
  const [only] = nodes;
  const work = (node: string): Promise<Agent> => reconciled(connection, node, limit);
  if (names.length === 1 && only !== undefined && !options.json) {
    const agent = await work(only);
    return printAgent(standardOutput(), agent);
  }
  await runOnMany(nodes, options, {
    work,
    doing: 'agent reconcile …',
    done: ({ api_url: { used } }) => `current (${used})`,
    json: (agent) => agent,
  });
}

const LOOK_EVERY = 500;

async function reconciled(connection: Connection, node: string, limit: number): Promise<Agent> {
  const params = { node };
  let agent = await operate(connection, 'reconcileNodeAgent', { params });
  for (const end = Date.now() + limit * 1000; agent.settings !== 'current' && Date.now() < end; ) {
    await sleep(LOOK_EVERY);
    agent = await operate(connection, 'getNodeAgent', { params });
    // What it says about other settings is of an earlier attempt.
    if (agent.problem?.includes(agent.api_url.wanted ?? 'no URL')) break;
  }
  if (agent.settings === 'current') return agent;
  const why = agent.problem === null ? `it did not report within ${limit} s` : agent.problem;
  throw new ColdironError(
    'conflict',
    `${agent.node} does not use its current settings: ${why}`,
    [],
    `Look at its log: coldiron agent logs ${agent.node} --action settings. If it cannot reach the appliance: coldiron agent recover ${agent.node}`,
  );
}

/** Throws `usage`. */
export function secondsOf(option: string, text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw new ColdironError('usage', `${option} takes a number of at least 1, not ${text}`);
}
