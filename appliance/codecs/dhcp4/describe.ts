// Formats a message as text: in full, one line per field, for goldens and the trail; or as one bounded line for the log.

import { readArchitectures } from './client-options.ts';
import { architectureName, describeValue, hex, quoted } from './describe-value.ts';
import type { DhcpMessage } from './message.ts';
import { readIpv4, readText } from './option-values.ts';
import { messageType, OPTION, OPTION_KINDS } from './options.ts';

export function describeDhcp(message: DhcpMessage): string {
  const lines = [
    `${kindOf(message)} (${message.op})`,
    `  xid ${xidOf(message)}, secs ${message.secs}, hops ${message.hops}, ${message.broadcast ? 'broadcast' : 'unicast'}`,
    `  client ${clientOf(message)} (htype ${message.htype}, hlen ${message.hlen})`,
    `  ciaddr ${message.ciaddr}, yiaddr ${message.yiaddr}, siaddr ${message.siaddr}, giaddr ${message.giaddr}`,
  ];
  if (message.sname !== '') lines.push(`  sname ${quoted(message.sname)}`);
  if (message.file !== '') lines.push(`  file ${quoted(message.file)}`);
  for (const [code, value] of message.options) {
    const name = OPTION_KINDS.get(code)?.name ?? 'unknown';
    lines.push(`  ${code} ${name}: ${describeValue(code, value)}`);
  }
  for (const oddity of message.oddities ?? []) lines.push(`  odd: ${oddity}`);
  return lines.join('\n');
}

export function summarizeDhcp(message: DhcpMessage): string {
  const parts = [kindOf(message), `xid ${xidOf(message)}`, clientOf(message)];
  if (message.giaddr !== '0.0.0.0') parts.push(`via ${message.giaddr}`);
  if (message.ciaddr !== '0.0.0.0') parts.push(`has ${message.ciaddr}`);
  const requested = message.options.get(OPTION.requestedAddress);
  const address = requested && readIpv4(requested);
  if (address?.ok) parts.push(`asks ${address.value}`);
  if (message.yiaddr !== '0.0.0.0') parts.push(`gets ${message.yiaddr}`);
  const server = message.options.get(OPTION.serverIdentifier);
  const serverAddress = server && readIpv4(server);
  if (serverAddress?.ok) parts.push(`server ${serverAddress.value}`);
  const architectures = message.options.get(OPTION.clientArchitecture);
  const codes = architectures && readArchitectures(architectures);
  if (codes?.ok && codes.value[0] !== undefined) parts.push(`arch ${architectureName(codes.value[0])}`);
  const vendorClass = message.options.get(OPTION.vendorClass);
  if (vendorClass) parts.push(shortened(readText(vendorClass)));
  if (message.options.has(OPTION.ipxe)) parts.push('iPXE');
  if (message.file !== '') parts.push(`file ${shortened(message.file)}`);
  if (message.oddities) parts.push(`odd: ${message.oddities[0]}`);
  return parts.join(' ');
}

const SHORT = 64;
const shortened = (text: string): string => (text.length > SHORT ? `${quoted(text.slice(0, SHORT))}...` : quoted(text));

const kindOf = (message: DhcpMessage): string =>
  messageType(message)?.toUpperCase() ?? (message.options.has(OPTION.messageType) ? 'UNKNOWN TYPE' : 'BOOTP');
const xidOf = (message: DhcpMessage): string => message.xid.toString(16).padStart(8, '0');

/** Without a hardware address (InfiniBand, RFC 4390 §2.1) the client identifier identifies the client. */
function clientOf(message: DhcpMessage): string {
  if (message.hlen > 0) return hex(message.chaddr.subarray(0, message.hlen), ':');
  const identifier = message.options.get(OPTION.clientIdentifier);
  return identifier ? describeValue(OPTION.clientIdentifier, identifier.subarray(0, SHORT)) : 'unknown client';
}
