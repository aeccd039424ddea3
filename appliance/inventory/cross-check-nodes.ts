// Checks a node against its SKU, profile, cluster and networks.

import {
  type ClusterDraft,
  type Drafts,
  type Entry,
  type Findings,
  forEachLink,
  type NetworkDraft,
  type NodeDraft,
  type ProfileDraft,
  type SiteDraft,
  type SkuDraft,
} from './drafts.ts';
import type { References } from './references.ts';

export function checkNodes(drafts: Drafts, references: References, findings: Findings): void {
  for (const { at, draft } of drafts.profiles) {
    draft.skus?.forEach((sku, index) => {
      references.follow('skus', sku, at, `skus[${index}]`);
    });
  }
  for (const node of drafts.nodes) {
    const { at, draft } = node;
    const site = references.follow('sites', draft.site, at, 'site');
    const sku = references.follow('skus', draft.sku, at, 'sku');
    const profile = references.follow('profiles', draft.profile, at, 'profile');
    if (sku) checkSku(node, sku, site, findings);
    if (profile) checkProfile(node, profile, sku !== undefined, findings);
    checkSites(node, references, findings);
  }
}

function checkSku(
  { at, draft }: Entry<NodeDraft>,
  { at: place, draft: sku }: Entry<SkuDraft>,
  site: Entry<SiteDraft> | undefined,
  findings: Findings,
): void {
  if (sku.active === false) findings.report(at, 'sku', `SKU ${sku.name} is not active`, place);
  if (draft.architecture && sku.architecture && draft.architecture !== sku.architecture) {
    findings.report(at, 'architecture', `${draft.architecture}, but SKU ${sku.name} is ${sku.architecture}`, place);
  }
  if (typeof draft.gpus === 'number' && sku.gpus !== undefined && draft.gpus !== sku.gpus) {
    findings.report(at, 'gpus', `${draft.gpus}, but SKU ${sku.name} has ${sku.gpus}`, place);
  }
  if (!sku.regions || sku.regions.length === 0 || draft.region === undefined) return;
  const region = draft.region ?? site?.draft.region;
  const allowed = `SKU ${sku.name} is only for ${sku.regions.join(', ')}`;
  if (region === null) findings.report(at, 'region', `is missing, and the site has none: ${allowed}`, place);
  else if (region !== undefined && !sku.regions.includes(region)) {
    findings.report(at, 'region', `${region}, but ${allowed}`, place);
  }
}

function checkProfile(
  { at, draft }: Entry<NodeDraft>,
  { at: place, draft: profile }: Entry<ProfileDraft>,
  skuIsKnown: boolean,
  findings: Findings,
): void {
  if (profile.active === false) findings.report(at, 'profile', `profile ${profile.name} is not active`, place);
  const { architectures, skus } = profile;
  if (draft.architecture && architectures && !architectures.includes(draft.architecture)) {
    const message = `profile ${profile.name} is for ${architectures.join(', ')}, the node is ${draft.architecture}`;
    findings.report(at, 'profile', message, place);
  }
  // An item that could not be read may be the missing SKU.
  if (!skuIsKnown || !draft.sku || !skus?.length || skus.includes(undefined) || skus.includes(draft.sku)) return;
  findings.report(at, 'profile', `profile ${profile.name} is not for SKU ${draft.sku} (${skus.join(', ')})`, place);
}

/** A machine is at one site: its cluster and networks must be at the same site. */
function checkSites({ at, draft }: Entry<NodeDraft>, references: References, findings: Findings): void {
  const checkSite = (field: string, what: string, other: Entry<ClusterDraft | NetworkDraft>): void => {
    const { name, site } = other.draft;
    if (!references.differentSites(draft.site, site)) return;
    findings.report(at, field, `${what} ${name} is at site ${site}, the node at ${draft.site}`, other.at);
  };
  const cluster = references.follow('clusters', draft.cluster, at, 'cluster');
  if (cluster) checkSite('cluster', 'cluster', cluster);
  forEachLink(draft, ({ network: name }, link) => {
    const field = `${link}.network`;
    const network = references.follow('networks', name, at, field);
    if (network) checkSite(field, 'network', network);
  });
}
