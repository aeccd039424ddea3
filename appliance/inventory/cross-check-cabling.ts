// Checks declared switch ports: a port takes one cable, and a cable is found by the MAC address of its card.

import { isSamePort, portKey, portText, type SwitchPort } from '../domain/cabling.ts';
import { type Drafts, type Findings, type Place, placeText } from './drafts.ts';

interface Taken {
  readonly port: SwitchPort;
  readonly at: Place;
  readonly field: string;
  readonly cable: string;
}

export function checkCabling(drafts: Drafts, findings: Findings): void {
  /** By site and `portKey`: sites may use the same names of switches. */
  const taken = new Map<string, Taken[]>();
  for (const { at, draft } of drafts.nodes) {
    draft.interfaces?.forEach((nic, index) => {
      const port = nic?.switch;
      if (!port) return;
      const field = `interfaces[${index}].switch`;
      if (nic.mac === null) findings.warn(at, field, 'cannot be checked: the interface has no mac');
      if (draft.site === undefined) return;
      const key = `${draft.site ?? ''} ${portKey(port)}`;
      const there = taken.get(key) ?? [];
      const other = there.find((each) => isSamePort(each.port, port));
      const cable = `${draft.hostname ?? at.path} ${nic.name ?? `interfaces[${index}]`}`;
      if (other) {
        const whose = `${other.cable}, ${placeText(other.at, other.field)}`;
        findings.report(
          at,
          field,
          `${portText(port)} cannot be the port of ${cable}: it is the port of ${whose}`,
          other.at,
        );
      } else taken.set(key, [...there, { port, at, field, cable }]);
    });
  }
}
