// Updates agents in stages: one node first, then a few at a time; the first failure ends it, so that a bad agent reaches few nodes.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { secondsOf } from './agent-state.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';
import { standardOutput } from './terminal.ts';

interface UpdateOptions extends ConnectionOptions, SelectionOptions {
  readonly atATime: string;
  readonly waitSeconds: string;
}

type Agent = Answer<'getNodeAgent'>;

export async function updateAgents(names: readonly string[], options: UpdateOptions): Promise<void> {
  const atATime = secondsOf('--at-a-time', options.atATime);
  const wait = secondsOf('--wait-seconds', options.waitSeconds);
  const connection = await connect(options);
  const nodes = await chosenNodes(connection, names, options, { verb: 'agent update', destroys: null });
  if (nodes === null) return;
  const [first, ...rest] = nodes;
  if (first === undefined) return;
  const stages = [[first], ...chunks(rest, atATime)];
  for (const [index, stage] of stages.entries()) {
    if (!options.json && stages.length > 1) {
      standardOutput().write(`Stage ${index + 1} of ${stages.length}: ${stage.join(', ')}\n`);
    }
    // It throws when a node fails, and the later stages do not begin.
    await runOnMany(stage, options, {
      work: (node) => updated(connection, node, wait),
      doing: 'agent update …',
      done: ({ digest }) => `current (${digest.used?.slice(0, 12)})`,
      json: (agent) => agent,
    });
    if (process.exitCode) return;
  }
}

/** After the limit of the node itself, time for its report. */
const MARGIN_SECONDS = 90;
const LOOK_EVERY = 1000;

async function updated(connection: Connection, node: string, wait: number): Promise<Agent> {
  const params = { node };
  const { task } = await operate(connection, 'updateNodeAgent', { params, body: { wait_seconds: wait } });
  const look = (): Promise<Agent> => operate(connection, 'getNodeAgent', { params });
  if (task === null) return look();
  for (const end = Date.now() + (wait + MARGIN_SECONDS) * 1000; Date.now() < end; await sleep(LOOK_EVERY)) {
    const { state, output } = await operate(connection, 'getTask', { params: { node, task: task.id } });
    if (state === 'failed' || state === 'expired' || state === 'unknown') {
      throw new ColdironError('work_failed', `the task of ${node} ended as ${state}: ${output ?? 'no output'}`);
    }
    const agent = await look();
    if (agent.updated === 'current') return agent;
    const restored = await lastFailure(connection, node, task.created_at);
    if (restored !== null) throw new ColdironError('work_failed', `${node}: ${restored}`);
  }
  throw new ColdironError('work_failed', `${node} does not report the new agent: coldiron agent logs ${node}`);
}

/** What the end of the update reported. */
async function lastFailure(connection: Connection, node: string, since: string): Promise<string | null> {
  const query = { action: 'update', errors: 'true', since };
  const { lines } = await operate(connection, 'listAgentLogs', { params: { node }, query });
  return lines.at(-1)?.message ?? null;
}

const chunks = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
