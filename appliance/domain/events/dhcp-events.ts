// Events of the DHCP server. It writes one for each packet: nothing here may cost more than an object.

import { Type } from 'typebox';
import { also, nullable, number, optional, rowsOf, text, texts } from './event-row.ts';

const row = rowsOf('dhcp');

const CLIENT_PROGRAMS = ['firmware-pxe', 'firmware-http', 'ipxe', 'loader', 'os'] as const;
const PROGRAM_NAMES: Readonly<Record<(typeof CLIENT_PROGRAMS)[number], string>> = {
  'firmware-pxe': 'PXE firmware',
  'firmware-http': 'HTTP Boot firmware',
  ipxe: 'iPXE',
  loader: 'a boot loader',
  os: 'an operating system',
};

/** The fields of a client's packet. */
const packet = {
  mac: optional(text),
  xid: text,
  network: text,
  program: Type.Enum([...CLIENT_PROGRAMS]),
  /** RFC 4578 §2.1. */
  architecture: nullable(number),
  secs: number,
  relay: nullable(text),
  oddities: texts,
};

const reply = {
  mac: optional(text),
  xid: text,
  network: text,
  because: text,
  address: optional(text),
  seconds: optional(number),
  file: optional(text),
  /** Why a firmware that looks for a boot file is offered none. */
  no_file: optional(text),
};

const details = (...texts: readonly string[]): string => {
  const present = texts.filter((text) => text !== '');
  return present.length === 0 ? '' : ` (${present.join(', ')})`;
};

const architecture = (code: number | null): string => also(code, (value) => `architecture ${value}`);
const viaRelay = (relay: string | null): string => also(relay, (value) => `via relay ${value}`);
const withFile = ({ file, no_file }: { file?: string; no_file?: string }): string =>
  file === undefined ? also(no_file, (words) => `, no boot file: ${words}`) : `, file ${file}`;

export const DHCP_EVENTS = {
  'dhcp.discover': row(
    'info',
    packet,
    (data) =>
      `Requests an address as ${PROGRAM_NAMES[data.program]}${details(architecture(data.architecture), viaRelay(data.relay))}`,
  ),
  'dhcp.request': row(
    'info',
    packet,
    (data) => `Requests the offered address as ${PROGRAM_NAMES[data.program]}${details(viaRelay(data.relay))}`,
  ),
  'dhcp.decline': row('warning', packet, () => 'Declines its address because another machine uses it'),
  'dhcp.release': row('info', packet, () => 'Releases its address'),
  'dhcp.inform': row('info', packet, () => 'Requests network settings without an address'),
  'dhcp.offer': row('info', reply, (data) => `DHCP offer: ${data.address ?? 'boot file only'}${withFile(data)}`),
  'dhcp.ack': row(
    'info',
    reply,
    (data) =>
      `DHCP acknowledgement: ${data.address ?? 'settings only'}${withFile(data)}${also(data.seconds, (value) => `, lease time ${value} s`)}`,
  ),
  'dhcp.nak': row('warning', reply, (data) => `DHCP server rejects the requested address: ${data.because}`),
  'dhcp.silent': row(
    'warning',
    {
      mac: optional(text),
      xid: optional(text),
      network: optional(text),
      because: text,
      words: text,
      address: optional(text),
      seconds: optional(number),
      file: optional(text),
      /** The source of a packet that belongs to no network. */
      from: optional(text),
      interface: optional(text),
    },
    (data) => `DHCP server does not answer: ${data.words}`,
  ),
  'dhcp.conflict': row(
    'warning',
    { mac: optional(text), network: text, address: text },
    (data) => `Address ${data.address} of network ${data.network} is already in use by another machine`,
  ),
  'dhcp.loop': row(
    'warning',
    { mac: optional(text), network: text, file: text, times: number },
    (data) => `Boot loop: was sent to ${data.file} ${data.times} times in a row and never fetched its script`,
  ),
  'dhcp.rogue': row(
    'error',
    { mac: optional(text), server: text, interface: text, network: nullable(text), how: text },
    (data) =>
      `Another DHCP server, ${data.server}, answers on interface ${data.interface}${also(data.network, (name) => `, network ${name}`)} (${data.how})`,
  ),
};
