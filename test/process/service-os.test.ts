// The whole lifecycle of a machine with real processes: the appliance is real, the machine speaks the protocol of the service OS.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { ServingProcess, type SiteFolder } from './appliance.ts';
import { CHASSIS, IMAGE_SHA256, machineOf, NEIGHBOUR, SERVER, serviceOsSite, UUID } from './service-os-site.ts';

describe('a machine and its service OS', () => {
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

  const verb = (...args: string[]) => {
    const run = site.run(...args);
    expect(run.status, run.stderr).toBe(0);
    return run.stdout;
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
  const events = async () => (await api('/events?node=node01&limit=1000')).events;

  const commissioned = async (machine: FakeServiceOs): Promise<void> => {
    await api('/nodes/node01/commission', {});
    expect((await machine.boot()).status).toBe(201);
    expect((await machine.facts()).status).toBe(204);
    expect(await machine.outcome(true)).toMatchObject({ status: 200, json: { next: 'power-off' } });
  };

  const deployingWith = async (): Promise<FakeServiceOs> => {
    const machine = machineOf(serving);
    await commissioned(machine);
    await api('/nodes/node01/deploy', { confirm: 'node01' });
    return machine;
  };

  it('goes from registered to installed, and back to ready with its disks erased', async () => {
    const machine = machineOf(serving);
    await commissioned(machine);
    expect(await node()).toMatchObject({ state: 'ready' });

    verb('deploy', 'node01', '--yes');
    expect(await node()).toMatchObject({
      state: 'deploying',
      intent: { kind: 'deploy', profile: 'debian', consumed_at: null },
    });
    const opened = await machine.boot();
    expect(opened).toMatchObject({
      status: 201,
      json: {
        node: 'node01',
        mode: 'install',
        order: {
          mode: 'install',
          profile: 'debian',
          image: { sha256: IMAGE_SHA256, format: 'raw' },
          network: { links: [{ kind: 'ethernet', name: 'eth0', mac: CHASSIS.mac, address: '127.0.0.56/8' }] },
          seed: ['meta-data', 'user-data', 'vendor-data', 'network-config'],
        },
      },
    });
    for (const step of ['inspect', 'rehearse', 'choose-disk']) {
      await machine.step(step, 'started');
      expect((await machine.step(step, 'done')).status).toBe(204);
    }
    for (let percent = 1; percent <= 100; percent += 9) await machine.step('write-image', 'progress', { percent });
    const seed = await Promise.all(
      ['meta-data', 'user-data', 'vendor-data', 'network-config'].map((name) => machine.file(name)),
    );
    expect(seed.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(seed[0]?.body).toContain('node01');
    expect(seed[3]?.body).toContain(CHASSIS.mac);
    expect(await machine.outcome(true)).toMatchObject({ status: 200, json: { next: 'reboot' } });
    expect(await node()).toMatchObject({ state: 'enrolling', failure: null });
    expect(await machine.script()).not.toContain('coldiron.session=');

    verb('quarantine', 'node01');
    verb('clear-quarantine', 'node01');
    expect(await node()).toMatchObject({ state: 'failed', failure: { step: 'enroll' } });
    verb('release', 'node01', '--yes');
    expect(await machine.boot()).toMatchObject({ status: 201, json: { mode: 'erase', order: { disks: 'all' } } });
    await machine.step('erase-sda', 'done', { percent: 100 });
    expect(await machine.outcome(true)).toMatchObject({ status: 200, json: { next: 'power-off' } });
    expect(await node()).toMatchObject({ state: 'ready', failure: null });

    const kinds = (await events()).map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(
      expect.arrayContaining(['intent.armed', 'intent.consumed', 'session.opened', 'session.ended']),
    );
    verb('audit', 'verify');
  });

  it('rejects a ticket that is used twice, from another address, or by another card', async () => {
    const machine = await deployingWith();
    const ticket = FakeServiceOs.ticketIn(await machine.script()) ?? '';
    const neighbour = machineOf(serving, { ...NEIGHBOUR, uuid: UUID });
    expect(await neighbour.open(ticket, { mac: CHASSIS.mac })).toMatchObject({ status: 409 });
    expect(await machine.open(ticket, { mac: NEIGHBOUR.mac })).toMatchObject({ status: 409 });
    expect(await machine.open(ticket)).toMatchObject({ status: 201 });
    const again = await machineOf(serving).open(ticket);
    expect(again).toMatchObject({ status: 409, json: { code: 'conflict' } });
    expect(again.body).toContain('used already');

    const refused = (await events()).filter(({ kind }: { kind: string }) => kind === 'session.refused');
    expect(refused.map(({ data }: { data: { reason: string } }) => data.reason)).toEqual([
      `it comes from ${NEIGHBOUR.address}, which is leased to ${NEIGHBOUR.mac}`,
      `${NEIGHBOUR.mac} is not a card of node01`,
      'the ticket was used already: another client opened the session',
    ]);
    expect(verb('audit', 'list', '--json')).toContain('session.refused');
    expect(serving.stderr).not.toContain(ticket);
    expect(serving.stderr).not.toContain(machine.key);
  });

  it('is quarantined when another chassis presents its ticket, until a person accepts that chassis', async () => {
    const machine = await deployingWith();
    const ticket = FakeServiceOs.ticketIn(await machine.script()) ?? '';
    const other = '0badcafe-0000-4080-8000-525400123456';
    const refused = await machine.open(ticket, { uuid: other });
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain(`chassis UUID ${other} instead of ${UUID}`);
    expect(await node()).toMatchObject({
      state: 'quarantined',
      note: expect.stringContaining(`chassis UUID ${other} instead of ${UUID}`),
      identity: { level: 'bound', uuid: UUID, pending: expect.stringContaining(other) },
    });
    expect(await machine.open(ticket)).toMatchObject({ status: 409 });
    expect((await events()).map(({ kind }: { kind: string }) => kind)).toContain('hardware.differs');
    verb('nodes', 'rebind', 'node01', '--note', 'new mainboard');
    expect(await node()).toMatchObject({ state: 'failed', identity: { uuid: other, pending: null } });
    expect(verb('audit', 'list', '--json')).toContain('node.rebind');
  });

  it('keeps its session after the appliance was killed, and accepts no report twice', async () => {
    const machine = await deployingWith();
    await machine.boot();
    await machine.step('write-image', 'progress', { percent: 43 });
    const boot = new URL(serving.where('boot'));
    await serving.end('SIGKILL');
    site.write('coldiron.yaml', site.read('coldiron.yaml').replace(`boot: ${SERVER}:0`, `boot: ${boot.host}`));
    serving = await new ServingProcess(site.path).up();

    const old = { sequence: 1, step: 'write-image', status: 'progress', percent: 1 };
    expect((await machine.ask('POST', '/boot/session/steps', old)).status).toBe(204);
    expect((await api('/nodes/node01/sessions')).sessions[0]).toMatchObject({ last: { percent: 43 } });
    expect(await machine.outcome(true)).toMatchObject({ status: 200 });
    expect(await machine.outcome(true)).toMatchObject({ status: 200, json: { next: 'reboot' } });
    expect(await node()).toMatchObject({ state: 'enrolling' });
  });

  it('fails at once, with its progress, when it boots again during an installation', async () => {
    const machine = await deployingWith();
    await machine.boot();
    await machine.step('write-image', 'progress', { percent: 43 });
    expect(await machine.script()).not.toContain('coldiron.session=');
    await expect.poll(async () => (await node()).state).not.toBe('deploying');
    expect(await node()).toMatchObject({ state: 'failed', failure: { step: 'deploy' } });
    expect((await node()).failure.reason).toMatch(
      /^restarted before it was installed: .*write-image \(progress, 43 %\)/,
    );
    expect(await machine.order()).toMatchObject({ json: { cancelled: true } });
    expect((await machine.step('write-image', 'done')).status).toBe(410);
  });

  it('is followed to its end, and a failure says where, why, and what to do', async () => {
    const machine = machineOf(serving);
    await commissioned(machine);
    const following = site.start('deploy', 'node01', '--yes', '--wait');
    await following.says(/State is now deploying/);
    await machine.boot();
    await machine.step('inspect', 'done');
    await machine.step('choose-disk', 'failed', { message: 'two disks match: sda, sdb' });
    await machine.outcome(false, { step: 'choose-disk', reason: 'two disks match: sda, sdb' });
    expect(await following.ended()).toBe(9);
    expect(following.text).toMatch(/0:\d\d {2}Service OS is up for install/);
    expect(following.text).toContain('node01 failed at deploy');
    expect(following.text).toContain('choose-disk: two disks match: sda, sdb');
    expect((await api('/nodes/node01/diagnosis')).diagnosis).toMatchObject({ id: 'disk-not-found' });
    expect(verb('diagnose', 'node01')).toContain('no disk of node01 matches the storage selector');
    expect(verb('nodes', 'show', 'node01')).toContain('Acme, Box, serial S-1');
  });

  it('gets an error envelope and size limits, whatever it sends', async () => {
    const machine = await deployingWith();
    const ticket = FakeServiceOs.ticketIn(await machine.script()) ?? '';
    expect(await machine.ask('POST', ticket, '{')).toMatchObject({
      status: 400,
      json: { message: 'the body is not JSON' },
    });
    expect(await machine.ask('GET', ticket)).toMatchObject({ status: 405 });
    expect(await machine.ask('POST', ticket, 'x'.repeat(50_000))).toMatchObject({ status: 413 });
    expect(await machineOf(serving).order()).toMatchObject({ status: 401, json: { code: 'unauthenticated' } });
    expect(await machine.open(ticket)).toMatchObject({ status: 201 });
    const log = `beginning${'x'.repeat(50_000)}end`;
    expect((await machine.step('inspect', 'done', { log })).status).toBe(204);
    expect((await machine.step('inspect', 'done', { log: 'x'.repeat(70_000) })).status).toBe(413);
    expect(await machine.step('no such step', 'done')).toMatchObject({
      status: 400,
      json: { code: 'invalid_request' },
    });
    expect(await machine.file('shadow')).toMatchObject({ status: 404 });
    expect((await machine.file('user-data')).status).toBe(200);
    expect(await machine.file('user-data')).toMatchObject({ status: 409 });
    const step = (await events()).find(({ kind }: { kind: string }) => kind === 'session.step');
    expect(step.data.log).toMatch(/^\(\d+ characters before this were left out\)\nx+end$/);
  });

  it('is rejected with every reason while its image is not the one that the profile names', async () => {
    const machine = machineOf(serving);
    await commissioned(machine);
    site.write('coldiron.yaml', site.read('coldiron.yaml').replaceAll(IMAGE_SHA256, 'f'.repeat(64)));
    await serving.end('SIGTERM');
    serving = await new ServingProcess(site.path).up();
    const run = site.run('deploy', 'node01', '--yes');
    expect(run.status).toBe(5);
    expect(run.stderr).toContain(`has sha256 ${IMAGE_SHA256}, but the profile says ${'f'.repeat(64)}`);
    expect(await node()).toMatchObject({ state: 'ready', intent: null });
    expect(site.run('deploy', 'node01').status).toBe(2);
  });
});
