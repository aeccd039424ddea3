// Checks across objects: duplicate names, references to missing objects, address conflicts.

import { checkAddresses } from './cross-check-addresses.ts';
import { checkCabling } from './cross-check-cabling.ts';
import { checkClusters } from './cross-check-clusters.ts';
import { checkDuplicates } from './cross-check-duplicates.ts';
import { checkLinks } from './cross-check-links.ts';
import { checkNetworks } from './cross-check-networks.ts';
import { checkNodes } from './cross-check-nodes.ts';
import { checkRoce } from './cross-check-roce.ts';
import { checkSystems } from './cross-check-system.ts';
import type { Drafts, Findings } from './drafts.ts';
import { References } from './references.ts';

export function crossCheck(drafts: Drafts, findings: Findings): void {
  const references = new References(drafts, findings);
  checkDuplicates(drafts, findings);
  checkNetworks(drafts, references, findings);
  checkAddresses(drafts, findings);
  checkNodes(drafts, references, findings);
  checkLinks(drafts, references, findings);
  checkCabling(drafts, findings);
  checkSystems(drafts, references, findings);
  checkRoce(drafts, references, findings);
  checkClusters(drafts, references, findings);
}
