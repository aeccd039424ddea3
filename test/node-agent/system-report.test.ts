// The agent reports failed units and the end of cloud-init. systemctl, journalctl and cloud-init are stand-ins that print what the real
// ones print, because no systemd runs here.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Machine } from '../../appliance/domain/machine.ts';
import { reportedBy } from '../../appliance/identity/heartbeats.ts';
import { needPackages } from '../interop/packages.ts';
import { installAgent, NodeApiSite } from '../servers/node-api/node-api-site.ts';
import { InstalledAgent } from './agent-rig.ts';

let site: NodeApiSite;
const agents: InstalledAgent[] = [];
let count = 0;

beforeAll(async () => {
  needPackages(['curl', 'openssl', 'dash', 'busybox']);
  site = await NodeApiSite.open({ settings: { heartbeatEvery: 1000 } });
});
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.end('SIGKILL');
});
afterAll(() => site.end());

/** A node whose system says what is in its files `failed` and `run/result.json`. */
class ReportingNode {
  readonly agent: InstalledAgent;
  readonly machine: Machine;
  readonly #root: string;

  private constructor(machine: Machine, script: string, name: string) {
    this.machine = machine;
    this.#root = installAgent(site, name, script);
    this.agent = new InstalledAgent(this.#root, () => undefined);
    agents.push(this.agent);
    for (const folder of ['bin', 'run']) mkdirSync(join(this.#root, folder));
    this.fails('');
    const failed = join(this.#root, 'failed');
    this.program('systemctl', `case $1 in list-units) cat '${failed}' ;; show) echo exit-code ;; *) exit 1 ;; esac`);
    this.program('journalctl', `case "$*" in *_SYSTEMD_UNIT=data.mount) printf 'no such device\\033[2J\\n' ;; esac`);
    this.program('cloud-init', 'exit 2');
  }

  static async make(): Promise<ReportingNode> {
    const machine = await site.machine(++count);
    return new ReportingNode(machine, (await site.issueBundle(machine)).script, `node${count}`);
  }

  program(name: string, line: string): void {
    writeFileSync(join(this.#root, 'bin', name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }

  fails(lines: string): void {
    writeFileSync(join(this.#root, 'failed'), lines);
  }

  cloudInitEnds(result: string): void {
    writeFileSync(join(this.#root, 'run/result.json'), result);
  }

  start(shell: readonly string[]): void {
    const PATH = `${join(this.#root, 'bin')}:${process.env.PATH}`;
    this.agent.start(shell, { PATH, AGENT_CLOUD_INIT: join(this.#root, 'run') });
  }

  get system() {
    return reportedBy(site.enrollment.heartbeats.lastOf(this.machine.id)?.report ?? null).system;
  }
}

const DATA = 'data.mount loaded failed failed Data of this machine\n';

describe('the agent', () => {
  it.each([['dash'], ['busybox', 'sh']])('reports what failed, and when it no longer does (%s)', async (...shell) => {
    const node = await ReportingNode.make();
    node.fails(DATA);
    node.start(shell);
    await expect.poll(() => node.system).not.toBeNull();
    expect(node.system).toEqual({
      units: [{ unit: 'data.mount', result: 'exit-code', lines: ['no such device[2J'] }],
      more_units: 0,
      cloud_init: null,
    });
    node.fails('');
    await expect.poll(() => node.system?.units).toEqual([]);
    expect(site.notes.filter(({ machine }) => machine === node.machine.id).map(({ kind }) => kind)).toEqual([
      'node-api.system-degraded',
      'node-api.system-healthy',
    ]);
  });

  it('reports the end of cloud-init, also of one that prints no JSON', async () => {
    const node = await ReportingNode.make();
    node.start(['dash']);
    await expect.poll(() => node.system).toMatchObject({ cloud_init: null });
    node.cloudInitEnds('{"v1": {"datasource": "DataSourceNoCloud", "errors": ["scripts-vendor"]}}');
    await expect
      .poll(() => node.system?.cloud_init)
      .toEqual({ status: 'error', errors: ['scripts-vendor'], warnings: [] });

    const other = await ReportingNode.make();
    other.program('cloud-init', `[ "$*" = 'status --format json' ] && echo '{"status": "done", "errors": []}'`);
    other.cloudInitEnds('{}');
    other.start(['dash']);
    await expect.poll(() => other.system?.cloud_init).toMatchObject({ status: 'done' });
  });

  it('goes on without systemd, and with a service manager that hangs', async () => {
    const node = await ReportingNode.make();
    node.program('systemctl', 'exit 1');
    node.start(['dash']);
    await expect.poll(() => site.state(node.machine)).toBe('active');
    const hanging = await ReportingNode.make();
    hanging.program('systemctl', 'exec sleep 600');
    hanging.start(['dash']);
    const at = () => site.enrollment.heartbeats.lastOf(hanging.machine.id)?.at ?? 0;
    await expect.poll(at).toBeGreaterThan(0);
    const first = at();
    await expect.poll(at, { timeout: 30_000 }).toBeGreaterThan(first);
    expect([node.system, hanging.system]).toEqual([null, null]);
  });
});
