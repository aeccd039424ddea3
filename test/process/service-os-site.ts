// A site on loopback with fake machines: one that becomes a Debian server, and another one.

import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bzImage } from '../assets/tiny-files.ts';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { ServingProcess, SiteFolder } from './appliance.ts';

export const UUID = '7a11ab1e-0000-4080-8000-525400123456';
export const CHASSIS = { mac: '52:54:00:12:34:56', uuid: UUID, address: '127.0.0.56' };
export const NEIGHBOUR = { mac: '52:54:00:12:34:57', address: '127.0.0.57' };
/** A loopback address that only this process uses: its port stays free while the appliance is down. */
export const SERVER = `127.${128 + ((process.pid >> 8) & 63)}.${process.pid & 255}.1`;
const IMAGE = Buffer.from('not really a disk image, but with a checksum all the same\n');
export const IMAGE_SHA256 = createHash('sha256').update(IMAGE).digest('hex');

const siteFile = (sha256: string): string => `listen: { boot: ${SERVER}:0, management: 127.0.0.1:0, tftp: off }
sites:
  - name: lab
    bmc_mode: recorder
    accounts:
      - name: ada
        admin: true
        ssh_keys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c ada@example.com"]
networks:
  - { name: here, prefix: 127.0.0.0/8, server: ${SERVER}, dhcp: off }
skus: [{ name: gp1, architecture: x86_64 }]
profiles:
  - name: debian
    kind: cloud-image
    enrollment: manual
    deploy_minutes: 30
    image: { source: debian/disk.raw, sha256: ${sha256}, format: raw }
  - { name: nix, kind: nixos, role: worker, enrollment: manual }
nodes:
  - name: node01
    sku: gp1
    profile: debian
    uuid: ${UUID}
    serial: S-1
    interfaces: [{ name: eth0, mac: "${CHASSIS.mac}", network: here, address: ${CHASSIS.address} }]
  - name: node02
    sku: gp1
    profile: debian
    interfaces: [{ name: eth0, mac: "${NEIGHBOUR.mac}", network: here, address: ${NEIGHBOUR.address} }]
`;

/** With placeholders for the boot files that the service OS needs. `changed`: edits the site file. */
export function serviceOsSite(sha256 = IMAGE_SHA256, changed = (text: string): string => text): SiteFolder {
  const site = new SiteFolder(changed(siteFile(sha256)));
  shelveBootFiles(site);
  return site;
}

/** Placeholders for the boot files of the service OS, and the image. */
export function shelveBootFiles(site: SiteFolder): void {
  const shelve = (name: string, bytes: Buffer): void => {
    const file = join(site.state, 'assets/images', name);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, bytes);
  };
  mkdirSync(site.state, { recursive: true, mode: 0o700 });
  shelve('service-os-x86_64/kernel', bzImage(1));
  shelve('service-os-x86_64/initrd', Buffer.from('070701'));
  shelve('debian/disk.raw', IMAGE);
}

/** The site with its appliance, as an operator uses it. */
export class ServedSite {
  readonly site = serviceOsSite();
  readonly serving: ServingProcess;

  private constructor() {
    this.serving = new ServingProcess(this.site.path);
  }

  static async open(): Promise<ServedSite> {
    const served = new ServedSite();
    try {
      await served.serving.up();
      return served;
    } catch (error) {
      await served.end();
      throw error;
    }
  }

  /** Throws when the command fails. */
  verb(...args: string[]): string {
    const { status, stdout, stderr } = this.site.run(...args);
    if (status !== 0) throw new Error(`coldiron ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  node() {
    return JSON.parse(this.verb('nodes', 'show', 'node01', '--json'));
  }

  async end(): Promise<void> {
    await this.serving.end('SIGKILL');
    this.site.remove();
  }
}

export const machineOf = (serving: ServingProcess, chassis = CHASSIS): FakeServiceOs =>
  new FakeServiceOs(serving.where('boot'), chassis);
