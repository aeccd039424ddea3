// What a client requests from a DHCP server, read once from its message: RFC 2131 §4.3.

import type { DhcpMessage } from '../../codecs/dhcp4/message.ts';
import { readIpv4, readU32 } from '../../codecs/dhcp4/option-values.ts';
import { type DhcpMessageType, OPTION } from '../../codecs/dhcp4/options.ts';
import { type RelayAgentInformation, readRelayAgent } from '../../codecs/dhcp4/relay-agent.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

export interface LeaseRequest {
  readonly type: DhcpMessageType;
  readonly xid: number;
  /** ciaddr: the address it uses now. */
  readonly clientAddress: Ipv4 | null;
  /** Option 50. */
  readonly requestedAddress: Ipv4 | null;
  /** Option 54. */
  readonly serverIdentifier: Ipv4 | null;
  /** Option 51: the requested lease time. */
  readonly leaseSeconds: number | null;
  /** giaddr. */
  readonly relay: Ipv4 | null;
  readonly relayAgent: RelayAgentInformation | null;
  /** Option 118, RFC 3011. */
  readonly subnetSelection: Ipv4 | null;
}

const UNSET = '0.0.0.0';
const unlessUnset = (address: Ipv4): Ipv4 | null => (address === UNSET ? null : address);

/** A damaged address option is an error: treated as absent, it would turn one kind of REQUEST into another. */
export function readLeaseRequest(message: DhcpMessage, type: DhcpMessageType): Parsed<LeaseRequest> {
  const { options } = message;
  let damage: string | null = null;
  const read = <T>(code: number, reader: (value: Uint8Array) => Parsed<T>): T | null => {
    const value = options.get(code);
    if (value === undefined) return null;
    const result = reader(value);
    if (result.ok) return result.value;
    damage ??= `option ${code}: ${result.reason}`;
    return null;
  };
  const relayAgent = options.get(OPTION.relayAgentInformation);
  const request: LeaseRequest = {
    type,
    xid: message.xid,
    clientAddress: unlessUnset(message.ciaddr),
    requestedAddress: read(OPTION.requestedAddress, readIpv4),
    serverIdentifier: read(OPTION.serverIdentifier, readIpv4),
    leaseSeconds: read(OPTION.leaseTime, readU32),
    relay: unlessUnset(message.giaddr),
    relayAgent: relayAgent === undefined ? null : trusted(readRelayAgent(relayAgent), message.giaddr),
    subnetSelection: read(OPTION.subnetSelection, readIpv4),
  };
  return damage === null ? parsed(request) : unparsable(damage);
}

/**
 * Without giaddr, option 82 was written by the client or by the switch that it is plugged into: it may name the port, but
 * neither the network nor the server (RFC 3046 §2.1, RFC 5107 §4).
 */
function trusted(information: RelayAgentInformation, relay: Ipv4): RelayAgentInformation {
  return relay === UNSET ? { ...information, linkSelection: null, serverOverride: null } : information;
}
