// What of a boot was seen, stage by stage, out of the events since a machine was put to work.

import type { Event, Json } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Lifecycle } from '../domain/lifecycle.ts';
import type { Session } from '../domain/session.ts';

export type Data = { readonly [key: string]: Json };

export interface Seen {
  readonly at: Instant;
  readonly kind: string;
  readonly data: Data;
}

export interface Case {
  readonly hostname: string;
  readonly lifecycle: Lifecycle;
  readonly session: Session | null;
  readonly events: readonly Event[];
  readonly now: Instant;
}

/** The last of each, since the work began; null: it was not seen. */
export interface Signs {
  readonly hostname: string;
  readonly lifecycle: Lifecycle;
  readonly session: Session | null;
  readonly now: Instant;
  /** When it was last put to work. */
  readonly since: Instant;
  readonly byHand: Seen | null;
  readonly effectFailed: Seen | null;
  readonly firmwareAsks: Seen | null;
  readonly ipxeAsks: Seen | null;
  readonly systemAsks: Seen | null;
  readonly offer: Seen | null;
  readonly request: Seen | null;
  readonly ack: Seen | null;
  readonly nak: Seen | null;
  readonly decline: Seen | null;
  readonly silent: Seen | null;
  readonly loader: Seen | null;
  readonly loaderTrouble: Seen | null;
  readonly script: Seen | null;
  readonly bootFailed: Seen | null;
  readonly kernel: Seen | null;
  readonly refused: Seen | null;
  readonly failedStep: Seen | null;
  readonly installed: Seen | null;
}

const WORKING: ReadonlySet<string> = new Set([
  'lifecycle.commissioning',
  'lifecycle.deploying',
  'lifecycle.releasing',
  'lifecycle.rescue',
]);

const FIRMWARE: ReadonlySet<Json | undefined> = new Set(['firmware-pxe', 'firmware-http']);

export function signsOf({ hostname, lifecycle, session, events, now }: Case): Signs {
  const since = events.findLast(({ kind }) => WORKING.has(kind))?.at ?? 0;
  const seen = events
    .filter(({ at }) => at >= since)
    .map(({ at, kind, data }): Seen => ({ at, kind, data: dataOf(data) }));
  const last = (fits: (one: Seen) => boolean): Seen | null => seen.findLast(fits) ?? null;
  const ofKind = (...kinds: string[]): Seen | null => last(({ kind }) => kinds.includes(kind));
  const asks = (fits: (program: Json | undefined) => boolean): Seen | null =>
    last(({ kind, data }) => kind === 'dhcp.discover' && fits(data.program));
  return {
    hostname,
    lifecycle,
    session: session && session.ticketMadeAt >= since ? session : null,
    now,
    since,
    byHand:
      last(({ kind, data }) => /^bmc\.(absent|skipped)$/.test(kind) && typeof data.to_do === 'string') ??
      ofKind('bmc.recorded'),
    effectFailed: ofKind('effect.failed'),
    firmwareAsks: asks((program) => FIRMWARE.has(program)),
    ipxeAsks: asks((program) => program === 'ipxe'),
    systemAsks: asks((program) => program === 'os'),
    offer: ofKind('dhcp.offer'),
    request: ofKind('dhcp.request'),
    ack: ofKind('dhcp.ack'),
    nak: ofKind('dhcp.nak'),
    decline: ofKind('dhcp.decline'),
    silent: ofKind('dhcp.silent'),
    loader: last(({ kind, data }) => kind === 'tftp.completed' || (kind === 'http.served' && !isSystem(data))),
    loaderTrouble: ofKind('tftp.not-found', 'tftp.refused', 'tftp.timeout', 'tftp.aborted', 'tftp.ignored'),
    script: ofKind('http.script'),
    bootFailed: ofKind('boot.failed'),
    kernel: last(({ kind, data }) => kind === 'http.served' && isSystem(data) && data.complete === true),
    refused: ofKind('session.refused'),
    failedStep: last(({ kind, data }) => kind === 'session.step' && data.status === 'failed'),
    installed: ofKind('lifecycle.enrolling'),
  };
}

/** Kernels and initrds lie below these two; loaders elsewhere. */
const isSystem = ({ asset }: Data): boolean => typeof asset === 'string' && /^(?:images|nixos)\//.test(asset);

const dataOf = (data: Json): Data =>
  typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Data) : {};
