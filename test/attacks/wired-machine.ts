// A machine on the wire of a twin site: it speaks the protocol of the service OS and of the agent with curl.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKeyPem, newRequest } from '../identity/openssl.ts';
import type { Lab } from '../interop/dhcp/lab.ts';
import { type Answer, FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';

export const SERVER = '10.88.0.1';
const BOOT = `http://${SERVER}:8080`;
const NODE_API = `https://${SERVER}:8444`;

/** What a machine says of itself. */
export interface Identity {
  readonly node: string;
  readonly mac: string;
  readonly uuid: string;
  readonly serial: string;
  readonly address: string;
  /** Its entry in the inventory. */
  readonly bmc?: string;
  /** Default: debian, which requires that the machine is bound. `sealed` requires its TPM. */
  readonly profile?: 'debian' | 'sealed';
  /** The endorsement keys that the inventory declares. */
  readonly tpm?: readonly string[];
}

export type Host = 'real' | 'attacker';

interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Valid until another machine is plugged in. */
export class WiredMachine extends FakeServiceOs {
  readonly #lab: Lab;
  readonly #host: Host;
  readonly #identity: Identity;

  constructor(lab: Lab, host: Host, identity: Identity) {
    super(BOOT, identity);
    this.#lab = lab;
    this.#host = host;
    this.#identity = identity;
  }

  override open(ticket: string, changes: object = {}): Promise<Answer> {
    const { mac, serial } = this.#identity;
    return super.open(ticket, { serial, macs: [mac], tpm: null, ...changes });
  }

  override facts(): Promise<Answer> {
    const { serial, uuid } = this.#identity;
    return super.facts({ system: { manufacturer: 'Acme', product: 'Box', serial, uuid } });
  }

  /** As the service OS does it: sessions over TLS, everything else over plain HTTP. */
  override async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const isSession = path.startsWith('/boot/session/');
    const key = isSession && this.key !== null ? ['--header', `authorization: Bearer ${this.key}`] : [];
    const json =
      body === undefined ? [] : ['--header', 'content-type: application/json', '--data', JSON.stringify(body)];
    return this.#curl('--request', method, ...key, ...json, `${isSession ? NODE_API : BOOT}${path}`);
  }

  /** With the token in the user-data that it took. */
  async enroll(userData: string): Promise<Certificate> {
    const [, nodeId = ''] = /NODE_ID=["']?([0-9a-f-]{36})/i.exec(userData) ?? [];
    const [token = ''] = /ce_[0-9a-f]{12}_[\w-]{43}/.exec(userData) ?? [];
    const key = newKeyPem('P-256');
    const form = { node_id: nodeId, token, certificate_request: newRequest(key, `/CN=${this.#identity.node}`) };
    const fields = Object.entries(form).flatMap(([name, value]) => ['--data-urlencode', `${name}=${value}`]);
    const { status, body, json } = await this.#curl(...fields, `${NODE_API}/node/v1/enroll`);
    if (status !== 200) throw new Error(`enrolling failed: ${status} ${body}`);
    const files = { certificate: join(this.#lab.folder, 'certificate'), key: join(this.#lab.folder, 'key') };
    writeFileSync(files.certificate, (json as { certificate: string }).certificate);
    writeFileSync(files.key, key, { mode: 0o600 });
    return files;
  }

  heartbeat({ certificate, key }: Certificate, bootId: string | null): Promise<Answer> {
    const report = bootId === null ? ['--data', 'agent=1'] : ['--data-urlencode', `boot_id=${bootId}`];
    return this.#curl('--cert', certificate, '--key', key, ...report, `${NODE_API}/node/v1/heartbeat`);
  }

  async #curl(...args: readonly string[]): Promise<Answer> {
    const always = ['--silent', '--show-error', '--insecure', '--max-time', '60', '--write-out', '\n%{http_code}'];
    const { output } = await this.#lab.namespaces.run(this.#host, 'curl', ...always, ...args);
    const [, body = '', status = ''] = /^([\s\S]*)\n(\d{3})$/.exec(output) ?? [];
    if (status === '' || status === '000') throw new Error(`curl ${args.at(-1)}: ${output}`);
    return { status: Number(status), body, json: body.startsWith('{') ? JSON.parse(body) : null };
  }
}
