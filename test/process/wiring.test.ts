// Tests the wiring of the assembled appliance: unit tests of the parts would pass without it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { ServingProcess, type SiteFolder } from './appliance.ts';
import { CHASSIS, machineOf, serviceOsSite, UUID } from './service-os-site.ts';

describe('the assembled appliance', () => {
  let site: SiteFolder;
  let serving: ServingProcess;

  beforeEach(async () => {
    site = serviceOsSite();
    serving = new ServingProcess(site.path);
    await serving.up();
  });
  afterEach(async () => {
    await serving.end('SIGKILL');
    site.remove();
  });

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

  const commission = async () => {
    const machine = machineOf(serving);
    await api('/nodes/node01/commission', {});
    await machine.boot();
    await machine.facts();
    await machine.outcome(true);
    expect(await node()).toMatchObject({ state: 'ready' });
    return machine;
  };

  it('does not release a machine whose disks could not be erased', async () => {
    const machine = await commission();
    await api('/nodes/node01/release', { confirm: 'node01' });
    expect(await machine.boot()).toMatchObject({ status: 201, json: { mode: 'erase' } });
    await machine.outcome(false, { step: 'erase-sda', reason: 'the disk does not answer' });
    await expect.poll(async () => (await node()).state).not.toBe('releasing');
    expect(await node()).toMatchObject({
      state: 'failed',
      failure: { step: 'release', reason: expect.stringContaining('releasing without erasure is not allowed here') },
    });
  });

  it('quarantines a machine when another chassis boots with its MAC address', async () => {
    const other = '0badcafe-0000-4080-8000-525400123456';
    await machineOf(serving).script();
    expect(await node()).toMatchObject({ state: 'registered' });
    await machineOf(serving, { ...CHASSIS, uuid: other }).script();
    await expect.poll(async () => (await node()).state).toBe('quarantined');
    expect((await node()).note).toContain(`${other} instead of ${UUID}`);
  });

  it('gives a deployment the time limit of its profile', async () => {
    await commission();
    await api('/nodes/node01/deploy', { confirm: 'node01' });
    const { state, since, deadline } = await node();
    expect(state).toBe('deploying');
    expect(Date.parse(deadline) - Date.parse(since)).toBe(30 * MINUTE);
  });
});
