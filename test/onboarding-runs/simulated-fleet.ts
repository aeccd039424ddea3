// A real appliance in front of many simulated servers, of which it knows nothing but the addresses of their BMCs. It can be killed at any time.

import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ADMIN } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { freePort } from '../free-port.ts';
import { ServingProcess, SiteFolder } from '../process/appliance.ts';
import { IMAGE_SHA256, shelveBootFiles } from '../process/service-os-site.ts';
import type { ServerPlace } from './simulated-server.ts';

export interface ShownRun {
  readonly id: string;
  readonly hostname: string;
  readonly state: string;
  readonly step: string | null;
  readonly attempt: number;
  readonly node: string | null;
  readonly failure: { readonly class: string; readonly reason: string; readonly step: string } | null;
  readonly steps: readonly {
    readonly step: string;
    readonly started_at: string;
    readonly ended_at: string | null;
    readonly outcome: string;
  }[];
}

const siteFile = (server: string, boot: number, node: number, password: string, policy: string): string =>
  `listen: { boot: ${server}:${boot}, management: 127.0.0.1:0, node: "${server}:${node}", tftp: off }
bmc: { password_folder: passwords }
sites:
  - name: lab
    bmc_mode: real
    onboarding: { strict_pxe: false, ${policy}bmc: { driver: ipmi, username: ${ADMIN.name}, password_file: ${password} } }
networks:
  - { name: here, prefix: 127.0.0.0/8, server: ${server}, dhcp: off, unknown: hold, pools: [{ from: 127.250.0.1, to: 127.250.0.200 }] }
skus: [{ name: gp1, architecture: x86_64 }]
profiles:
  - name: debian
    kind: cloud-image
    deploy_minutes: 60
    image: { source: debian/disk.raw, sha256: ${IMAGE_SHA256}, format: raw }
`;

export class SimulatedFleet {
  readonly site: SiteFolder;
  readonly bootUrl: string;
  serving: ServingProcess;
  kills = 0;
  /** Maximum of the resident memory of all its processes, in megabytes. */
  megabytes = 0;
  cpuSeconds = 0;

  private constructor(site: SiteFolder, bootUrl: string) {
    this.site = site;
    this.bootUrl = bootUrl;
    this.serving = new ServingProcess(site.path);
  }

  /** `server`: a loopback address that nobody else uses. */
  static async start(server: string, policy = ''): Promise<SimulatedFleet> {
    const [boot, node] = [await freePort(), await freePort()];
    const site = new SiteFolder('');
    mkdirSync(join(site.path, 'passwords'));
    const password = site.write('passwords/site', `${ADMIN.password}\n`);
    chmodSync(password, 0o600);
    site.write('coldiron.yaml', siteFile(server, boot, node, password, policy));
    shelveBootFiles(site);
    const fleet = new SimulatedFleet(site, `http://${server}:${boot}/`);
    try {
      await fleet.serving.up();
      return fleet;
    } catch (error) {
      await fleet.end();
      throw error;
    }
  }

  /** Like a power failure; returns when it is up again. */
  async kill(): Promise<void> {
    this.measure();
    await this.serving.end('SIGKILL');
    this.kills += 1;
    this.serving = await new ServingProcess(this.site.path).up();
  }

  /** Call it before the process ends. */
  measure(): void {
    const { pid } = this.serving.child;
    if (pid === undefined) return;
    try {
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      this.megabytes = Math.max(this.megabytes, Number(peak) / 1024);
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      this.cpuSeconds += (Number(fields[11]) + Number(fields[12])) / 100;
    } catch {
      // It has ended.
    }
  }

  async end(): Promise<void> {
    await this.serving.end('SIGKILL');
    this.site.remove();
  }

  async api(path: string, body?: object): Promise<unknown> {
    const token = readFileSync(join(this.site.state, 'admin-token'), 'utf8').trim();
    const answer = await fetch(`${this.serving.where('management')}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  }

  /** Repeated while the appliance is down. */
  async patiently(path: string): Promise<unknown> {
    for (;;) {
      try {
        return await this.api(path);
      } catch (error) {
        if (error instanceof Error && /: 4\d\d /.test(error.message)) throw error;
        await pause(200);
      }
    }
  }

  /** Runs that are not over. */
  async open(): Promise<readonly ShownRun[]> {
    const { onboardings } = (await this.patiently('/onboardings?state=running&limit=500')) as {
      onboardings: ShownRun[];
    };
    return onboardings;
  }

  async request(hostname: string, { bmcAddress }: ServerPlace): Promise<string> {
    const fields = { site_id: 'lab', profile_id: 'debian', sku_id: 'gp1', hostname, ipmi_ip: bmcAddress };
    return ((await this.api('/onboardings', fields)) as { id: string }).id;
  }

  async shown(id: string): Promise<ShownRun> {
    return (await this.patiently(`/onboardings/${id}`)) as ShownRun;
  }

  /** Resolves when the run is over. */
  async over(id: string): Promise<ShownRun> {
    for (;;) {
      const run = await this.shown(id);
      if (run.state !== 'running' && run.state !== 'awaiting-confirmation') return run;
      await pause(500);
    }
  }
}
