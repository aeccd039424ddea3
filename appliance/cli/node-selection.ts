// Which nodes a verb is about: by name, or all that share something.

import { ColdironError } from '../domain/errors.ts';
import type { Connection } from './connection.ts';
import { type NodeAnswer, nodesMatching } from './nodes.ts';
import { failureOf, onMany } from './on-many.ts';

export interface SelectionOptions {
  readonly all?: boolean;
  readonly label?: readonly string[];
  readonly cluster?: string;
  readonly rack?: string;
}

/** The label that says which rack a machine stands in. */
const RACK_LABEL = 'rack';

/** Each node once, in the order it was named; by host name where it was not. Never none. */
export async function selectNodes(
  connection: Connection,
  names: readonly string[],
  options: SelectionOptions,
): Promise<string[]> {
  const selecting = isSelecting(options);
  if (names.length > 0 && selecting) {
    throw new ColdironError('usage', 'name nodes, or choose them with --all, --label, --cluster or --rack, not both');
  }
  if (names.length > 0) return namedNodes(connection, names);
  if (!selecting)
    throw new ColdironError('usage', 'name a node, or choose some with --all, --label, --cluster or --rack');
  const matches = matcher(options);
  // Whatever has no BMC was not meant by "all".
  const found = (await nodesMatching(connection)).filter((node) => node.bmc !== null && matches(node));
  if (found.length === 0) throw new ColdironError('not_found', 'no node with a BMC matches');
  return found.map(({ hostname }) => hostname);
}

const isSelecting = ({ all, label, cluster, rack }: SelectionOptions): boolean =>
  all === true || label !== undefined || cluster !== undefined || rack !== undefined;

/** By whatever they were called; the answer is what every line and the summary call them. One that is not there ends it. */
async function namedNodes(connection: Connection, names: readonly string[]): Promise<string[]> {
  const found = await onMany(names, (name) => connection.get<NodeAnswer>(`/api/v1/nodes/${encodeURIComponent(name)}`));
  const failure = failureOf(found);
  if (failure) throw failure;
  return [...new Set(found.flatMap(({ answer }) => answer?.hostname ?? []))];
}

type Candidate = Pick<NodeAnswer, 'cluster' | 'labels'>;

export function matcher({ label = [], cluster, rack }: SelectionOptions): (node: Candidate) => boolean {
  const labels = [...label.map(labelOf), ...(rack === undefined ? [] : [[RACK_LABEL, rack] as const])];
  return (node) =>
    (cluster === undefined || node.cluster === cluster) &&
    labels.every(([key, value]) => Object.hasOwn(node.labels, key) && node.labels[key] === value);
}

function labelOf(text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new ColdironError('usage', `--label takes key=value, not ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
