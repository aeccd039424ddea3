// Collections: links to their members, or the members themselves, in pages. A loop of pages ends, and endless pages are an error.

import { BmcError } from '../bmc-error.ts';
import type { RedfishCaller } from './caller.ts';
import { asResource, linkAt, listAt, pathOf, type Resource, textAt } from './resource.ts';

const MOST_PAGES = 200;

export interface Member {
  readonly path: string | null;
  /** Null: the collection contains only its link. */
  readonly resource: Resource | null;
}

/** The first `most` members. */
export async function members(bmc: RedfishCaller, path: string, most: number): Promise<Member[]> {
  const found: Member[] = [];
  const seen = new Set<string>();
  let next: string | null = path;
  while (next !== null && !seen.has(next) && found.length < most) {
    if (seen.size === MOST_PAGES)
      throw new BmcError('malformed', `GET ${path}: the collection has more than ${MOST_PAGES} pages`);
    seen.add(next);
    const { resource } = await bmc.read(next);
    if (!Array.isArray(resource.Members))
      throw new BmcError('malformed', `GET ${next}: the collection has no members property`);
    for (const entry of listAt(resource, 'Members').slice(0, most - found.length)) found.push(asMember(entry));
    next = pathOf(textAt(resource, 'Members@odata.nextLink'));
  }
  return found;
}

function asMember(entry: unknown): Member {
  const resource = asResource(entry);
  const isLinkOnly = resource !== null && Object.keys(resource).every((key) => key === '@odata.id');
  return { path: linkAt(entry), resource: isLinkOnly ? null : resource };
}

export const memberPaths = async (bmc: RedfishCaller, path: string, most: number): Promise<string[]> =>
  (await members(bmc, path, most)).flatMap((member) => member.path ?? []);

/** The members themselves; those that are only linked are read one by one. */
export async function memberResources(bmc: RedfishCaller, path: string, most: number): Promise<Resource[]> {
  const resources: Resource[] = [];
  for (const member of await members(bmc, path, most)) {
    const resource = member.resource ?? (member.path === null ? null : (await bmc.read(member.path)).resource);
    if (resource) resources.push(resource);
  }
  return resources;
}
