// A MAAS for tests, over HTTP: made from the published behaviour of its API, without the client. Time passes only with the clock that it is
// given; faults are put in front of, or behind, single requests.

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type DoubleAnswer, type DoubleKey, html, json, refusedKey, text } from './answer.ts';
import { type DoubleMachine, interfaceJson, type MachineView, machineJson, newMachine, S } from './machine.ts';
import { allocate, type Caller, type Form, OPERATIONS, type Operating } from './operations.ts';
import { type DoubleEvent, progress } from './progress.ts';

/** `before`: the request has no effect. `after`: it has, and its answer is lost or replaced. */
export interface DoubleFault {
  readonly on: RegExp;
  readonly when: 'before' | 'after';
  readonly answer: DoubleAnswer | 'cut' | 'silence';
  /** How many requests are hit; default 1. */
  readonly times?: number;
}

export interface DoubleOptions {
  readonly now: () => number;
  readonly key: DoubleKey;
  readonly minor?: number;
  readonly admin?: boolean;
  readonly maskPower?: boolean;
  /** Events become visible in another order than their ids. */
  readonly reorderEvents?: boolean;
  readonly freeAddresses?: number;
  readonly gateway?: string | null;
  readonly dhcp?: boolean;
}

const SYNC_INTERVAL = 900_000;

export class MaasDouble {
  readonly machines = new Map<string, DoubleMachine>();
  readonly events: DoubleEvent[] = [];
  /** METHOD path?query of every request, in order. */
  readonly requests: string[] = [];
  readonly faults: { fault: DoubleFault; left: number }[] = [];
  readonly #options: DoubleOptions;
  readonly #nonces = new Set<string>();
  readonly #server: http.Server;
  #ids = 100;
  #systems = 0;

  constructor(options: DoubleOptions) {
    this.#options = options;
    this.#server = http.createServer((request, response) => void this.#serve(request, response));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/MAAS`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  fault(fault: DoubleFault): void {
    this.faults.push({ fault, left: fault.times ?? 1 });
  }

  add(hostname: string, changes: Partial<DoubleMachine> = {}): DoubleMachine {
    const systemId = `sys${(++this.#systems).toString().padStart(3, '0')}`;
    const machine = { ...newMachine(systemId, hostname, this.#options.now()), ...changes };
    this.machines.set(systemId, machine);
    return machine;
  }

  /** What happened since somebody last asked. */
  tick(): void {
    const around = this.#around();
    for (const machine of this.machines.values()) progress(machine, around);
  }

  #around(): Operating {
    const { now, minor = 6, admin = true } = this.#options;
    const caller: Caller = { name: 'admin', admin };
    return {
      ...{ now: now(), minor, caller, syncInterval: SYNC_INTERVAL },
      nextId: () => ++this.#ids,
      show: (machine) => machineJson(machine, this.#view(machine)),
      event: (machine, level, type, description = '') => this.#event(machine, level, type, description),
    };
  }

  #event(machine: DoubleMachine, level: DoubleEvent['level'], type: string, description: string): void {
    const created = this.#options.now();
    const id = ++this.#ids;
    // Every second event is committed a minute later than the one after it.
    const visible = created + (this.#options.reorderEvents && this.events.length % 2 === 0 ? 60_000 : 0);
    this.events.push({
      id,
      node: machine.systemId,
      hostname: machine.hostname,
      level,
      type,
      description,
      created,
      visible,
    });
  }

  #view(machine?: DoubleMachine): MachineView {
    const { minor = 6, dhcp = true } = this.#options;
    const last = this.events.findLast(({ node, level }) => node === machine?.systemId && level !== 'DEBUG');
    return {
      minor,
      vlans: new Map([5001, 5002].map((id) => [id, { id, vid: 0, dhcp_on: dhcp, relay_vlan: null }])),
      subnets: new Map([
        [1, { id: 1, cidr: '10.5.0.0/24' }],
        [2, { id: 2, cidr: '10.6.0.0/24' }],
      ]),
      message: last ? `${last.type}${last.description && ` - ${last.description}`}` : '',
      interval: SYNC_INTERVAL,
    };
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://maas');
    const line = `${request.method} ${url.pathname.replace('/MAAS/api/2.0/', '')}${url.search}`;
    this.requests.push(line);
    this.tick();
    const hit = this.faults.find(({ fault, left }) => left > 0 && fault.on.test(line));
    if (hit) hit.left -= 1;
    const answer =
      hit?.fault.when === 'before'
        ? hit.fault.answer
        : this.#answered(request, url, Buffer.concat(chunks).toString('utf8'));
    const sent = hit?.fault.when === 'after' ? hit.fault.answer : answer;
    if (sent === 'cut') return void request.socket.destroy();
    if (sent === 'silence') return;
    response.writeHead(sent.status, { 'content-type': sent.type, ...sent.headers }).end(sent.body);
  }

  #answered(request: http.IncomingMessage, url: URL, body: string): DoubleAnswer {
    const { key, now } = this.#options;
    const path = url.pathname.replace(/^\/MAAS\/api\/2\.0\//, '');
    if (!url.pathname.endsWith('/')) return text(404, `Unknown API endpoint: ${url.pathname}.`);
    if (path === 'version/')
      return json({ version: `3.${this.#options.minor ?? 6}.2`, subversion: '', capabilities: [] });
    const header = request.headers.authorization;
    if (header === undefined) return this.#anonymous(request.method ?? 'GET', path);
    const refusal = refusedKey(header, key, this.#nonces, now());
    if (refusal) return refusal;
    // A JSON body is not a form: its values are lost.
    const isForm = (request.headers['content-type'] ?? '').includes('urlencoded');
    const form = readForm(isForm ? body : '');
    return this.#routed(request.method ?? 'GET', path, url.searchParams, form);
  }

  #anonymous(method: string, path: string): DoubleAnswer {
    if (path === 'machines/' && method === 'GET') return text(400, 'Unrecognised signature: method=GET op=None');
    return path === 'machines/' ? json({}) : text(401, 'Forbidden');
  }

  #routed(method: string, path: string, query: URLSearchParams, form: Form): DoubleAnswer {
    const op = query.get('op');
    const around = this.#around();
    const wrongOp = text(400, `Unrecognised signature: method=${method} op=${op}`);
    if (path === 'users/') return json({ username: around.caller.name, is_superuser: around.caller.admin });
    if (path === 'machines/') return this.#collection(method, op, query, form, around) ?? wrongOp;
    if (path === 'events/' && op === 'query') return this.#eventsAnswer(query);
    if (path === 'subnets/') return json(this.#subnets());
    if (/^subnets\/\d+\/$/.test(path) && op === 'statistics') {
      return json({ num_available: this.#options.freeAddresses ?? 50 });
    }
    const [, kind, id = '', rest = ''] = /^(machines|nodes)\/([^/]+)\/(.*)$/.exec(path) ?? [];
    const machine = this.machines.get(id);
    if (machine === undefined) return text(404, 'No Machine matches the given query.');
    if (kind === 'nodes') return this.#node(method, op, machine, rest, form) ?? wrongOp;
    if (method === 'GET' && op === null) return json(around.show(machine));
    if (method === 'GET' && op === 'power_parameters') return json(this.#power(machine));
    if (method === 'PUT') {
      const [hostname] = form.get('hostname') ?? [];
      if (hostname !== undefined) machine.hostname = hostname;
      setPower(machine, form);
      return json(around.show(machine));
    }
    const operation = method === 'POST' && op !== null ? OPERATIONS[op] : undefined;
    return operation ? operation(machine, form, around) : wrongOp;
  }

  #collection(method: string, op: string | null, query: URLSearchParams, form: Form, around: Operating) {
    const all = [...this.machines.values()];
    if (method === 'POST' && op === 'allocate')
      return allocate(this.machines.get(form.get('system_id')?.[0] ?? ''), form, around);
    if (method === 'POST' && op === null) return this.#create(form, around);
    if (method === 'GET' && op === 'power_parameters') {
      if (!around.caller.admin) return text(403, 'This method is reserved for admin users.');
      return json(Object.fromEntries(all.map((machine) => [machine.systemId, this.#power(machine)])));
    }
    if (method !== 'GET' || op !== null) return null;
    const known = ['id', 'hostname', 'mac_address', 'agent_name'];
    const wrong = [...query.keys()].find((name) => !known.includes(name));
    if (wrong !== undefined) return json({ [wrong]: ['No such constraint.'] }, 400);
    const has = (name: string, of: (machine: DoubleMachine) => readonly string[]) => (machine: DoubleMachine) =>
      !query.has(name) || query.getAll(name).some((value) => of(machine).includes(value));
    const found = all
      .filter(has('id', ({ systemId }) => [systemId]))
      .filter(has('hostname', ({ hostname }) => [hostname]))
      .filter(has('agent_name', ({ agentName }) => [agentName]))
      .filter(has('mac_address', ({ interfaces }) => interfaces.map(({ mac }) => mac)));
    return json(found.map(around.show));
  }

  #create(form: Form, around: Operating): DoubleAnswer {
    const [hostname = ''] = form.get('hostname') ?? [];
    const taken = [...this.machines.values()].find((machine) => machine.hostname === hostname);
    if (taken) return json({ hostname: [`Node with hostname '${hostname}' already exists`] }, 400);
    for (const mac of form.get('mac_addresses') ?? []) {
      const other = [...this.machines.values()].find(({ interfaces }) => interfaces.some((card) => card.mac === mac));
      if (other) return json({ mac_addresses: [`MAC address ${mac} already in use on ${other.hostname}.`] }, 400);
    }
    const machine = this.add(hostname, { behaviour: this.nextBehaviour });
    machine.effects.create = 1;
    setPower(machine, form);
    const body = json(around.show(machine));
    // For administrators the default is to commission at once.
    if ((form.get('commission')?.[0] ?? 'true') !== 'false') OPERATIONS.commission?.(machine, form, around);
    return body;
  }

  /** Of machines that are created from now on. */
  nextBehaviour: DoubleMachine['behaviour'] = {};

  #power({ power }: DoubleMachine): Record<string, string> {
    const { maskPower } = this.#options;
    return maskPower
      ? Object.fromEntries(Object.keys(power.parameters).map((name) => [name, '********']))
      : power.parameters;
  }

  #subnets(): object[] {
    const { gateway = '10.5.0.1' } = this.#options;
    return [
      { id: 1, cidr: '10.5.0.0/24', managed: true, gateway_ip: gateway, vlan: { id: 5001 } },
      { id: 2, cidr: '10.6.0.0/24', managed: true, gateway_ip: '10.6.0.1', vlan: { id: 5002 } },
    ];
  }

  #node(method: string, op: string | null, machine: DoubleMachine, rest: string, form: Form): DoubleAnswer | null {
    const [, set] = /^results\/current-(commissioning|testing|installation)\/$/.exec(rest) ?? [];
    if (set !== undefined) return resultsAnswer(machine, set);
    const [, cardId] = /^interfaces\/(\d+)\/$/.exec(rest) ?? [];
    const card = machine.interfaces.find(({ id }) => String(id) === cardId);
    if (card === undefined) return text(404, 'No Interface matches the given query.');
    const shown = () => json(interfaceJson(card, this.#view(machine)));
    if (method === 'GET') return shown();
    if (![S.NEW, S.READY, S.BROKEN, S.ALLOCATED].some((status) => status === machine.status)) {
      return text(409, 'Cannot update interface because the machine is not New, Ready, Allocated, or Broken.');
    }
    if (op === 'unlink_subnet') {
      card.links = card.links.filter(({ id }) => String(id) !== form.get('id')?.[0]);
      if (card.links.length === 0) card.links = [{ id: ++this.#ids, mode: 'link_up', subnet: null }];
      return shown();
    }
    if (op !== 'link_subnet') return null;
    const subnet = Number(form.get('subnet')?.[0]);
    const onVlan = this.#subnets().some(
      (one) =>
        (one as { id: number; vlan: { id: number } }).id === subnet &&
        (one as { vlan: { id: number } }).vlan.id === card.vlan,
    );
    if (!onVlan) return json({ subnet: ['Select a valid choice.'] }, 400);
    card.links = card.links.filter(({ mode }) => mode !== 'link_up' && mode !== 'dhcp');
    // A second call adds a second link.
    card.links.push({ id: ++this.#ids, mode: 'auto', subnet });
    return shown();
  }

  #eventsAnswer(query: URLSearchParams): DoubleAnswer {
    const limit = Number(query.get('limit') ?? 100);
    if (limit > 1000) return json({ limit: ['Ensure this value is less than or equal to 1000.'] }, 400);
    const after = query.get('after');
    const visible = this.events.filter(
      ({ node, level, visible, id }) =>
        node === query.get('id') && level !== 'DEBUG' && visible <= this.#options.now() && id > Number(after ?? 0),
    );
    // `after` gives the oldest rows above it; the answer is newest first in any case.
    const rows = after === null ? visible.slice(-limit) : visible.slice(0, limit);
    const events = rows.toReversed().map(({ visible: _visible, created, ...row }) => ({
      ...{ username: null, ...row },
      created: new Date(created).toUTCString(),
    }));
    return json({ count: events.length, events, next_uri: '', prev_uri: '' });
  }
}

function resultsAnswer(machine: DoubleMachine, set: string): DoubleAnswer {
  const results = machine.results.filter((result) => result.set === set);
  if (results.length === 0) return text(400, `No current ${set} script set`);
  return json({
    type: set === 'installation' ? 1 : set === 'testing' ? 2 : 0,
    results: results.map(({ id, name, status, exit, output }) => ({
      ...{ id, name, status, exit_status: exit },
      output: Buffer.from(output).toString('base64'),
    })),
  });
}

function setPower(machine: DoubleMachine, form: Form): void {
  const [type] = form.get('power_type') ?? [];
  if (type !== undefined) machine.power.type = type;
  for (const [name, [value = '']] of form) {
    if (name.startsWith('power_parameters_')) machine.power.parameters[name.slice('power_parameters_'.length)] = value;
  }
}

function readForm(body: string): Form {
  const form = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(body)) form.set(name, [...(form.get(name) ?? []), value]);
  return form;
}

/** The faults that MAAS and what is in front of it are known for. */
export const ANSWERS = {
  contention: html(409, 'Conflict error', { 'retry-after': '5' }),
  noRack: { ...text(503, 'Unable to connect to any rack controller'), headers: { 'retry-after': '10' } },
  gatewayTimeout: html(504, '504 Gateway Time-out'),
  loginPage: html(200, 'Please log in'),
  truncated: { ...json({}), body: '{"system_id": "sys0' },
  emptyForbidden: { status: 403, type: 'text/plain', body: '' },
} as const satisfies Record<string, DoubleAnswer>;
