// A real `coldiron serve` with simulated BMCs, on loopback addresses that only this test uses.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ADMIN, SimulatedBmc, type SimulatorOptions } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { LOOPBACK_SITE, ROOT, type Run, ServingProcess, SiteFolder } from './appliance.ts';

/** IPMI has a fixed port; the process id separates tests that run in parallel. */
const PREFIX = `127.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}`;
export const addressOf = (number: number): string => `${PREFIX}.${number}`;

/** Below the site's folder. */
const PASSWORDS = 'passwords';

export interface BmcNode {
  readonly number: number;
  /** Content of the password file; null: there is none. */
  readonly password: string | null;
  readonly driver?: 'ipmi' | 'redfish';
  readonly username?: string;
}

export class BmcSite {
  readonly folder: SiteFolder;
  serving: ServingProcess | null = null;
  readonly #bmcs: SimulatedBmc[] = [];
  readonly #children: ChildProcess[] = [];

  constructor(nodes: readonly BmcNode[]) {
    this.folder = new SiteFolder('');
    mkdirSync(join(this.folder.path, PASSWORDS));
    for (const { number, password } of nodes) {
      if (password !== null) chmodSync(this.folder.write(`${PASSWORDS}/node${number}`, `${password}\n`), 0o600);
    }
    this.folder.write('coldiron.yaml', this.#siteFile(nodes));
  }

  #siteFile(nodes: readonly BmcNode[]): string {
    const lines = nodes.map(({ number, password, driver = 'ipmi', username = ADMIN.name }) => {
      const file = password === null ? '' : `, password_file: ${join(this.folder.path, PASSWORDS, `node${number}`)}`;
      const bmc = `{ address: ${addressOf(number)}, driver: ${driver}, username: ${username}${file} }`;
      const nic = `{ name: eth0, mac: "52:54:00:77:00:0${number}", network: boot }`;
      return `  - { name: node0${number}, sku: gp1, labels: { rack: r${number % 2} }, interfaces: [${nic}], bmc: ${bmc} }`;
    });
    return [
      LOOPBACK_SITE,
      `bmc: { scan: [${PREFIX}.0/29], password_folder: ${PASSWORDS} }`,
      'sites: [{ name: lab, bmc_mode: real }]',
      'networks: [{ name: boot, prefix: 10.77.0.0/24 }]',
      'skus: [{ name: gp1, architecture: x86_64 }]',
      'nodes:',
      ...lines,
      '',
    ].join('\n');
  }

  async bmc(number: number, options: SimulatorOptions = {}): Promise<SimulatedBmc> {
    const bmc = await SimulatedBmc.start({ ...options, address: addressOf(number), port: 623 });
    this.#bmcs.push(bmc);
    return bmc;
  }

  async serve(): Promise<ServingProcess> {
    this.serving = await new ServingProcess(this.folder.path).up();
    return this.serving;
  }

  /** Not `spawnSync`: the simulated BMCs run in this process and must reply meanwhile. */
  async run(args: readonly string[], input = ''): Promise<Run> {
    const child = this.start(join(ROOT, 'coldiron'), args);
    child.stdin?.end(input);
    return this.ended(child);
  }

  async json(...args: string[]) {
    const { stdout, stderr } = await this.run([...args, '--json']);
    try {
      return JSON.parse(stdout);
    } catch {
      throw new Error(`${args.join(' ')} printed no JSON: ${stdout}${stderr}`);
    }
  }

  start(program: string, args: readonly string[]): ChildProcess {
    const child = spawn(program, args, { cwd: this.folder.path, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#children.push(child);
    return child;
  }

  async ended(child: ChildProcess): Promise<Run> {
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    await once(child, 'close');
    return { status: child.exitCode, stdout, stderr };
  }

  /** Every process in its folder: the appliance, and command lines. */
  processes(): { pid: number; commandLine: string; environment: string }[] {
    return readdirSync('/proc').flatMap((name) => {
      try {
        if (!/^\d+$/.test(name) || readlinkSync(`/proc/${name}/cwd`) !== this.folder.path) return [];
        const [commandLine, environment] = [
          readFileSync(`/proc/${name}/cmdline`, 'latin1'),
          readFileSync(`/proc/${name}/environ`, 'latin1'),
        ];
        return [{ pid: Number(name), commandLine, environment }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
  }

  async remove(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
    await this.serving?.end('SIGKILL');
    await Promise.all(this.#bmcs.map((bmc) => bmc.stop()));
    this.folder.remove();
  }
}
