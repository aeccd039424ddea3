// An appliance and two machines on one switch, in network namespaces. The machines speak the protocol of the service OS and of the
// agent with curl. Each uses the MAC address that it wants to have; one of them is plugged in at a time. Needs root.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Connection, connect } from '../../appliance/cli/connection.ts';
import { operate } from '../../appliance/cli/operate.ts';
import { bzImage } from '../assets/tiny-files.ts';
import { ADMIN } from '../bmc/redfish/mock/machine.ts';
import { newKeyPem, newRequest } from '../identity/openssl.ts';
import { Lab } from '../interop/dhcp/lab.ts';
import type { Running } from '../interop/namespaces.ts';
import { ROOT } from '../process/appliance.ts';
import { type Answer, FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';

const SERVER = '10.88.0.1';
const BOOT = `http://${SERVER}:8080`;
const NODE_API = `https://${SERVER}:8444`;
const DEVICE = 'c1';
const LINK_UP_WITHIN_MS = 60_000;
const IMAGE = 'not really a disk image, but with a checksum all the same\n';
const IMAGE_SHA256 = createHash('sha256').update(IMAGE).digest('hex');

/** What a machine says of itself. */
export interface Identity {
  readonly node: string;
  readonly mac: string;
  readonly uuid: string;
  readonly serial: string;
  readonly address: string;
  /** The address of its BMC, on a network of their own; omitted: it has none. */
  readonly bmc?: string;
}

export const identityOf = (number: number): Identity => ({
  node: `node0${number}`,
  mac: `52:54:00:99:00:0${number}`,
  uuid: `7a11ab1e-0000-4080-8000-52540099000${number}`,
  serial: `S-${number}`,
  address: `10.88.0.1${number}`,
});

const nodeText = ({ node, mac, uuid, serial, address, bmc }: Identity, folder: string): string =>
  `  - { name: ${node}, sku: gp1, profile: debian, uuid: ${uuid}, serial: ${serial}, ${bmc ? `bmc: { address: ${bmc}, driver: redfish, username: ${ADMIN.name}, password_file: ${folder}/passwords/bmc }, ` : ''}interfaces: [{ name: eth0, mac: "${mac}", network: lab, address: ${address} }] }\n`;

const siteText = (
  nodes: readonly Identity[],
  folder: string,
): string => `listen: { boot: ${SERVER}:8080, management: 127.0.0.1:0, node: ${SERVER}:8444, tftp: off }
dhcp: { ignore_other_servers: true }
bmc: { password_folder: ${folder}/passwords }
sites: [{ name: lab, bmc_mode: ${nodes.some(({ bmc }) => bmc) ? 'real' : 'disabled'} }]
networks:
  - { name: lab, prefix: 10.88.0.0/24, server: ${SERVER}, interface: s1, dhcp: authoritative, unknown: inspect, pools: [{ from: 10.88.0.100, to: 10.88.0.199 }] }
skus: [{ name: gp1, architecture: x86_64 }]
profiles:
  - name: debian
    kind: cloud-image
    enrollment: first-boot
    deploy_minutes: 30
    image: { source: debian/disk.raw, sha256: ${IMAGE_SHA256}, format: raw }
nodes:
${nodes.map((node) => nodeText(node, folder)).join('')}`;

export type Host = 'real' | 'attacker';
const HOSTS: readonly Host[] = ['real', 'attacker'];

export class TwinSite {
  readonly lab = new Lab();
  #api: Connection | null = null;
  #appliance: Running | null = null;

  /** The caller removes it, also when this fails. */
  async start(nodes: readonly Identity[]): Promise<void> {
    const { namespaces, folder, state } = this.lab;
    namespaces.add('server', ...HOSTS);
    namespaces.switch(
      'switch',
      { namespace: 'server', device: 's1', address: `${SERVER}/24` },
      ...HOSTS.map((namespace) => ({ namespace, device: DEVICE })),
    );
    await this.connectMore(nodes);
    mkdirSync(state, { mode: 0o700 });
    await this.placeServiceOs();
    this.#place('debian/disk.raw', IMAGE);
    mkdirSync(join(folder, 'passwords'));
    writeFileSync(join(folder, 'passwords/bmc'), `${ADMIN.password}\n`, { mode: 0o600 });
    writeFileSync(join(folder, 'coldiron.yaml'), siteText(nodes, folder));
    await this.startAppliance();
  }

  /** Also again, after `stopAppliance`. */
  async startAppliance(): Promise<void> {
    const { namespaces, folder, state } = this.lab;
    const site = join(folder, 'coldiron.yaml');
    this.#appliance = namespaces.start('server', join(ROOT, 'coldiron'), 'serve', '-c', site, '--state', state);
    await this.#appliance.says(/Coldiron is up/);
    this.#api = await connect({ state });
  }

  async stopAppliance(signal: NodeJS.Signals): Promise<void> {
    await this.#appliance?.stop(signal);
  }

  /** Everything that the running appliance has printed. */
  get log(): string {
    return this.#appliance?.output ?? '';
  }

  /** Nothing starts it: the machines of this site only speak its protocol. */
  protected async placeServiceOs(): Promise<void> {
    this.#place('service-os-x86_64/kernel', bzImage(1));
    this.#place('service-os-x86_64/initrd', '070701');
  }

  /** Further networks and hosts, before the appliance starts. */
  protected async connectMore(_nodes: readonly Identity[]): Promise<void> {}

  remove(): Promise<void> {
    return this.lab.remove();
  }

  get api(): Connection {
    if (this.#api === null) throw new Error('the appliance is not up');
    return this.#api;
  }

  node(name: string) {
    return operate(this.api, 'getNode', { params: { node: name } });
  }

  async events(node: string, kind: string) {
    return (await operate(this.api, 'listEvents', { query: { node, kind, limit: '1000' } })).events;
  }

  /** The machine in this host, plugged in; the other one is unplugged. `card`: its MAC address on the wire. */
  async machine(host: Host, identity: Identity, card = identity.mac): Promise<WiredMachine> {
    for (const each of HOSTS) this.lab.namespaces.ip(each, 'link', 'set', DEVICE, 'down');
    this.lab.namespaces.ip(host, 'address', 'flush', 'dev', DEVICE);
    this.lab.namespaces.ip(host, 'link', 'set', DEVICE, 'address', card);
    this.lab.namespaces.ip(host, 'address', 'add', `${identity.address}/24`, 'dev', DEVICE);
    this.lab.namespaces.ip(host, 'link', 'set', DEVICE, 'up');
    const deadline = Date.now() + LINK_UP_WITHIN_MS;
    while (!/ state UP /.test((await this.lab.namespaces.run(host, 'ip', '-o', 'link', 'show', DEVICE)).output)) {
      if (Date.now() > deadline) throw new Error(`the link of ${host} does not come up`);
      await pause(10);
    }
    return new WiredMachine(this.lab, host, identity);
  }

  #place(name: string, content: Buffer | string): void {
    const file = join(this.lab.state, 'assets/images', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

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
