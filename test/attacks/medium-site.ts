// A site whose machines have no TPM but BMCs with virtual drives, on a network of their own. The BMCs are programs of our own
// (test/bmc/redfish/mock), which know nothing of the client; what is on a disc is read with isoinfo.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { DriveHabit } from '../bmc/redfish/mock/drive.ts';
import { ADMIN } from '../bmc/redfish/mock/machine.ts';
import { coldiron } from '../process/appliance.ts';
import { identityOf, TwinSite } from './twin-site.ts';
import type { Identity, WiredMachine } from './wired-machine.ts';

const RUN_BMC = join(import.meta.dirname, '../bmc/redfish/mock/run.ts');
export const BMC_NETWORK = '10.89.0';

const PASSWORDS = mkdtempSync(join(tmpdir(), 'coldiron-passwords-'));

export interface BmcIdentity extends Identity {
  readonly bmcAddress: string;
}

export function withBmc(number: number): BmcIdentity {
  const bmcAddress = `${BMC_NETWORK}.${10 + number}`;
  const bmc = `{ address: ${bmcAddress}, driver: redfish, username: ${ADMIN.name}, password_file: ${PASSWORDS}/bmc }`;
  return { ...identityOf(number), bmc, bmcAddress };
}

export class MediumSite extends TwinSite {
  readonly #habits: ReadonlyMap<Identity, DriveHabit>;

  /** How the BMC of a node treats an image; the others read it. */
  constructor(habits: ReadonlyMap<Identity, DriveHabit>) {
    super();
    this.#habits = habits;
  }

  startWithBmcs(nodes: readonly BmcIdentity[]): Promise<void> {
    writeFileSync(join(PASSWORDS, 'bmc'), `${ADMIN.password}\n`, { mode: 0o600 });
    return this.start(nodes, `bmc: { password_folder: ${PASSWORDS} }\n`, () => this.#startBmcs(nodes));
  }

  override async remove(): Promise<void> {
    await super.remove();
    rmSync(PASSWORDS, { recursive: true, force: true });
  }

  async #startBmcs(nodes: readonly BmcIdentity[]): Promise<void> {
    const { namespaces, folder } = this.lab;
    namespaces.add('bmcs', 'neighbour');
    namespaces.switch(
      'bmc-switch',
      { namespace: 'server', device: 's2', address: `${BMC_NETWORK}.1/24` },
      { namespace: 'bmcs', device: 'b1' },
      { namespace: 'neighbour', device: 'b1', address: `${BMC_NETWORK}.99/24` },
    );
    for (const node of nodes) {
      const drive = join(folder, `drive-${node.node}`);
      mkdirSync(drive);
      namespaces.ip('bmcs', 'address', 'add', `${node.bmcAddress}/24`, 'dev', 'b1');
      const bmc = namespaces.start(
        'bmcs',
        process.execPath,
        RUN_BMC,
        node.bmcAddress,
        node.uuid,
        this.#habits.get(node) ?? 'reads',
        drive,
      );
      await bmc.says(/the BMC is up/);
    }
  }

  /** What the machine finds in its drive; null: the drive is empty. */
  disc({ node }: Identity): string | null {
    const file = join(this.lab.folder, `drive-${node}`, 'disc.iso');
    return existsSync(file) ? file : null;
  }

  /** The URL that the BMC was given; null: its drive is empty. */
  url({ node }: Identity): string | null {
    const file = join(this.lab.folder, `drive-${node}`, 'url');
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  }

  /** The 64 digits on the disc, once it is in the drive. */
  async secret(node: Identity): Promise<string> {
    const read = (): string =>
      spawnSync('isoinfo', ['-i', this.disc(node) ?? '/nowhere', '-x', '/SECRET.;1'], { encoding: 'utf8' }).stdout;
    return (await this.#polled(node, read, 30_000, /^[0-9a-f]{64}\n$/)).trim();
  }

  async ejected(node: Identity): Promise<void> {
    await this.#polled(node, () => `${this.url(node)} ${this.disc(node)}`, 60_000, /^null null$/);
  }

  async #polled(node: Identity, read: () => string, timeout: number, wanted: RegExp): Promise<string> {
    let last = '';
    await expect
      .poll(() => (last = read()), { timeout })
      .toMatch(wanted)
      .catch((error: Error) => {
        throw new Error(`${error.message}\n${this.#story(node)}`);
      });
    return last;
  }

  /** For a failed test. */
  #story({ node }: Identity): string {
    return `${coldiron(['trail', node, '--state', this.lab.state]).stdout}\n${this.log.slice(-3000)}`;
  }

  /** The status and the length of the answer. */
  async fetch(from: 'neighbour' | 'attacker' | 'real' | 'bmcs', url: string, ...options: string[]): Promise<number> {
    const args = [
      '--silent',
      '--max-time',
      '20',
      '--output',
      '/dev/null',
      '--write-out',
      '%{http_code}',
      ...options,
      url,
    ];
    return Number((await this.lab.namespaces.run(from, 'curl', ...args)).output);
  }
}

/** As docs/service-os.md says. */
export const hashOfDigits = (digits: string): string =>
  createHash('sha256').update(Buffer.from(digits, 'hex')).digest('hex');
const keyOfDigits = (digits: string): string =>
  createHash('sha256').update(`coldiron session ${digits}`).digest('base64url');

/** Opens a session with the secret of the disc. */
export async function openWith(machine: WiredMachine, ticket: string, digits: string) {
  machine.useKey(keyOfDigits(digits));
  return machine.open(ticket, { media: hashOfDigits(digits) });
}
