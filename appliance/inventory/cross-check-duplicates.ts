// Checks for duplicates: names within a section, host names, MAC addresses, chassis UUIDs, VLANs of a site.

import { type Drafts, type Findings, forEachLink, type Place, placeText } from './drafts.ts';

export function checkDuplicates(drafts: Drafts, findings: Findings): void {
  for (const section of ['sites', 'networks', 'skus', 'profiles', 'clusters', 'roce'] as const) {
    const names = new Register(findings);
    for (const { at, draft } of drafts[section]) names.claim(draft.name, at, section === 'roce' ? 'hostname' : 'name');
  }
  checkVlans(drafts, findings);
  const hostnames = new Register(findings);
  const macs = new Register(findings);
  const uuids = new Register(findings);
  for (const { at, draft } of drafts.nodes) {
    hostnames.claim(draft.hostname, at, 'name');
    uuids.claim(draft.uuid, at, 'uuid');
    const links = new Register(findings);
    forEachLink(draft, (link, field) => {
      links.claim(link.name, at, field, '.name');
      if ('mac' in link) macs.claim(link.mac, at, field, '.mac');
    });
  }
}

function checkVlans(drafts: Drafts, findings: Findings): void {
  const vlans = new Map<string, Register>();
  for (const { at, draft } of drafts.networks) {
    if (draft.site === undefined) continue;
    const ofSite = vlans.get(draft.site) ?? new Register(findings);
    vlans.set(draft.site, ofSite);
    ofSite.claim(draft.vlan, at, 'vlan');
  }
}

class Register {
  readonly #findings: Findings;
  readonly #held = new Map<string | number, { at: Place; field: string; part: string }>();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  /** `part` is the end of the field name: concatenated only for a message. */
  claim(value: string | number | null | undefined, at: Place, field: string, part = ''): void {
    if (value === null || value === undefined) return;
    const first = this.#held.get(value);
    if (!first) this.#held.set(value, { at, field, part });
    else {
      const taken = `${value} is taken by ${placeText(first.at, first.field + first.part)}`;
      this.#findings.report(at, field + part, taken, first.at);
    }
  }
}
