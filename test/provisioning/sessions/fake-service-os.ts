// A client with the protocol of the service OS: it fetches its script as iPXE does, reads the ticket from the kernel's
// parameters, and continues from there. Every request comes from its own address.

import { request } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { text } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Null: not JSON. */
  readonly json: unknown;
}

export interface Chassis {
  readonly mac: string;
  readonly uuid?: string;
  readonly address: string;
  readonly serial?: string;
}

export class FakeServiceOs {
  readonly #server: string;
  readonly #chassis: Chassis;
  #key: string | null = null;
  #sequence = 0;
  /** With a node API, sessions are encrypted and at another address. */
  #sessions: string | null = null;

  constructor(server: string, chassis: Chassis) {
    this.#server = server;
    this.#chassis = chassis;
  }

  /** The key that the machine has made itself, from a secret. */
  useKey(key: string): void {
    this.#key = key;
  }

  get key(): string | null {
    return this.#key;
  }

  /** A key that did not come in the clear. */
  holdKey(key: string): void {
    this.#key = key;
  }

  /** The script of this boot. */
  async script(method: 'GET' | 'HEAD' = 'GET'): Promise<string> {
    const { mac, uuid, serial } = this.#chassis;
    const path = `/boot/ipxe/${mac.replaceAll(':', '-')}.ipxe`;
    const query = new URLSearchParams({
      ...(uuid && { uuid }),
      ...(serial && { serial }),
      buildarch: 'x86_64',
      platform: 'efi',
    });
    return (await this.ask(method, `${path}?${query}`)).body;
  }

  /** The path of the ticket in a script; null: it has none. */
  static ticketIn(script: string): string | null {
    const url = /coldiron\.session=(\S+)/.exec(script)?.[1];
    return url === undefined ? null : new URL(url).pathname;
  }

  static sessionsIn(script: string): string | null {
    const url = /coldiron\.session=(\S+)/.exec(script)?.[1];
    return url === undefined ? null : new URL(url).origin;
  }

  /** Boots from the network, up to the open session. */
  async boot(): Promise<Answer> {
    return this.openFrom(await this.script());
  }

  async openFrom(script: string): Promise<Answer> {
    const ticket = FakeServiceOs.ticketIn(script);
    if (ticket === null) throw new Error(`this script starts no service OS:\n${script}`);
    this.#sessions = FakeServiceOs.sessionsIn(script);
    return this.open(ticket);
  }

  async open(ticket: string, changes: object = {}): Promise<Answer> {
    const { mac, uuid } = this.#chassis;
    const opening = {
      mac,
      uuid: uuid ?? null,
      serial: null,
      architecture: 'x86_64',
      firmware: 'uefi',
      secure_boot: false,
    };
    const answer = await this.ask('POST', ticket, { ...opening, ...changes });
    if (answer.status === 201) this.#key = sessionKeyIn(answer.json) ?? this.#key;
    return answer;
  }

  order(): Promise<Answer> {
    return this.ask('GET', '/boot/session/order');
  }

  facts(changes: object = {}): Promise<Answer> {
    const { mac, uuid } = this.#chassis;
    return this.ask('PUT', '/boot/session/facts', {
      sequence: 1,
      system: { manufacturer: 'Acme', product: 'Box', serial: 'S-1', uuid: uuid ?? null },
      firmware: { kind: 'uefi', vendor: 'Acme', version: '1.0', secure_boot: false, tpm: null },
      cpu: { model: 'Core', architecture: 'x86_64', sockets: 1, cores: 4, threads: 8 },
      memory: { bytes: 8 * 1024 ** 3 },
      disks: [{ name: 'sda', by_id: ['ata-1'], serial: 'D-1', model: 'Disk', bytes: 1e12, rotational: false }],
      nics: [{ name: 'eth0', mac, driver: 'virtio_net', link: true, speed_mbps: 1000, neighbour: null }],
      bmc: null,
      ...changes,
    });
  }

  step(step: string, status: string, more: object = {}): Promise<Answer> {
    this.#sequence += 1;
    return this.ask('POST', '/boot/session/steps', { sequence: this.#sequence, step, status, ...more });
  }

  file(name: string): Promise<Answer> {
    return this.ask('GET', `/boot/session/files/${name}`);
  }

  outcome(ok: boolean, more: object = {}): Promise<Answer> {
    return this.ask('POST', '/boot/session/outcome', { ok, ...more });
  }

  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const payload = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const url = new URL(path, path.startsWith('/boot/session') ? (this.#sessions ?? this.#server) : this.#server);
    const outgoing = (url.protocol === 'https:' ? tlsRequest : request)(url, {
      method,
      localAddress: this.#chassis.address,
      agent: false,
      rejectUnauthorized: false,
      headers: {
        ...(this.#key !== null && path.startsWith('/boot/session/') && { authorization: `Bearer ${this.#key}` }),
        ...(payload !== null && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      },
    });
    outgoing.on('response', (answer) => {
      text(answer).then((received) => {
        const isJson = answer.headers['content-type']?.startsWith('application/json') && received !== '';
        resolve({ status: answer.statusCode ?? 0, body: received, json: isJson ? JSON.parse(received) : null });
      }, reject);
    });
    outgoing.on('error', reject);
    outgoing.end(payload ?? undefined);
    return promise;
  }
}

/** Null: the machine has the secret that the key is made from. */
function sessionKeyIn(json: unknown): string | null {
  if (typeof json === 'object' && json !== null && 'session' in json && typeof json.session === 'string') {
    return json.session;
  }
  if (typeof json === 'object' && json !== null && 'identity' in json && json.identity === 'media') return null;
  throw new Error(`an answer without a key: ${JSON.stringify(json)}`);
}
