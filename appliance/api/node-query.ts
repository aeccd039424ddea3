// The filters of GET /nodes, checked against existing names: a misspelled site must not look like a site without nodes.

import type { Query } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { shown } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { NodeQuery } from './list-nodes.ts';

/** The label that names the rack of a machine. */
const RACK_LABEL = 'rack';
const STANDARD_LIMIT = 100;
const NAMES_SHOWN = 10;

export function nodeQuery(fleet: Fleet, { label = [], rack, limit, ...query }: Query<'listNodes'>): NodeQuery {
  mustBeDeclared('site', query.site, fleet.sites());
  mustBeDeclared('cluster', query.cluster, fleet.clusters());
  mustBeDeclared('profile', query.profile, fleet.profiles());
  const labels = label.map(labelOf);
  if (rack !== undefined) labels.push([RACK_LABEL, rack]);
  for (const [key, value] of labels) mustBeUsed(fleet, key, value, key === RACK_LABEL && value === rack);
  return { ...query, labels, limit: limit ?? STANDARD_LIMIT };
}

function labelOf(text: string): [key: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new ColdironError('invalid_request', `label: must be key=value, not ${shown(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function mustBeDeclared(field: string, name: string | undefined, declared: Iterable<{ readonly name: string }>): void {
  if (name === undefined) return;
  const names = [...declared].map((each) => each.name);
  if (!names.includes(name)) {
    throw new ColdironError('invalid_request', `${field}: there is no ${field} ${shown(name)}; ${choices(names)}`);
  }
}

function mustBeUsed(fleet: Fleet, key: string, value: string, asRack: boolean): void {
  const values = new Set<string>();
  for (const { spec } of fleet.machines()) {
    const held = Object.hasOwn(spec.labels, key) ? spec.labels[key] : undefined;
    if (held === value) return;
    if (held !== undefined) values.add(held);
  }
  const field = asRack ? 'rack' : 'label';
  const known = values.size === 0 ? `no node has a label ${shown(key)}` : choices([...values]);
  throw new ColdironError('invalid_request', `${field}: no node has the label ${shown(`${key}=${value}`)}; ${known}`);
}

function choices(names: readonly string[]): string {
  if (names.length === 0) return 'there is none';
  const sorted = names.toSorted();
  const more = sorted.length > NAMES_SHOWN ? ` and ${sorted.length - NAMES_SHOWN} more` : '';
  return `there are ${sorted.slice(0, NAMES_SHOWN).map(shown).join(', ')}${more}`;
}
