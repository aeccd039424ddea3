// One page of nodes, ordered by host name, so that pages never repeat or skip a node that existed throughout.

import type { LifecycleState } from '../domain/lifecycle.ts';
import { type Machine, macsOf } from '../domain/machine.ts';

export interface NodeQuery {
  readonly state?: LifecycleState;
  readonly site?: string;
  readonly cluster?: string;
  readonly profile?: string;
  readonly labels?: readonly (readonly [key: string, value: string])[];
  readonly bmc?: boolean;
  readonly q?: string;
  readonly after?: string;
  readonly limit: number;
}

export function listNodes(
  machines: Iterable<Machine>,
  query: NodeQuery,
): { page: Machine[]; total: number; next: string | null } {
  const sought = query.q?.toLowerCase();
  const matching: Machine[] = [];
  for (const machine of machines) {
    if (!matches(machine, query)) continue;
    if (sought !== undefined && !searchable(machine).some((text) => text.includes(sought))) continue;
    matching.push(machine);
  }
  matching.sort((a, b) => (a.spec.hostname < b.spec.hostname ? -1 : 1));
  const { after } = query;
  const start = after === undefined ? 0 : matching.findIndex(({ spec }) => spec.hostname > after);
  const page = start === -1 ? [] : matching.slice(start, start + query.limit);
  const last = page.at(-1);
  const more = last !== undefined && last !== matching.at(-1);
  return { page, total: matching.length, next: more ? last.spec.hostname : null };
}

function matches({ spec, lifecycle }: Machine, query: NodeQuery): boolean {
  return (
    (query.state === undefined || lifecycle.state === query.state) &&
    (query.site === undefined || spec.site === query.site) &&
    (query.cluster === undefined || spec.cluster === query.cluster) &&
    (query.profile === undefined || spec.profile === query.profile) &&
    (query.bmc === undefined || (spec.bmc !== null) === query.bmc) &&
    (query.labels ?? []).every(([key, value]) => Object.hasOwn(spec.labels, key) && spec.labels[key] === value)
  );
}

function searchable({ spec }: Machine): string[] {
  const addresses = spec.interfaces.flatMap(({ address }) => address ?? []);
  const others = [spec.bmc?.address, spec.uuid, spec.serial?.toLowerCase(), spec.access?.host];
  return [spec.hostname, ...macsOf(spec), ...addresses, ...others.flatMap((text) => text ?? [])];
}
