import type { LifecycleState } from '../domain/lifecycle.ts';
import { confirmed } from './confirmed.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { follow } from './follow.ts';
import { newestEvent } from './follow-node.ts';
import { selectNodes } from './node-selection.ts';
import type { NodeAnswer } from './nodes.ts';
import { failureOf, onMany, runOnMany } from './on-many.ts';

export type WorkVerb =
  | 'commission'
  | 'cancel'
  | 'deploy'
  | 'release'
  | 'rescue'
  | 'end-rescue'
  | 'drain'
  | 'drained'
  | 'undrain';

export interface WorkOptions extends ConnectionOptions {
  readonly note?: string;
  readonly wait?: boolean;
  readonly yes?: boolean;
  readonly profile?: string;
}

/** States on the way, and the one that it is about; null: whichever it was before. */
const WAY: Readonly<Record<WorkVerb, { via: readonly LifecycleState[]; to: LifecycleState | null }>> = {
  commission: { via: ['commissioning'], to: 'ready' },
  deploy: { via: ['deploying', 'enrolling'], to: 'active' },
  release: { via: ['releasing'], to: 'ready' },
  cancel: { via: [], to: null },
  rescue: { via: [], to: 'rescue' },
  'end-rescue': { via: [], to: null },
  drain: { via: ['draining'], to: 'retired' },
  drained: { via: [], to: 'retired' },
  undrain: { via: [], to: 'active' },
};

const DESTROYS: Partial<Record<WorkVerb, string>> = {
  deploy: 'overwrites what is on the disk',
  release: 'erases all disks',
};

export async function work(verb: WorkVerb, names: readonly string[], options: WorkOptions): Promise<void> {
  const connection = await connect(options);
  const nodes = await selectNodes(connection, names, {});
  await mustBeMeant(verb, nodes, options);
  if (options.wait) return askedAndFollowed(connection, verb, nodes, options);
  await runOnMany(nodes, options, {
    work: (node) => asked(connection, verb, node, options),
    doing: `${verb} …`,
    done: ({ state, waits_for }) => `${state}. ${waits_for}`,
    json: (answer) => answer,
  });
}

/** Those that were refused end the verb as a failure, after the others have arrived. */
async function askedAndFollowed(
  connection: Connection,
  verb: WorkVerb,
  nodes: readonly string[],
  options: WorkOptions,
): Promise<void> {
  const before = new Map<string, number>();
  for (const node of nodes) before.set(node, await newestEvent(connection, node));
  const outcomes = await onMany(nodes, (node) => asked(connection, verb, node, options));
  const begun = outcomes.flatMap(({ node, answer }) => (answer ? [node] : []));
  if (begun.length > 0) await follow(connection, begun, { way: WAY[verb], before, json: options.json === true });
  const failure = failureOf(outcomes);
  if (failure) throw failure;
}

/** One is typed out by its name, several by how many they are. */
async function mustBeMeant(verb: WorkVerb, nodes: readonly string[], { yes }: WorkOptions): Promise<void> {
  const destroys = DESTROYS[verb];
  if (destroys === undefined) return;
  const [only = ''] = nodes;
  const word = nodes.length === 1 ? only : String(nodes.length);
  const means = `this ${destroys} of ${nodes.length === 1 ? only : `${nodes.length} nodes`}`;
  await confirmed(word, { yes, means, asked: `to ${verb} ${nodes.join(' ')}` });
}

const asked = (connection: Connection, verb: WorkVerb, node: string, options: WorkOptions): Promise<NodeAnswer> =>
  connection.post<NodeAnswer>(`/api/v1/nodes/${encodeURIComponent(node)}/${verb}`, {
    note: options.note,
    ...(DESTROYS[verb] === undefined ? {} : { confirm: node }),
    ...(verb === 'deploy' ? { profile: options.profile } : {}),
  });
