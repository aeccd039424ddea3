// Plain data as a YAML document that YAML 1.1 (PyYAML, used by cloud-init, netplan and subiquity) and YAML 1.2 read alike.
// Keys keep their order.

import { dump } from 'js-yaml';

/** The first line, which tells cloud-init the format. */
export type Kind = '#cloud-config' | '#cloud-config-archive';

export function yamlDocument(kind: Kind | null, value: object): string {
  const text = dump(value, { lineWidth: -1, noRefs: true });
  return kind === null ? text : `${kind}\n${text}`;
}
