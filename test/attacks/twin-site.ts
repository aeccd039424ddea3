// An appliance and two machines on one switch, in network namespaces. The machines speak the protocol of the service OS and of the
// agent with curl. Each uses the MAC address that it wants to have; one of them is plugged in at a time. Needs root.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Connection, connect } from '../../appliance/cli/connection.ts';
import { operate } from '../../appliance/cli/operate.ts';
import { bzImage, PE_MACHINE, peFile, put, pxeProgram } from '../assets/tiny-files.ts';
import { Lab } from '../interop/dhcp/lab.ts';
import type { Running } from '../interop/namespaces.ts';
import { ROOT } from '../process/appliance.ts';
import { type MachineTpm, TpmMachine } from './tpm-machine.ts';
import { type Host, type Identity, SERVER, WiredMachine } from './wired-machine.ts';

const DEVICE = 'c1';
const LINK_UP_WITHIN_MS = 60_000;
const IMAGE = 'not really a disk image, but with a checksum all the same\n';
const IMAGE_SHA256 = createHash('sha256').update(IMAGE).digest('hex');

export const identityOf = (number: number): Identity => ({
  node: `node0${number}`,
  mac: `52:54:00:99:00:0${number}`,
  uuid: `7a11ab1e-0000-4080-8000-52540099000${number}`,
  serial: `S-${number}`,
  address: `10.88.0.1${number}`,
});

const nodeText = ({ node, mac, uuid, serial, address, bmc, profile = 'debian', tpm = [] }: Identity): string =>
  `  - { name: ${node}, sku: gp1, profile: ${profile}, tpm: [${tpm.join(', ')}], uuid: ${uuid}, serial: ${serial}, interfaces: [{ name: eth0, mac: "${mac}", network: lab, address: ${address} }]${bmc ? `, site: lab, bmc: ${bmc}` : ''} }\n`;

const siteText = (
  nodes: readonly Identity[],
  extra: string,
): string => `listen: { boot: ${SERVER}:8080, management: 127.0.0.1:0, node: ${SERVER}:8444, tftp: off }
dhcp: { ignore_other_servers: true }
sites: [{ name: lab, bmc_mode: real }]
${extra}networks:
  - { name: lab, prefix: 10.88.0.0/24, server: ${SERVER}, interface: s1, dhcp: authoritative, unknown: inspect, pools: [{ from: 10.88.0.100, to: 10.88.0.199 }] }
skus: [{ name: gp1, architecture: x86_64 }]
profiles:
  - name: debian
    kind: cloud-image
    enrollment: first-boot
    deploy_minutes: 30
    image: { source: debian/disk.raw, sha256: ${IMAGE_SHA256}, format: raw }
  - name: sealed
    kind: cloud-image
    enrollment: first-boot
    deploy_minutes: 30
    identity: tpm
    image: { source: debian/disk.raw, sha256: ${IMAGE_SHA256}, format: raw }
nodes:
${nodes.map(nodeText).join('')}`;

const HOSTS: readonly Host[] = ['real', 'attacker'];

export class TwinSite {
  readonly lab = new Lab();
  #api: Connection | null = null;
  #appliance: Running | null = null;

  /** The caller removes it, also when this fails. `extra`: lines for the site file; `prepare`: before the appliance starts. */
  async start(
    nodes: readonly Identity[],
    extra = '',
    prepare: (namespaces: Lab['namespaces']) => void | Promise<void> = () => undefined,
  ): Promise<void> {
    const { namespaces, folder, state } = this.lab;
    namespaces.add('server', ...HOSTS);
    namespaces.switch(
      'switch',
      { namespace: 'server', device: 's1', address: `${SERVER}/24` },
      ...HOSTS.map((namespace) => ({ namespace, device: DEVICE })),
    );
    mkdirSync(state, { mode: 0o700 });
    await this.placeServiceOs();
    put(join(state, 'assets/loader'), 'snponly.efi', peFile(PE_MACHINE.x86_64));
    put(join(state, 'assets/loader'), 'undionly.kpxe', pxeProgram());
    this.#place('debian/disk.raw', IMAGE);
    const site = join(folder, 'coldiron.yaml');
    writeFileSync(site, siteText(nodes, extra));
    await prepare(namespaces);
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
    await this.plugIn(host, identity, card);
    return new WiredMachine(this.lab, host, identity);
  }

  /** The same with a TPM. */
  async tpmMachine(host: Host, identity: Identity, tpm: MachineTpm): Promise<TpmMachine> {
    await this.plugIn(host, identity);
    return new TpmMachine(this.lab, host, identity, tpm);
  }

  async plugIn(host: Host, identity: Identity, card = identity.mac): Promise<void> {
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
  }

  #place(name: string, content: Buffer | string): void {
    const file = join(this.lab.state, 'assets/images', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}
