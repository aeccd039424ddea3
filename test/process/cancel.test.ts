// Cancelled work, as the machine, the trail and the command line see it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { machineOf, ServedSite } from './service-os-site.ts';

describe('coldiron cancel', () => {
  let served: ServedSite;
  beforeEach(async () => {
    served = await ServedSite.open();
  });
  afterEach(() => served?.end());

  const verb = (...args: string[]): string => served.verb(...args);
  const node = () => served.node();
  const commissioned = async () => {
    const machine = machineOf(served.serving);
    verb('commission', 'node01');
    await machine.boot();
    await machine.facts();
    await machine.outcome(true);
    return machine;
  };

  it('returns a commissioning machine to its previous state, and ends its session', async () => {
    const machine = machineOf(served.serving);
    verb('commission', 'node01');
    await machine.boot();
    verb('cancel', 'node01', '--note', 'wrong rack');
    expect(node()).toMatchObject({ state: 'registered', failure: null });
    expect(await machine.order()).toMatchObject({ json: { cancelled: true } });
    expect((await machine.outcome(true)).status).toBe(410);
    expect(node()).toMatchObject({ state: 'registered' });
  });

  it('disarms a deployment that has not begun, and the machine boots from its own disk', async () => {
    const machine = await commissioned();
    verb('deploy', 'node01', '--yes');
    verb('cancel', 'node01');
    expect(node()).toMatchObject({ state: 'ready', failure: null });
    expect(await machine.script()).not.toContain('coldiron.session=');
    verb('audit', 'verify');
  });

  it('fails a deployment that has begun: its disk may be half written', async () => {
    const machine = await commissioned();
    verb('deploy', 'node01', '--yes');
    await machine.boot();
    await machine.step('write-image', 'progress', { percent: 43 });
    verb('cancel', 'node01');
    const { state, failure } = node();
    expect([state, failure.step]).toEqual(['failed', 'deploy']);
    expect(failure.reason).toMatch(/^cancelled by local:.*, after it had begun$/);
    expect((await machine.step('write-image', 'progress', { percent: 50 })).status).toBe(410);
  });

  const enrolling = async () => {
    const machine = await commissioned();
    verb('deploy', 'node01', '--yes');
    await machine.boot();
    await machine.outcome(true);
    expect(node()).toMatchObject({ state: 'enrolling' });
    return machine;
  };

  it('ends an enrollment, and the node can be installed again', async () => {
    const machine = await enrolling();
    verb('cancel', 'node01');
    const { state, failure } = node();
    expect([state, failure.step]).toEqual(['failed', 'enroll']);
    expect(failure.reason).toMatch(/^cancelled by local:.*, before the installed system had enrolled$/);
    expect(await machine.script()).not.toContain('coldiron.session=');
    verb('deploy', 'node01', '--yes');
    expect(node()).toMatchObject({ state: 'deploying', failure: null });
  });

  it('is not needed to install a machine again that does not enroll', async () => {
    const machine = await enrolling();
    verb('deploy', 'node01', '--yes');
    expect(node()).toMatchObject({ state: 'deploying', failure: null });
    expect(await machine.script()).toContain('coldiron.session=');
  });

  it('is rejected when there is nothing to cancel', () => {
    expect(served.site.run('cancel', 'node01')).toMatchObject({
      status: 5,
      stderr: expect.stringContaining('node01 is registered: there is nothing to cancel'),
    });
  });
});
