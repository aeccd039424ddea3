// Who contacts the node API, and what became of it. "Nobody knocks" and "it knocks and breaks off" have different causes. Peers are known
// by their address only, so what is recorded here is a hint and never a proof.

import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import { CLOCK_TOLERANCE, type HandshakeFailure } from '../../domain/events/node-api-events.ts';
import { isDegraded, type NodeSystem } from '../../domain/events/node-system.ts';
import { HOUR, type Instant, instantText, MINUTE, SECOND } from '../../domain/instant.ts';
import { parseIpv4 } from '../../domain/ipv4.ts';
import type { MachineId } from '../../domain/machine.ts';
import { type Trail, trailNote } from '../../trail/trail.ts';

export interface NodeContact {
  readonly address: string;
  readonly firstAt: Instant;
  /** The last TCP connection. */
  readonly connectedAt: Instant;
  readonly connections: number;
  /** The last handshake that succeeded; null: none did. */
  readonly securedAt: Instant | null;
  readonly failures: number;
  readonly lastFailure: { readonly at: Instant; readonly reason: HandshakeFailure } | null;
}

export interface NodeContactsDeps {
  readonly trail: Trail;
  readonly now: () => Instant;
  /** The machine that has this address by its lease or its declaration. */
  readonly machineAt: (address: string) => MachineId | null;
  /** Of our certificate. */
  readonly validity: () => { readonly notBefore: Instant; readonly notAfter: Instant };
}

interface Peer {
  contact: { -readonly [Key in keyof NodeContact]: NodeContact[Key] };
  /** Events about it: when each was last written, and how often it occurred since. */
  readonly written: Map<string, { at: Instant; since: number }>;
}

/** The peer that was silent longest is forgotten first. */
const MOST_PEERS = 4096;
const MOST_KINDS_PER_PEER = 16;
const WRITTEN_EVERY = MINUTE;
/** A node with working heartbeats connects far more often. */
const NEW_AFTER = 10 * MINUTE;
const MOST_DETAIL = 120;

export class NodeContacts {
  readonly #deps: NodeContactsDeps;
  readonly #peers = new Map<string, Peer>();
  readonly #clocks = new Map<MachineId, Instant>();

  constructor(deps: NodeContactsDeps) {
    this.#deps = deps;
  }

  connected(from: string | undefined): void {
    const now = this.#deps.now();
    const address = plainAddress(from);
    const peer = this.#peer(address, now);
    const { contact } = peer;
    const isNew = contact.connections === 0 || now - contact.connectedAt > NEW_AFTER;
    contact.connections += 1;
    contact.connectedAt = now;
    if (isNew) this.#note(address, 'node-api.connected', { address });
  }

  secured(from: string | undefined): void {
    const now = this.#deps.now();
    this.#peer(plainAddress(from), now).contact.securedAt = now;
  }

  failed(from: string | undefined, error: Error & { readonly code?: string; readonly reason?: string }): void {
    const { now, validity } = this.#deps;
    const at = now();
    const address = plainAddress(from);
    const peer = this.#peer(address, at);
    const reason = failureOf(error);
    peer.contact.failures += 1;
    peer.contact.lastFailure = { at, reason };
    const count = this.#countToWrite(peer, reason, at);
    if (count === null) return;
    const { notBefore, notAfter } = validity();
    const detail = (error.reason ?? error.code ?? 'no detail').slice(0, MOST_DETAIL);
    const dates = { not_before: instantText(notBefore), not_after: instantText(notAfter) };
    this.#note(address, 'node-api.handshake-failed', { address, reason, detail, count, ...dates });
  }

  /** An enrollment or a certificate that was not accepted; `words` are ours. */
  refused(from: string | undefined, path: string, code: string, words: string): void {
    const now = this.#deps.now();
    const address = plainAddress(from);
    const count = this.#countToWrite(this.#peer(address, now), `${path} ${code} ${words}`, now);
    if (count !== null) this.#note(address, 'node-api.refused', { address, path, code, words, count });
  }

  /** For a node that has proved its identity. Written when it begins, and then every hour. */
  clock(machine: MachineId, offset: Instant, agent: string | null): void {
    if (Math.abs(offset) <= CLOCK_TOLERANCE) {
      this.#clocks.delete(machine);
      return;
    }
    const now = this.#deps.now();
    const before = this.#clocks.get(machine);
    if (before !== undefined && now - before < HOUR) return;
    this.#clocks.set(machine, now);
    const data = { seconds: Math.round(offset / SECOND), ...(agent !== null && { agent }) };
    this.#deps.trail.note(trailNote({ mac: null, machine }, 'node-api.clock-off', data));
  }

  /** For a node that has proved its identity. `before`: what it reported last; null: nothing. Repeats are not written. */
  system(machine: MachineId, before: NodeSystem | null, system: NodeSystem): void {
    if (before !== null && JSON.stringify(before) === JSON.stringify(system)) return;
    const about = { mac: null, machine };
    if (isDegraded(system)) this.#deps.trail.note(trailNote(about, 'node-api.system-degraded', system));
    else if (before === null || isDegraded(before) || before.cloud_init === null)
      this.#deps.trail.note(
        trailNote(about, 'node-api.system-healthy', { cloud_init: system.cloud_init?.status ?? null }),
      );
  }

  /** For a machine whose token was accepted. */
  firstBootFailed(
    from: string | undefined,
    machine: MachineId,
    failure: Omit<EventData<'node-api.first-boot-failed'>, 'address' | 'count'>,
  ): void {
    const address = plainAddress(from);
    const key = `first-boot ${machine} ${failure.part} ${failure.outcome}`;
    const count = this.#countToWrite(this.#peer(address, this.#deps.now()), key, this.#deps.now());
    if (count === null) return;
    const data = { address, ...failure, count };
    this.#deps.trail.note(trailNote({ mac: null, machine }, 'node-api.first-boot-failed', data));
  }

  /** Null: this address never connected, as far as this process knows. */
  at(address: string): NodeContact | null {
    return this.#peers.get(address)?.contact ?? null;
  }

  #peer(address: string, now: Instant): Peer {
    const known = this.#peers.get(address);
    const peer = known ?? {
      contact: {
        ...{ address, firstAt: now, connectedAt: now, connections: 0 },
        ...{ securedAt: null, failures: 0, lastFailure: null },
      },
      written: new Map(),
    };
    // Re-inserted, so that the map is in the order of last contact.
    this.#peers.delete(address);
    this.#peers.set(address, peer);
    if (this.#peers.size > MOST_PEERS) {
      for (const oldest of this.#peers.keys()) {
        this.#peers.delete(oldest);
        break;
      }
    }
    return peer;
  }

  /** Null: it was written lately, so it is only counted. */
  #countToWrite({ written }: Peer, key: string, now: Instant): number | null {
    const before = written.get(key);
    if (before && now - before.at < WRITTEN_EVERY) {
      before.since += 1;
      return null;
    }
    if (!before && written.size >= MOST_KINDS_PER_PEER) return null;
    written.set(key, { at: now, since: 0 });
    return (before?.since ?? 0) + 1;
  }

  #note<Kind extends Extract<EventKind, `node-api.${string}`>>(
    address: string,
    kind: Kind,
    data: EventData<Kind>,
  ): void {
    const machine = this.#deps.machineAt(address);
    const note = trailNote({ mac: null, machine, siteWide: machine === null }, kind, data as never);
    this.#deps.trail.note(note);
  }
}

/** IPv4 addresses of a dual-stack socket are written as ::ffff:10.0.0.5. */
const plainAddress = (address: string | undefined): string => {
  const text = (address ?? 'an unknown address').replace(/^::ffff:/i, '');
  return parseIpv4(text).ok ? text : text.slice(0, MOST_DETAIL);
};

/** The error codes of Node: of OpenSSL as ERR_SSL_<reason>, of the socket, and of the handshake timeout. */
const FAILURES: readonly (readonly [pattern: RegExp, reason: HandshakeFailure])[] = [
  [/ALERT_UNKNOWN_CA$/, 'client-unknown-authority'],
  [/ALERT_CERTIFICATE_EXPIRED$/, 'client-certificate-expired'],
  // OpenSSL sends it for a certificate that is not valid yet, too (ssl_x509err2alert).
  [/ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_UNKNOWN)$/, 'client-bad-certificate'],
  [/_ALERT_/, 'client-other-alert'],
  [/^ERR_SSL_(?:UNSUPPORTED_PROTOCOL|WRONG_VERSION_NUMBER|VERSION_TOO_LOW)$/, 'protocol-version'],
  [/^ERR_SSL_NO_SHARED_CIPHER$/, 'no-common-cipher'],
  [/^ERR_SSL_(?:HTTP_REQUEST|HTTPS_PROXY_REQUEST|PACKET_LENGTH_TOO_LONG)$/, 'not-tls'],
  [/^ERR_TLS_HANDSHAKE_TIMEOUT$/, 'silent'],
  [/^(?:ECONNRESET|EPIPE|ETIMEDOUT)$/, 'broken-off'],
];

export const failureOf = ({ code = '' }: { readonly code?: string }): HandshakeFailure =>
  FAILURES.find(([pattern]) => pattern.test(code))?.[1] ?? 'other';
