// Formats one option value as text, for goldens, trails and logs. Never throws, and outputs printable ASCII only, because
// any device on the network can send these values.

import { CLIENT_ARCHITECTURES } from '../../domain/architecture.ts';
import { chassisUuidFromOption97 } from '../../domain/chassis.ts';
import type { Parsed } from '../../domain/parsed.ts';
import { readArchitectures, readClientIdentifier, readNetworkInterface, readUserClasses } from './client-options.ts';
import { readIpxe } from './ipxe-encapsulated.ts';
import { readIpv4, readIpv4List, readText, readU8, readU16, readU32 } from './option-values.ts';
import { OPTION_KINDS, readMessageType, type ValueForm } from './options.ts';
import { PXE_SUB_OPTION, readBootItem, readPxeVendor } from './pxe-vendor.ts';
import { readRelayAgent } from './relay-agent.ts';

export function describeValue(code: number, value: Uint8Array): string {
  const form = OPTION_KINDS.get(code)?.form ?? 'bytes';
  return value.length === 0 ? '(empty)' : FORMS[form](value);
}

/** Escapes quotes and backslashes, and everything but printable ASCII as \xNN, so that the text can be parsed back. */
export function quoted(text: string): string {
  let visible = '';
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22 || code === 0x5c) visible += `\\${text[at]}`;
    else if (code >= 0x20 && code <= 0x7e) visible += text[at];
    else visible += `\\x${code.toString(16).padStart(2, '0')}`;
  }
  return `"${visible}"`;
}

export const hex = (bytes: Uint8Array, separator = ''): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(separator);

export function architectureName(code: number): string {
  const known = CLIENT_ARCHITECTURES.get(code);
  return known ? `${code} ${known.name}` : `${code} (unknown)`;
}

/** Shows a malformed value as hex, with the reason. */
function orBytes<T>(read: Parsed<T>, value: Uint8Array, show: (value: T) => string): string {
  return read.ok ? show(read.value) : `${hex(value)} (${read.reason})`;
}

const FORMS: Readonly<Record<ValueForm, (value: Uint8Array) => string>> = {
  ipv4: (value) => orBytes(readIpv4(value), value, String),
  'ipv4-list': (value) => orBytes(readIpv4List(value), value, (list) => list.join(', ')),
  u8: (value) => orBytes(readU8(value), value, String),
  u16: (value) => orBytes(readU16(value), value, String),
  u32: (value) => orBytes(readU32(value), value, String),
  text: (value) => quoted(readText(value)),
  'message-type': (value) => readMessageType(value)?.toUpperCase() ?? `${hex(value)} (unknown type)`,
  'option-codes': (value) => value.join(' '),
  'client-identifier': describeClientIdentifier,
  'user-classes': (value) => readUserClasses(value).map(quoted).join(', '),
  'relay-agent': describeRelayAgent,
  architectures: (value) => orBytes(readArchitectures(value), value, (codes) => codes.map(architectureName).join(', ')),
  'network-interface': (value) =>
    orBytes(readNetworkInterface(value), value, ({ type, major, minor }) =>
      type === 1 ? `UNDI ${major}.${minor}` : `type ${type}, ${major}.${minor}`,
    ),
  'chassis-uuid': (value) => orBytes(chassisUuidFromOption97(value), value, String),
  'pxe-vendor': describePxeVendor,
  ipxe: describeIpxe,
  bytes: (value) => hex(value),
};

function describeClientIdentifier(value: Uint8Array): string {
  return orBytes(readClientIdentifier(value), value, ({ type, identifier }) => {
    if (type === 1 && identifier.length === 6) return `Ethernet ${hex(identifier, ':')}`;
    if (type === 255) return `DUID ${hex(identifier)}`;
    return `type ${type}, ${hex(identifier)}`;
  });
}

function describeRelayAgent(value: Uint8Array): string {
  const relay = readRelayAgent(value);
  const parts: string[] = [];
  if (relay.circuitId) parts.push(`circuit ${quoted(readText(relay.circuitId))}`);
  if (relay.remoteId) parts.push(`remote ${quoted(readText(relay.remoteId))}`);
  if (relay.linkSelection) parts.push(`link ${relay.linkSelection}`);
  if (relay.serverOverride) parts.push(`server override ${relay.serverOverride}`);
  return described(parts, relay.damage, value);
}

function describeIpxe(value: Uint8Array): string {
  const ipxe = readIpxe(value);
  const parts: string[] = [];
  if (ipxe.version) parts.push(`version ${ipxe.version}`);
  if (ipxe.features.size > 0) parts.push(`features ${[...ipxe.features].join(' ')}`);
  if (ipxe.busId) parts.push(`bus id ${hex(ipxe.busId)}`);
  return described(parts, ipxe.damage, value);
}

function describePxeVendor(value: Uint8Array): string {
  const { values, damage } = readPxeVendor(value);
  const parts: string[] = [];
  for (const [code, bytes] of values) {
    const item = code === PXE_SUB_OPTION.bootItem ? readBootItem(bytes) : null;
    if (item?.ok) parts.push(`boot item ${item.value.type} layer ${item.value.layer}`);
    else parts.push(`${PXE_NAMES.get(code) ?? `sub-option ${code}`} ${hex(bytes)}`);
  }
  return described(parts, damage, value);
}

const PXE_NAMES: ReadonlyMap<number, string> = new Map([
  [PXE_SUB_OPTION.discoveryControl, 'discovery control'],
  [PXE_SUB_OPTION.bootServers, 'boot servers'],
  [PXE_SUB_OPTION.bootMenu, 'boot menu'],
  [PXE_SUB_OPTION.menuPrompt, 'menu prompt'],
  [PXE_SUB_OPTION.bootItem, 'boot item'],
]);

/** Adds the raw bytes when the value is malformed or holds no sub-option that we know. */
function described(parts: readonly string[], damage: string | null, value: Uint8Array): string {
  if (damage !== null) return [...parts, `damaged: ${damage}`, hex(value)].join('; ');
  return parts.length > 0 ? parts.join('; ') : hex(value);
}
