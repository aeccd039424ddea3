// If-Match (RFC 9110 §13.1.1): a write that names the version its caller read is refused when the version has changed.

import type { Operation } from '../contract/operation.ts';
import { ColdironError } from '../domain/errors.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import { shown } from '../domain/parsed.ts';
import type { ManagementDeps } from './deps.ts';
import { findNode } from './find-node.ts';

type Edge = Pick<ManagementDeps, 'store' | 'fleet'>;

export const etagOf = (version: number): string => `"${version}"`;

/** Null: any version. */
function versionsIn(header: string): readonly number[] | null {
  if (header.trim() === '*') return null;
  const tags = header.split(',').map((tag) => tag.trim());
  return tags.map((tag) => {
    const [, digits] = /^"(\d{1,15})"$/.exec(tag) ?? [];
    if (digits !== undefined) return Number(digits);
    const weak = tag.startsWith('W/') ? ' (a weak ETag never matches)' : '';
    throw new ColdironError('invalid_request', `If-Match: must be * or an ETag like "7", not ${shown(tag)}${weak}`);
  });
}

/** The version that the write expects; undefined when none was named. */
export async function expectedVersion(
  edge: Edge,
  { write }: Operation,
  header: string | undefined,
  node: string | undefined,
): Promise<number | undefined> {
  if (header === undefined || write === null) return undefined;
  if (write.precondition === null) {
    throw new ColdironError('invalid_request', 'If-Match: this operation changes an object without a version');
  }
  const versions = versionsIn(header);
  if (write.precondition === 'inventory') return inventoryVersion(edge, versions);
  return nodeVersion(edge, versions, node ?? '');
}

/** Throws `version_conflict`, which lists the changes, unless the node has this version. */
export const requireNodeVersion = async (edge: Edge, version: number, node: string): Promise<void> =>
  void (await nodeVersion(edge, [version], node));

async function nodeVersion(
  edge: Edge,
  versions: readonly number[] | null,
  reference: string,
): Promise<number | undefined> {
  const { id, spec } = await findNode(edge, reference);
  if (versions === null) return undefined;
  const machine = await edge.store.machine(id);
  if (machine && versions.includes(machine.version)) return machine.version;
  const events = await edge.store.events({ machine: id, limit: EVENTS_READ, newest: true });
  const state = machine ? [`its state is ${machine.lifecycle.state}, ${since(machine.lifecycle.since)}`] : [];
  const changes = events.filter(({ kind }) => /^(lifecycle|node|intent|health|inventory)\./.test(kind));
  throw new ColdironError(
    'version_conflict',
    `${spec.hostname} has version ${machine?.version ?? 'unknown'} now, not ${versions.join(' or ')}`,
    [...state, ...lastOf(changes.map(({ at, kind, actor }) => `${instantText(at)}: ${kind}, by ${actor}`))],
  );
}

const EVENTS_READ = 100;
const CHANGES_SHOWN = 5;
const since = (at: Instant): string => `since ${instantText(at)}`;
const lastOf = (lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['the last changes:', ...lines.slice(-CHANGES_SHOWN)];

async function inventoryVersion(edge: Edge, versions: readonly number[] | null): Promise<number | undefined> {
  if (versions === null) return undefined;
  const { declaredRevision } = edge.fleet.inventory();
  if (versions.includes(declaredRevision)) return declaredRevision;
  throw await inventoryConflict(edge, declaredRevision, versions);
}

export async function inventoryConflict(
  { store }: Pick<Edge, 'store'>,
  now: number,
  expected: readonly number[],
): Promise<ColdironError> {
  const entries = await store.auditEntries(0, EVENTS_READ, true);
  const changes = entries.filter(({ action }) => /^(inventory|node)\./.test(action));
  return new ColdironError(
    'version_conflict',
    `the declared inventory has revision ${now} now, not ${expected.join(' or ')}`,
    lastOf(changes.map(({ at, actor, action, target }) => `${instantText(at)}: ${action} ${target}, by ${actor}`)),
  );
}
