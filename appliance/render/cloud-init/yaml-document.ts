// Plain data as a YAML document that YAML 1.1 (cloud-init, netplan and subiquity read it with PyYAML) and YAML 1.2 read alike.
// Keys stay in the order in which they are given.

import { dump } from 'js-yaml';

/** The first line tells cloud-init what the rest is. */
export type Kind = '#cloud-config' | '#cloud-config-archive';

export function yamlDocument(kind: Kind | null, value: object): string {
  const text = dump(value, { lineWidth: -1, noRefs: true });
  return kind === null ? text : `${kind}\n${text}`;
}
