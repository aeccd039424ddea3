// Answers one request below /boot/ and records it.

import type { IncomingMessage } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Asset } from '../../assets/asset.ts';
import type { BootServer } from '../../boot/boot-paths.ts';
import type { BootResolver, ResolvedBoot } from '../../boot/boot-resolver.ts';
import { factsFromHttp } from '../../boot/client-facts.ts';
import { IPXE_SCRIPTS, renderEntryScript, renderMenuScript } from '../../boot/replies/ipxe-script.ts';
import type { Profile } from '../../domain/catalogue.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { BootEventKind, EventData } from '../../domain/events/event-table.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { MachineId } from '../../domain/machine.ts';
import { shown } from '../../domain/parsed.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import type { SessionMedia } from '../../provisioning/media/session-media.ts';
import type { EndFailedBoot } from '../../provisioning/sessions/boot-failure.ts';
import type { Sessions } from '../../provisioning/sessions/sessions.ts';
import type { Templates } from '../../render/templates.ts';
import { type Trail, type TrailNote, trailNote } from '../../trail/trail.ts';
import { sendAsset } from './asset-response.ts';
import { readBootReport } from './boot-report.ts';
import { bootRoute, type SessionRoute } from './boot-route.ts';
import { type BootExchange, ipv4Of, sendBootError, sendText } from './exchange.ts';
import type { FileBytes } from './file-bytes.ts';
import { answerMedium } from './medium-exchanges.ts';
import type { ScriptIssuer } from './script-issuer.ts';
import { SessionExchanges } from './session-exchanges.ts';

export interface BootExchangesDeps {
  readonly resolver: Pick<BootResolver, 'resolve'>;
  readonly scripts: Pick<ScriptIssuer, 'issue'>;
  readonly library: { find(name: string): Asset | null };
  readonly templates: Templates;
  readonly profiles: () => Iterable<Profile>;
  /** The current holder of the address according to the leases; not authenticated. */
  readonly whoIs: (address: Ipv4) => { readonly mac: Mac | null; readonly machine: MachineId | null };
  /** If absent, started systems have no session to report to. */
  readonly sessions?: Sessions;
  /** If absent, BMCs fetch no media here. */
  readonly media?: Pick<SessionMedia, 'fetch'>;
  /** If absent, a failed boot is only recorded. */
  readonly endFailedBoot?: EndFailedBoot;
  readonly trail: Trail;
  /** A check by the appliance itself: not recorded for any machine. */
  readonly isOwn?: (request: IncomingMessage) => boolean;
  readonly logger: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
  readonly files: FileBytes;
  /** Monotonic milliseconds for the rate limits; default: performance.now(). */
  readonly monotonicNow?: () => number;
  /** The port as machines reach it. */
  readonly port: number;
}

/** The subject of a trail note. */
type Subject = Pick<TrailNote, 'mac' | 'machine'>;

/** iPXE retries after this time, without limit and without output: the script before has displayed the reason. */
const APPROVAL_RETRY_SECONDS = 10;

/** Limit for notes that any client can trigger: enough for many machines that fail at once, too few to flood the trail. */
const NOTES_PER_SECOND = 100;

export class BootExchanges {
  readonly #deps: BootExchangesDeps;
  readonly #sessions: SessionExchanges | null;
  readonly #reports = new RateLimit(NOTES_PER_SECOND);
  readonly #refusals = new RateLimit(NOTES_PER_SECOND);

  constructor(deps: BootExchangesDeps) {
    this.#deps = deps;
    this.#sessions = deps.sessions ? new SessionExchanges(deps.sessions) : null;
  }

  /** Returns fields for the log line. */
  async answer(exchange: BootExchange): Promise<object> {
    const { method } = exchange.request;
    const route = bootRoute(exchange.path);
    const allowed = route.kind === 'report' ? ['GET', 'POST'] : ['GET', 'HEAD'];
    if (route.kind !== 'session' && !allowed.includes(method ?? '')) {
      const error = new ColdironError('invalid_request', `the method must be ${allowed.join(' or ')}`);
      sendBootError(exchange, error, { status: 405, headers: { Allow: allowed.join(', '), Connection: 'close' } });
      return {};
    }
    switch (route.kind) {
      case 'unknown':
        return this.#refuse(exchange, new ColdironError('not_found', route.reason));
      case 'entry-script':
        return this.#entry(exchange);
      case 'menu-script':
        return this.#menu(exchange);
      case 'machine-script':
        return await this.#machineScript(exchange, route.mac);
      case 'report':
        return await this.#report(exchange);
      case 'asset':
        return await this.#asset(exchange, route.name);
      case 'session':
        return await this.#session(exchange, route.session);
      case 'medium':
        return await this.#medium(exchange, route.name);
    }
  }

  #entry(exchange: BootExchange): object {
    sendText(exchange, renderEntryScript(this.#deps.templates, this.#server(exchange, this.#resolve(exchange))));
    this.#noteText(exchange, 'http.entry');
    return {};
  }

  async #machineScript(exchange: BootExchange, mac: Mac): Promise<object> {
    const { query } = exchange;
    const forReal = exchange.request.method === 'GET';
    const facts = this.#facts(exchange, mac);
    const resolved = this.#deps.resolver.resolve(facts);
    const server = this.#server(exchange, resolved);
    const { text, decision, held } = await this.#deps.scripts.issue({
      resolved,
      facts,
      server,
      language: IPXE_SCRIPTS,
      forReal,
    });
    const { id, words } = decision.because;
    if (decision.outcome.kind === 'hold' && query.has('waiting')) {
      const error = new ColdironError('service_unavailable', `waiting for approval: ${words}`);
      sendBootError(exchange, error, { headers: { 'Retry-After': String(APPROVAL_RETRY_SECONDS) } });
      return { mac, outcome: 'hold', because: id };
    }
    if (text === null) return this.#refuse(exchange, new ColdironError('not_found', `no script: ${words}`), mac);
    sendText(exchange, text);
    const outcome = held === null ? decision.outcome.kind : 'hold';
    if (forReal) {
      const smbios = ['manufacturer', 'product', 'serial', 'asset', 'version'].flatMap((name) => {
        const value = query.get(name);
        return value ? [[name, shown(value)]] : [];
      });
      const data = {
        outcome,
        because: id,
        words: held ?? words,
        oddities: facts.oddities,
        ...Object.fromEntries(smbios),
      };
      this.#deps.trail.note({ kind: 'http.script', mac, machine: resolved.about?.id ?? null, data });
    } else this.#noteText(exchange, 'http.probe', { mac, machine: resolved.about?.id ?? null });
    return { mac, outcome, because: id };
  }

  #menu(exchange: BootExchange): object {
    const resolved = this.#resolve(exchange);
    const { about: machine } = resolved;
    const { mac } = this.#facts(exchange);
    const profiles = [...this.#deps.profiles()].filter(
      ({ active, architectures }) => active && (machine === null || architectures.includes(machine.spec.architecture)),
    );
    const subject = { machine, mac, server: this.#server(exchange, resolved) };
    sendText(exchange, renderMenuScript(this.#deps.templates, subject, profiles));
    this.#noteText(exchange, 'http.menu', mac === null ? undefined : { mac, machine: machine?.id ?? null });
    return { mac };
  }

  async #report(exchange: BootExchange): Promise<object> {
    const { mac, kind, boot, data } = readBootReport(exchange.query);
    const machine = mac === null ? null : this.#deps.resolver.resolve(this.#facts(exchange, mac)).about;
    // Outside the limit: a flood of reports must not hide the one of the machine itself.
    const report = mac !== null && kind === 'boot.failed' ? { boot, data: { mac, ...data } } : null;
    const isOver =
      machine !== null && report !== null && (await this.#deps.endFailedBoot?.(machine, report, exchange.address));
    if (!isOver && this.#reports.allows(this.#now())) {
      this.#deps.trail.note({ kind, mac, machine: machine?.id ?? null, data });
    }
    // The body is not read: all fields are in the query.
    if (exchange.request.method === 'POST') exchange.response.setHeader('Connection', 'close');
    sendText(exchange, 'noted\n');
    return { mac, report: data };
  }

  async #session(exchange: BootExchange, route: SessionRoute): Promise<object> {
    if (this.#sessions) return await this.#sessions.answer(exchange, route);
    sendBootError(exchange, new ColdironError('not_found', 'sessions are not enabled on this server'));
    return {};
  }

  async #medium(exchange: BootExchange, name: string): Promise<object> {
    if (this.#deps.media) return await answerMedium(this.#deps.media, exchange, name);
    sendBootError(exchange, new ColdironError('not_found', 'media are not enabled on this server'));
    return {};
  }

  async #asset(exchange: BootExchange, name: string): Promise<object> {
    const asset = this.#deps.library.find(name);
    if (asset === null) return this.#refuse(exchange, new ColdironError('not_found', `no boot file ${shown(name)}`));
    const begun = performance.now();
    const sent = await sendAsset(exchange, asset, this.#deps.files);
    if (sent === null) {
      this.#note(exchange, 'http.probe', {
        path: shown(exchange.path),
        asset: name,
        status: exchange.response.statusCode,
      });
      return {};
    }
    const { from, bytes, of, complete } = sent;
    this.#note(exchange, 'http.served', {
      ...{ asset: name, from, bytes, of, complete },
      ms: Math.round(performance.now() - begun),
    });
    return { bytes, complete };
  }

  /** EDK2 sends HEAD before GET: recorded as a probe, not as the fetch itself. */
  #noteText(exchange: BootExchange, kind: 'http.entry' | 'http.menu' | 'http.probe', who?: Subject): void {
    const recordedAs = exchange.request.method === 'HEAD' ? 'http.probe' : kind;
    this.#note(exchange, recordedAs, { path: shown(exchange.path) }, who);
  }

  #refuse(exchange: BootExchange, error: ColdironError, mac: Mac | null = null): object {
    sendBootError(exchange, error);
    if (this.#refusals.allows(this.#now())) {
      const subject = mac === null ? undefined : { mac, machine: this.#whoAsks(exchange).machine };
      this.#note(exchange, 'http.refused', { path: shown(exchange.path), why: error.message }, subject);
    }
    return { why: error.message };
  }

  /** `who`: from the request if it states a MAC; otherwise from the address. */
  #note<Kind extends BootEventKind>(
    exchange: BootExchange,
    kind: Kind,
    data: Omit<EventData<Kind>, 'mac'>,
    who: Subject = this.#whoAsks(exchange),
  ): void {
    if (this.#deps.isOwn?.(exchange.request)) return;
    this.#deps.trail.note(trailNote(who, kind, data));
  }

  #whoAsks({ address }: BootExchange): Subject {
    return address === null ? { mac: null, machine: null } : this.#deps.whoIs(address);
  }

  #now(): number {
    return this.#deps.monotonicNow?.() ?? performance.now();
  }

  #resolve(exchange: BootExchange): ResolvedBoot {
    return this.#deps.resolver.resolve(this.#facts(exchange));
  }

  #facts({ query, path, address, request }: BootExchange, mac?: Mac) {
    const field = (name: string): string | undefined => query.get(name) ?? undefined;
    return factsFromHttp({
      path,
      address,
      userAgent: request.headers['user-agent'],
      mac: mac ?? field('mac'),
      uuid: field('uuid'),
      serial: field('serial'),
      buildarch: field('buildarch'),
      platform: field('platform'),
      arch: field('arch'),
    });
  }

  /** The server address of the network; on an undeclared network, the address that this request was sent to. */
  #server({ request }: BootExchange, { network }: ResolvedBoot): BootServer {
    const address = network?.server ?? ipv4Of(request.socket.localAddress);
    if (address === null)
      throw new ColdironError('not_found', 'booting over IPv6 is not supported; use the IPv4 address of the appliance');
    return { address, bootPort: this.#deps.port };
  }
}
