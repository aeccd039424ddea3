// Onboarding runs and releases with real processes: the appliance is real and is killed in the middle, the machine speaks the protocol of the
// service OS, and its BMC is recorded.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { ServingProcess, type SiteFolder } from './appliance.ts';
import { IMAGE_SHA256, machineOf, serviceOsSite } from './service-os-site.ts';

const FIELDS = {
  ...{ site_id: 'lab', profile_id: 'debian', sku_id: 'gp1', hostname: 'node01', ipmi_ip: '127.0.0.200' },
};
const POLICY = `
    release_without_erase: true
    onboarding: { retry: [datasource], retries: 1, strict_pxe: false }`;

/** An appliance is started several times, beside virtual machines. */
const LONG = { timeout: 300_000 };

describe('an onboarding run of a real appliance', LONG, () => {
  let site: SiteFolder;
  let serving: ServingProcess;

  beforeEach(async () => {
    site = serviceOsSite(IMAGE_SHA256, (text) =>
      text
        .replace('bmc_mode: recorder', `bmc_mode: recorder${POLICY}`)
        .replace('serial: S-1', 'serial: S-1\n    bmc: { address: 127.0.0.200, username: admin }'),
    );
    serving = await new ServingProcess(site.path).up();
  });
  afterEach(async () => {
    await serving.end('SIGKILL');
    site.remove();
  });

  const json = (...args: string[]) => {
    const run = site.run(...args, '--json');
    expect(run.status, run.stderr).toBe(0);
    return JSON.parse(run.stdout);
  };
  const api = async (path: string, body?: object) => {
    const token = readFileSync(join(site.state, 'admin-token'), 'utf8').trim();
    const answer = await fetch(`${serving.where('management')}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return JSON.parse(text);
  };
  const node = () => api('/nodes/node01');
  const shown = (id: string) => api(`/onboardings/${id}`);
  const killed = async (): Promise<void> => {
    await serving.end('SIGKILL');
    serving = await new ServingProcess(site.path).up();
  };
  /** Confirmed: it is the first of its site. */
  const begun = async (): Promise<string> => {
    const { id } = await api('/onboardings', FIELDS);
    await api(`/onboardings/${id}/confirm`, { hostname: 'node01' });
    return id;
  };
  const reaches = (id: string, step: string) =>
    expect.poll(() => shown(id), { timeout: 60_000 }).toMatchObject({ step, state: 'running' });
  const state = (wanted: string) => expect.poll(async () => (await node()).state, { timeout: 60_000 }).toBe(wanted);

  const commissioned = async (machine: FakeServiceOs): Promise<void> => {
    await state('commissioning');
    expect((await machine.boot()).status).toBe(201);
    await machine.facts();
    await machine.outcome(true);
  };

  it('goes on after the appliance was killed in each step, and installs once', async () => {
    const id = await begun();
    await reaches(id, 'commission');
    await killed();
    await commissioned(machineOf(serving));
    await state('deploying');
    await killed();
    await reaches(id, 'deploy');
    const machine = machineOf(serving);
    expect((await machine.boot()).status).toBe(201);
    await killed();
    const after = machineOf(serving);
    // The session of the machine outlives the appliance.
    after.useKey(machine.key ?? '');
    await after.step('write-image', 'done');
    expect((await after.outcome(true)).status).toBe(200);
    await reaches(id, 'enroll');
    await killed();
    await reaches(id, 'enroll');
    const events: { kind: string; correlation_id: string | null }[] = (await shown(id)).events;
    expect(events.filter(({ kind }) => kind === 'intent.armed')).toHaveLength(1);
    const ids = events.filter(({ kind }) => /^(onboarding|lifecycle\.(commission|deploy)ing)/.test(kind));
    expect(new Set(ids.map(({ correlation_id }) => correlation_id)).size).toBe(1);
    expect(json('audit', 'verify')).toMatchObject({ intact: true });
  });

  it('installs again after a failure in the datasource class, and not after one in another class', async () => {
    const id = await begun();
    const machine = machineOf(serving);
    await commissioned(machine);
    await state('deploying');
    await machine.boot();
    await machine.outcome(false, { step: 'seed', reason: 'DataSourceNotFoundException: no data source' });
    await expect
      .poll(() => shown(id), { timeout: 60_000 })
      .toMatchObject({ attempt: 2, step: 'deploy', failure: { class: 'datasource', attempt: 1 } });
    await state('deploying');
    expect((await machine.boot()).status).toBe(201);
    await machine.outcome(false, { step: 'choose-disk', reason: 'no disk matches' });
    await expect
      .poll(() => shown(id), { timeout: 60_000 })
      .toMatchObject({ state: 'failed', attempt: 2, failure: { class: 'disk', step: 'deploy' } });
    expect(await node()).toMatchObject({ state: 'failed', failure: { step: 'deploy' } });
    expect(
      (await shown(id)).steps.map((one: { step: string; attempt: number }) => `${one.step} ${one.attempt}`),
    ).toEqual([...['preflight 1', 'discover 1', 'commission 1', 'predeploy 1', 'deploy 1', 'predeploy 2', 'deploy 2']]);
  });

  it('releases without erasure where the site allows it, and deploys nothing until the disks are erased', async () => {
    const machine = machineOf(serving);
    await api('/nodes/node01/commission', {});
    await commissioned(machine);
    await api('/nodes/node01/release', { confirm: 'node01' });
    expect(await machine.boot()).toMatchObject({ status: 201, json: { mode: 'erase' } });
    await machine.outcome(false, { step: 'erase-sda', reason: 'nvme format: Invalid Field in Command' });
    await state('ready');
    expect(await node()).toMatchObject({ not_erased: { reason: expect.stringContaining('Invalid Field in Command') } });
    expect(site.run('nodes', 'show', 'node01').stdout).toContain('NOT ERASED');
    const refused = site.run('deploy', 'node01', '--yes');
    expect([refused.status, refused.stderr]).toEqual([5, expect.stringContaining('its disks were not erased')]);
    const id = await begun();
    await expect
      .poll(() => shown(id), { timeout: 60_000 })
      .toMatchObject({ state: 'failed', failure: { step: 'predeploy', class: 'disk' } });
    await api('/nodes/node01/release', { confirm: 'node01' });
    await machine.boot();
    await machine.outcome(true);
    await state('ready');
    expect(await node()).toMatchObject({ not_erased: null });
  });
});
