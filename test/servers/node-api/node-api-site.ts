// The node API with its dependencies (store, lifecycle, authority, its real listener on loopback), in this process and with an
// adjustable clock; and a node that calls it with curl and openssl, which are independent of our code.

import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import type { AuditEntry } from '../../../appliance/domain/event.ts';
import type { Instant } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { EnrollmentService } from '../../../appliance/identity/enrollment-service.ts';
import { DEFAULT_ENROLLMENT_SETTINGS, type EnrollmentSettings } from '../../../appliance/identity/settings.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { FleetFollower } from '../../../appliance/inventory/fleet-follower.ts';
import type { EffectHandler } from '../../../appliance/machines/effects/handler.ts';
import type { MachineCommands } from '../../../appliance/machines/execute.ts';
import { systemClock } from '../../../appliance/machines/runner/clock.ts';
import { LifecycleRunner } from '../../../appliance/machines/runner.ts';
import type { LifecycleEvent } from '../../../appliance/machines/transitions.ts';
import { secretText } from '../../../appliance/render/bundle/bundle.ts';
import { readTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { type NodeService, openNodeService } from '../../../appliance/servers/node-api/node-service.ts';
import { openSqliteStore } from '../../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../../appliance/store/store.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { checkedEvent } from '../../domain/events/checked-event.ts';
import { freePort } from '../../free-port.ts';
import { NO_POWER } from '../../identity/no-power.ts';
import { newKeyPem, newRequest } from '../../identity/openssl.ts';
import { commandsOf } from '../../machines/commands-of.ts';
import { endingWithUs } from '../../process/appliance.ts';
import { addMachine } from '../../store/samples.ts';

const ADA = { actor: 'local:ada', correlationId: 'c-1' };
const done: EffectHandler = async () => ({ events: [] });

export interface SiteOptions {
  readonly settings?: Partial<EnrollmentSettings>;
  /** How far the appliance's clock is ahead of the real one. */
  readonly ahead?: Instant;
}

export class NodeApiSite {
  readonly folder = mkdtempSync(join(tmpdir(), 'coldiron-node-api-'));
  readonly fleet = new Fleet();
  readonly #options: SiteOptions;
  readonly #logger: Logger;
  #store: Store | null = null;
  #runner: LifecycleRunner | null = null;
  #commands: MachineCommands | null = null;
  #service: NodeService | null = null;
  #port = 0;
  #stoodStillAt: Instant | null = null;
  ahead: Instant;
  log = '';
  /** What the node API noted about connections. */
  readonly notes: TrailNote[] = [];

  constructor(options: SiteOptions = {}) {
    this.#options = options;
    this.ahead = options.ahead ?? 0;
    const lines = new Writable({
      write: (chunk, _, next) => {
        this.log += chunk;
        next();
      },
    });
    this.#logger = pino({ level: 'debug' }, lines);
  }

  static async open(options: SiteOptions = {}): Promise<NodeApiSite> {
    const site = new NodeApiSite(options);
    await site.start();
    return site;
  }

  readonly now = (): Instant => (this.#stoodStillAt ?? Date.now()) + this.ahead;

  /** From now on the appliance's clock changes only with `ahead`. */
  stopClock(): void {
    this.#stoodStillAt = Date.now();
  }

  async start(): Promise<void> {
    // Nodes keep the address, also after a restart.
    this.#port ||= await freePort();
    const logger = this.#logger;
    const store = await openSqliteStore({ file: join(this.folder, 'coldiron.db') });
    this.#store = store;
    const follower = new FleetFollower(store, this.fleet);
    await follower.start();
    const clock = { ...systemClock, now: this.now };
    const commands = commandsOf(store, this.now);
    this.#commands = commands;
    const runner = new LifecycleRunner({
      store,
      commands,
      clock,
      log: logger,
      effects: {
        'boot-from-network': done,
        'boot-from-disk': done,
        'power-off': done,
        'release-without-erase': done,
      },
    });
    this.#runner = runner;
    await runner.start();
    this.#service = await openNodeService({
      store,
      fleet: this.fleet,
      commands,
      power: NO_POWER,
      now: this.now,
      setTimer: clock.setTimer,
      newId: randomUUID,
      logger,
      trail: { note: (note) => void this.notes.push(checkedEvent(note)) },
      state: join(this.folder, 'state'),
      credentialsFolder: undefined,
      settings: { ...DEFAULT_ENROLLMENT_SETTINGS, ...this.#options.settings },
      templates: readTemplates(),
      listen: { address: '127.0.0.1', port: this.#port },
    });
  }

  async stop(): Promise<void> {
    await this.#service?.stop();
    await this.#runner?.stop();
    await this.#store?.close();
    this.#service = this.#runner = this.#store = null;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get store(): Store {
    if (!this.#store) throw new Error('the site is stopped');
    return this.#store;
  }

  get enrollment(): EnrollmentService {
    if (!this.#service) throw new Error('the site is stopped');
    return this.#service.enrollment;
  }

  useTerminals(terminals: Parameters<NodeService['useTerminals']>[0]): void {
    this.#service?.useTerminals(terminals);
  }

  get url(): string {
    return `https://${this.#service?.address}`;
  }

  get port(): number {
    return this.#port;
  }

  /** One machine per number; registered, as after an apply. */
  async machine(n: number): Promise<Machine> {
    const machine = await addMachine(this.store, n);
    this.fleet.replace(await this.store.inventory());
    return machine;
  }

  async current(machine: Machine): Promise<Machine> {
    const found = await this.store.machine(machine.id);
    if (!found) throw new Error('it was there');
    return found;
  }

  async state(machine: Machine): Promise<string> {
    return (await this.current(machine)).lifecycle.state;
  }

  /** As an operator requests it. */
  async request(machine: Machine, ...events: LifecycleEvent[]): Promise<void> {
    for (const event of events) await this.#commands?.request(machine.id, event, ADA);
    await this.#runner?.idle();
    this.fleet.replace(await this.store.inventory());
  }

  /** The token of a bundle, and the script that installs the agent with it. */
  async issueBundle(machine: Machine, reissue = false): Promise<{ token: string; script: string }> {
    const { bundle, files } = await this.enrollment.issueBundle(await this.current(machine), reissue, ADA);
    return { token: secretText(bundle.enrollmentToken), script: files.script.text };
  }

  /** A node of this machine that has enrolled and sent a heartbeat. */
  async node(machine: Machine): Promise<NodeClient> {
    const { token } = await this.issueBundle(machine);
    const client = await this.client(machine);
    const answer = await client.enroll(token);
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return client;
  }

  async client(machine: Pick<Machine, 'id'>): Promise<NodeClient> {
    const { pem } = await this.enrollment.authority.trust();
    return new NodeClient(mkdtempSync(join(this.folder, 'node-')), this, machine.id, pem);
  }

  async audit(action: string): Promise<AuditEntry[]> {
    return (await this.store.auditEntries(0, 1000)).filter((entry) => entry.action === action);
  }

  /** Why enrollments were refused, according to the audit. */
  async refusals(): Promise<unknown[]> {
    return (await this.audit('node.enrollment_refused')).map(({ after }) => (after as { reason: string }).reason);
  }
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
  readonly retryAfter: number | null;
}

interface Call {
  readonly form?: Readonly<Record<string, string>>;
  /** The node whose certificate is used; default: its own if it has one; null: none. */
  readonly as?: NodeClient | null;
  readonly options?: readonly string[];
}

/** The files of a node: key, certificate, trusted authorities, token. */
export class NodeClient {
  readonly #site: NodeApiSite;
  readonly folder: string;
  readonly id: string;
  recoveryToken = '';

  constructor(folder: string, site: NodeApiSite, id: string, trustPem: string) {
    this.folder = folder;
    this.#site = site;
    this.id = id;
    mkdirSync(folder, { recursive: true });
    this.write('ca.pem', trustPem);
    this.newKey();
  }

  file = (name: string): string => join(this.folder, name);
  write = (name: string, text: string): void => writeFileSync(this.file(name), text, { mode: 0o600 });
  read = (name: string): string => readFileSync(this.file(name), 'utf8');

  newKey(): void {
    this.write('key.pem', newKeyPem('P-256'));
  }

  request = (subject = `/CN=${this.id}`, ...extra: string[]): string =>
    newRequest(this.read('key.pem'), subject, ...extra);

  /** Stores the issued credentials. */
  async enroll(
    token: string,
    { path = 'enroll', nodeId = this.id, request = this.request() }: Record<string, string> = {},
  ): Promise<Answer> {
    const form = { node_id: nodeId, token, certificate_request: request };
    return this.#store(await this.call(`/node/v1/${path}`, { form, as: null }));
  }

  async renew(): Promise<Answer> {
    const before = this.read('key.pem');
    this.write('old-key.pem', before);
    this.newKey();
    const form = { certificate_request: this.request() };
    const next = this.read('key.pem');
    this.write('key.pem', before);
    const answer = await this.call('/node/v1/renew', { form });
    if (answer.status === 200) this.write('key.pem', next);
    return this.#store(answer);
  }

  heartbeat = (as?: NodeClient | null): Promise<Answer> =>
    this.call('/node/v1/heartbeat', { form: { agent: 'curl' }, ...(as === undefined ? {} : { as }) });

  wait = (as?: NodeClient | null): Promise<Answer> =>
    this.call('/node/v1/tasks/wait?timeout=1', as === undefined ? {} : { as });

  #store(answer: Answer): Answer {
    if (answer.status !== 200) return answer;
    this.write('cert.pem', String(answer.json.certificate));
    this.write('ca.pem', String(answer.json.ca_pem));
    this.recoveryToken = String(answer.json.recovery_token);
    return answer;
  }

  async call(path: string, { form = {}, as = this, options = [] }: Call = {}): Promise<Answer> {
    const fields = Object.entries(form).flatMap(([name, value]) => {
      this.write(`form-${name}`, value);
      return ['--data-urlencode', `${name}@${this.file(`form-${name}`)}`];
    });
    const { stdout, stderr } = await run('curl', [
      ...['--silent', '--show-error', '--noproxy', '*', '--max-time', '60', '--cacert', this.file('ca.pem')],
      ...(as ? ['--cert', as.file('cert.pem'), '--key', as.file('key.pem')] : []),
      ...['--write-out', '\n%{http_code} %header{retry-after}'],
      ...fields,
      ...options,
      `${this.#site.url}${path}`,
    ]);
    const cut = stdout.lastIndexOf('\n');
    const [status = '0', retryAfter = ''] = stdout.slice(cut + 1).split(' ');
    const text = stdout.slice(0, cut) || stderr;
    const json = text.startsWith('{') ? (JSON.parse(text) as Answer['json']) : {};
    return { status: Number(status), text, json, retryAfter: retryAfter === '' ? null : Number(retryAfter) };
  }

  /** Runs openssl s_client with these options; returns its output. */
  openssl = (options: readonly string[], input = ''): Promise<{ stdout: string; stderr: string }> =>
    run('openssl', ['s_client', '-connect', `127.0.0.1:${this.#site.port}`, ...options], input);
}

/** Asynchronous: the server runs in this process. */
export async function run(
  command: string,
  args: readonly string[],
  input = '',
): Promise<{ stdout: string; stderr: string; status: number | null }> {
  const child = spawn(...endingWithUs(command, args), { stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const [status] = await once(child, 'close');
  return { stdout, stderr, status };
}

/** The files that the installer of a bundle writes below a separate root, with adjusted paths. */
export function installAgent(site: NodeApiSite, name: string, script: string): string {
  const root = join(site.folder, name);
  mkdirSync(root, { recursive: true });
  const file = join(site.folder, `${name}.sh`);
  writeFileSync(file, script, { mode: 0o600 });
  const { status, stdout, stderr } = spawnSync('sh', [file, '--root', root, '--no-start'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stdout + stderr);
  const environment = join(root, 'etc/coldiron/node-agent.env');
  writeFileSync(environment, readFileSync(environment, 'utf8').replaceAll('="/', `="${root}/`));
  return root;
}
