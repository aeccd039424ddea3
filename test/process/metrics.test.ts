// A real Prometheus scrapes a real appliance with a token, and promtool checks what it gets.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../free-port.ts';
import { needPackages } from '../interop/packages.ts';
import { endingWithUs, LOOPBACK_SITE, ROOT, ServingProcess, SiteFolder } from './appliance.ts';

needPackages(['prometheus', 'curl']);

let site: SiteFolder;
let appliance: ServingProcess;
let token: string;
beforeAll(async () => {
  site = new SiteFolder(LOOPBACK_SITE);
  appliance = new ServingProcess(site.path);
  await appliance.up();
  token = site.read('state/admin-token').trim();
}, 60_000);
afterAll(async () => {
  await appliance.end('SIGTERM');
  site.remove();
});

const scrape = async (accept: string): Promise<Response> =>
  fetch(new URL('/metrics', appliance.where('management')), { headers: { accept, authorization: `Bearer ${token}` } });

describe('/metrics', () => {
  it('needs a token, and is also served on the socket', async () => {
    expect((await fetch(new URL('/metrics', appliance.where('management')))).status).toBe(401);
    const args = ['-sS', '--unix-socket', join(site.state, 'coldiron.sock'), 'http://coldiron/metrics'];
    expect(spawnSync('curl', args, { encoding: 'utf8' }).stdout).toContain('coldiron_build_info{version=');
  });

  it('passes promtool', async () => {
    const answer = await scrape('text/plain');
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      encoding: 'utf8',
      input: await answer.text(),
    });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('is scraped by Prometheus as OpenMetrics, with the shipped settings and rules', { timeout: 120_000 }, async () => {
    const om = await scrape('application/openmetrics-text; version=1.0.0');
    expect(om.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(await om.text()).toMatch(/# EOF\n$/);
    expect(site.run('apply', join(ROOT, 'inventory/example.yaml')).status).toBe(0);
    const data = join(site.path, 'prometheus');
    mkdirSync(data);
    const port = await freePort();
    const { host } = new URL(appliance.where('management'));
    const config = site.write(
      'prometheus.yml',
      JSON.stringify({
        scrape_configs: [
          {
            ...{ job_name: 'coldiron', scrape_interval: '1s' },
            authorization: { credentials: token },
            static_configs: [{ targets: [host] }],
          },
        ],
        rule_files: [join(ROOT, 'docs/monitoring/alerts.yml')],
      }),
    );
    const args = [`--config.file=${config}`, `--storage.tsdb.path=${data}`, `--web.listen-address=127.0.0.1:${port}`];
    const child: ChildProcess = spawn(...endingWithUs('prometheus', args), { stdio: 'ignore' });
    const ended = once(child, 'exit');
    try {
      const query = async (expr: string): Promise<unknown[]> => {
        const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`;
        const answer = await fetch(url).catch(() => null);
        return answer?.ok ? ((await answer.json()) as { data: { result: unknown[] } }).data.result : [];
      };
      await expect.poll(() => query('up{job="coldiron"} == 1'), { timeout: 60_000, interval: 200 }).toHaveLength(1);
      expect(await query('coldiron_nodes{state="ready"}')).toHaveLength(1);
      expect(await query('coldiron_service_up{service="http"} == 1')).toHaveLength(1);
      expect(await query('coldiron_store_write_seconds_count{write="inventory"} == 1')).toHaveLength(1);
      expect(await query('sum(coldiron_nodes) == 5')).toHaveLength(1);
      expect(await query('process_cpu_seconds_total > 0')).toHaveLength(1);
      const rules = (await (await fetch(`http://127.0.0.1:${port}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { health: string }[] }[] };
      };
      expect(rules.data.groups[0]?.rules.length).toBeGreaterThan(10);
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
  });
});

describe('the shipped files', () => {
  it('are accepted by promtool: rules and settings', () => {
    const folder = join(ROOT, 'docs/monitoring');
    const rules = spawnSync('promtool', ['check', 'rules', join(folder, 'alerts.yml')], { encoding: 'utf8' });
    expect(rules.stdout).toMatch(/SUCCESS: \d+ rules found/);
    expect(rules.status).toBe(0);
    const settings = spawnSync('promtool', ['check', 'config', '--syntax-only', join(folder, 'prometheus.yml')], {
      encoding: 'utf8',
    });
    expect([settings.status, settings.stderr]).toEqual([0, '']);
  });
});
