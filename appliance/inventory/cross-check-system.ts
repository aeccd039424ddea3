// Checks routes against their network, and images and disks against the kind of profile.

import { IMAGE_KINDS } from '../domain/catalogue.ts';
import { prefixText } from '../domain/ipv4.ts';
import { hostAddressProblem } from './cross-check-networks.ts';
import type { Drafts, Entry, Findings, NetworkDraft, NodeDraft, ProfileDraft, StorageDraft } from './drafts.ts';
import type { References } from './references.ts';

export function checkSystems(drafts: Drafts, references: References, findings: Findings): void {
  for (const network of drafts.networks) checkRoutes(network, findings);
  for (const profile of drafts.profiles) checkProfile(profile, findings);
  for (const node of drafts.nodes) if (node.draft.storage) checkNodeStorage(node, references, findings);
}

function checkRoutes({ at, draft }: Entry<NetworkDraft>, findings: Findings): void {
  const destinations = new Map<string, number>();
  draft.routes?.forEach((route, index) => {
    const field = `routes[${index}]`;
    const problem = draft.prefix && route?.via && hostAddressProblem(draft.prefix, route.via);
    if (problem) findings.report(at, `${field}.via`, problem);
    if (!route?.to) return;
    if (route.to.length === 0) findings.report(at, `${field}.to`, 'is the default route: declare it as gateway');
    const first = destinations.get(prefixText(route.to));
    if (first !== undefined)
      findings.report(at, `${field}.to`, `${prefixText(route.to)} is already in routes[${first}]`);
    else destinations.set(prefixText(route.to), index);
  });
}

function checkProfile({ at, draft }: Entry<ProfileDraft>, findings: Findings): void {
  const { kind, image, storage, install } = draft;
  if (!kind) return;
  if (install === 'push' && kind !== 'nixos') {
    findings.report(at, 'install', `kind ${kind} is installed by the service OS; only nixos can be pushed`);
  }
  if (image && !IMAGE_KINDS.includes(kind)) {
    findings.report(at, 'image', `kind ${kind} installs a system; only ${IMAGE_KINDS.join(' and ')} write an image`);
  }
  const problem = storage && imageStorageProblem(draft, storage);
  if (problem) findings.report(at, 'storage', problem);
}

function checkNodeStorage({ at, draft }: Entry<NodeDraft>, references: References, findings: Findings): void {
  const profile = references.find('profiles', draft.profile);
  const problem = profile && draft.storage && imageStorageProblem(profile.draft, draft.storage);
  if (problem) findings.report(at, 'storage', problem, profile.at);
}

/** An image has its own partitions: only the target disk can be declared. */
function imageStorageProblem(
  { kind }: ProfileDraft,
  { layout, swapMegabytes, filesystem }: StorageDraft,
): string | null {
  if (!kind || !IMAGE_KINDS.includes(kind)) return null;
  const plain = (layout ?? 'single') === 'single' && !swapMegabytes && (filesystem ?? 'ext4') === 'ext4';
  return plain ? null : `kind ${kind} writes an image, which has its own layout: declare only disks`;
}
