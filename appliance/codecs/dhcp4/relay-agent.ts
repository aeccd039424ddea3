// Option 82 (RFC 3046): what a relay adds about the port on which it received a request. Replies echo the raw bytes;
// these values select the subnet and identify the switch port.

import type { Ipv4 } from '../../domain/ipv4.ts';
import { readIpv4 } from './option-values.ts';
import { readSubOptions } from './sub-options.ts';

export interface RelayAgentInformation {
  /** Sub-option 1, RFC 3046 §3.1: the port, in the switch's own format. */
  readonly circuitId: Uint8Array | null;
  /** Sub-option 2, RFC 3046 §3.2: the switch or the line, in the switch's own format. */
  readonly remoteId: Uint8Array | null;
  /** Sub-option 5, RFC 3527: the client's subnet, when it is not that of giaddr. */
  readonly linkSelection: Ipv4 | null;
  /** Sub-option 11, RFC 5107: the value to send as option 54, so that renewals pass through the relay. */
  readonly serverOverride: Ipv4 | null;
  readonly damage: string | null;
}

const CIRCUIT_ID = 1;
const REMOTE_ID = 2;
const LINK_SELECTION = 5;
const SERVER_OVERRIDE = 11;

export function readRelayAgent(value: Uint8Array): RelayAgentInformation {
  const { values, damage } = readSubOptions(value, 'codes-only');
  const problems: string[] = damage === null ? [] : [damage];
  const address = (code: number): Ipv4 | null => {
    const bytes = values.get(code);
    if (bytes === undefined) return null;
    const read = readIpv4(bytes);
    if (read.ok) return read.value;
    problems.push(`sub-option ${code}: ${read.reason}`);
    return null;
  };
  const linkSelection = address(LINK_SELECTION);
  const serverOverride = address(SERVER_OVERRIDE);
  return {
    circuitId: values.get(CIRCUIT_ID) ?? null,
    remoteId: values.get(REMOTE_ID) ?? null,
    linkSelection,
    serverOverride,
    damage: problems.length === 0 ? null : problems.join('; '),
  };
}
