// The cables of a node as the API shows them.

import type { Static } from 'typebox';
import type { NodeCabling } from '../../contract/schemas/cabling.ts';
import { instantText } from '../../domain/instant.ts';
import type { CheckedCable } from '../../provisioning/cabling.ts';

export const cablingView = (node: string, cables: readonly CheckedCable[]): Static<typeof NodeCabling.schema> => ({
  node,
  cables: cables.map(({ name, mac, verdict, summary, declared, seen, seenAt, link, owner }) => ({
    interface: name,
    mac,
    verdict,
    summary,
    declared,
    seen:
      seen === null || seenAt === null
        ? null
        : {
            chassis: seen.chassis,
            system: seen.system,
            port: seen.port,
            port_description: seen.portDescription,
            at: instantText(seenAt),
          },
    link,
    port_of: owner && { node: owner.hostname, interface: owner.name, swapped: owner.isSwapped },
  })),
});
