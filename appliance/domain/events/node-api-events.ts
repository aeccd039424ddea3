// Events of the node API about connections that never became an answered request. The peer proves nothing: it is named by its address,
// and the machine is the one that this address belongs to. Repeats are counted, not written again.

import { Type } from 'typebox';
import { type Instant, SECOND } from '../instant.ts';
import { also, nullable, number, optional, rowsOf, text, texts } from './event-row.ts';
import { cloudInitFailed, NodeSystem } from './node-system.ts';

const row = rowsOf('node-api');

/** What broke a TLS handshake. `client-…`: the client sent an alert (RFC 8446 §6). */
export const HANDSHAKE_FAILURES = {
  'client-unknown-authority': 'the client does not know the authority of our certificate',
  'client-certificate-expired': 'the client says that our certificate has expired: is its clock ahead?',
  'client-bad-certificate':
    'the client rejects our certificate, as it does when the certificate is not valid yet: is its clock behind?',
  'client-other-alert': 'the client ended the handshake with an alert',
  'protocol-version': 'the client offers no TLS version that we accept',
  'no-common-cipher': 'the client offers no cipher that we accept',
  'not-tls': 'the client does not speak TLS',
  silent: 'the client connected and sent nothing',
  'broken-off': 'the connection broke during the handshake',
  other: 'the handshake failed',
} as const;
export type HandshakeFailure = keyof typeof HANDSHAKE_FAILURES;

/** A node whose clock is further off has a wrong clock. */
export const CLOCK_TOLERANCE: Instant = 30 * SECOND;

const repeats = (count: number): string => (count > 1 ? ` (${count} times)` : '');

/** Failed units and errors of cloud-init in a few words. */
function systemWords(system: NodeSystem): string {
  const { units, more_units: more, cloud_init: end } = system;
  const failed = units.map(({ unit, result }) => `${unit} (${result})`);
  const also = more === 0 ? [] : [`${more} more`];
  const cloudInit = cloudInitFailed(system)
    ? `cloud-init ended with ${end?.errors[0] ?? `the status ${end?.status}`}`
    : null;
  return [failed.length === 0 ? null : `failed units: ${[...failed, ...also].join(', ')}`, cloudInit]
    .flatMap((part) => part ?? [])
    .join('; ');
}

export const NODE_API_EVENTS = {
  'node-api.connected': row(
    'info',
    { address: text },
    (data) => `Connected to the node API from ${data.address}, for the first time in a while`,
  ),
  'node-api.handshake-failed': row(
    'warning',
    {
      address: text,
      reason: Type.Enum(Object.keys(HANDSHAKE_FAILURES) as HandshakeFailure[]),
      /** As OpenSSL names it. */
      detail: text,
      /** How often since the last event of this kind from this address. */
      count: number,
      /** Of our certificate. */
      not_before: text,
      not_after: text,
    },
    (data) =>
      `TLS handshake with the node API failed from ${data.address}${repeats(data.count)}: ` +
      `${HANDSHAKE_FAILURES[data.reason]} (${data.detail}; our certificate is valid from ${data.not_before} to ${data.not_after})`,
  ),
  'node-api.refused': row(
    'warning',
    { address: text, path: text, code: text, words: text, count: number },
    (data) => `Node API refused ${data.path} from ${data.address}${repeats(data.count)}: ${data.words}`,
  ),
  'node-api.clock-off': row(
    'warning',
    { seconds: number, agent: optional(text) },
    (data) =>
      `Its clock is ${Math.abs(data.seconds)} s ${data.seconds < 0 ? 'behind' : 'ahead'}${also(data.agent, (agent) => ` (agent ${agent})`)}`,
  ),
  'node-api.system-degraded': row(
    'warning',
    NodeSystem.properties,
    (data) =>
      `Its system runs, but not completely: ${systemWords(data)}${also(data.units[0]?.lines.at(-1), (line) => `: ${line}`)}`,
  ),
  'node-api.system-healthy': row('info', { cloud_init: nullable(text) }, (data) =>
    data.cloud_init === null
      ? 'Its system runs, and no unit has failed'
      : `Its system runs, no unit has failed, and cloud-init ended: ${data.cloud_init}`,
  ),
  'node-api.first-boot-failed': row(
    'error',
    {
      address: text,
      /** Which part, as its status file is named: `site-bootstrap/baseline-7`. */
      part: text,
      outcome: text,
      /** The exit status; -1: not known. */
      exit: number,
      lines: texts,
      count: number,
    },
    (data) =>
      `Its first boot reports: ${data.part} ${data.outcome}, exit status ${data.exit}${repeats(data.count)}${also(data.lines.at(-1), (line) => `: ${line}`)}`,
  ),
};
