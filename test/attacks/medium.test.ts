// Machines without a TPM get a one-time secret through their BMC. An attacker has their MAC address, UUID and serial number, sits on the
// provisioning network or next to the BMCs, and knows the URL of the medium.

import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../interop/packages.ts';
import { coldiron } from '../process/appliance.ts';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { type BmcIdentity, hashOfDigits, MediumSite, openWith, withBmc } from './medium-site.ts';
import type { Identity } from './wired-machine.ts';

const NODES = [1, 2, 3, 4, 5, 6].map(withBmc);
const [PROVED, BLIND, CLAIMS, URLS, RESTARTED, WRONG] = NODES as [
  BmcIdentity,
  BmcIdentity,
  BmcIdentity,
  BmcIdentity,
  BmcIdentity,
  BmcIdentity,
];

const site = new MediumSite(new Map([[CLAIMS, 'claims']]));
beforeAll(async () => {
  needPackages(['curl', 'genisoimage', 'iproute2', 'openssl', 'sqlite3']);
  await site.startWithBmcs(NODES);
});
afterAll(() => site.remove());

const act = (node: string, verb: string, body: object = {}) =>
  site.api.call('POST', `/api/v1/nodes/${node}/${verb}`, { body });
const stateOf = async (node: string) => (await site.node(node)).state;
const trailOf = (node: string) => coldiron(['trail', node, '--state', site.lab.state]).stdout;
const kindsOf = async (node: string) =>
  (
    await Promise.all(['medium.inserted', 'medium.unseen', 'medium.ejected'].map((kind) => site.events(node, kind)))
  ).map((events) => events.length);
const ticketIn = (script: string): string => FakeServiceOs.ticketIn(script) ?? '';

/** Returns the secret, which is worth nothing any more. */
async function commissioned(identity: Identity): Promise<string> {
  await act(identity.node, 'commission');
  const secret = await site.secret(identity);
  const machine = await site.machine('real', identity);
  expect(await openWith(machine, ticketIn(await machine.script()), secret)).toMatchObject({
    status: 201,
    json: { mode: 'commission', identity: 'media' },
  });
  await site.ejected(identity);
  expect((await machine.facts()).status).toBe(204);
  expect((await machine.outcome(true)).status).toBe(200);
  return secret;
}

describe('a machine that has shown the medium of its BMC', () => {
  it('is commissioned with its secret, and the medium is ejected as soon as its session is open', async () => {
    const secret = await commissioned(PROVED);
    expect(await site.node(PROVED.node)).toMatchObject({
      state: 'ready',
      identity: { level: 'media', summary: expect.stringContaining('to its BMC, whose medium it has shown') },
    });
    const trail = trailOf(PROVED.node);
    expect(trail).toContain(`BMC ${PROVED.bmcAddress} inserted the medium with the secret of this boot`);
    expect(trail).toContain(`BMC ${PROVED.bmcAddress} ejected the medium of this boot`);
    expect(trail).toContain('identity media');
    const stored = spawnSync('sqlite3', [`${site.lab.state}/coldiron.db`, '.dump'], { encoding: 'utf8' }).stdout;
    expect(stored).toContain('medium.inserted');
    for (const text of [trail, site.log, stored]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(hashOfDigits(secret));
      expect(text).not.toMatch(/\/boot\/medium\/[\w-]/);
    }
  });

  it('gets sealed secrets when it is deployed, with a secret that is new', async () => {
    await act(PROVED.node, 'deploy', { confirm: PROVED.node });
    const secret = await site.secret(PROVED);
    const real = await site.machine('real', PROVED);
    expect(await openWith(real, ticketIn(await real.script()), secret)).toMatchObject({
      json: { mode: 'install', identity: 'media' },
    });
    const { status, body } = await real.file('user-data');
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ name: 'user-data', data: expect.any(String), mac: expect.any(String) });
    expect(Buffer.from(JSON.parse(body).data, 'base64').toString('latin1')).toMatch(/^Salted__/);
    expect((await real.outcome(false, { reason: 'enough' })).status).toBe(200);
    await site.ejected(PROVED);
  });

  it('is not its twin: the attacker is first, gets nothing, and the node is quarantined at once', async () => {
    await act(PROVED.node, 'deploy', { confirm: PROVED.node });
    const secret = await site.secret(PROVED);
    const attacker = await site.machine('attacker', PROVED);
    const ticket = ticketIn(await attacker.script());
    const refused = await attacker.open(ticket, { media: null });
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain('medium of its BMC none, although its BMC has read it instead of shown');
    expect((await attacker.file('user-data')).status).toBe(401);
    expect(await site.node(PROVED.node)).toMatchObject({
      state: 'quarantined',
      note: expect.stringContaining('medium of its BMC none'),
    });
    await site.ejected(PROVED);
    // The secret of this boot is worth nothing any more.
    const real = await site.machine('real', PROVED);
    expect((await openWith(real, ticket, secret)).status).toBe(409);
    // The drive is broken, or the BMC was replaced: a person accepts that.
    await act(PROVED.node, 'rebind');
    expect(await site.node(PROVED.node)).toMatchObject({ identity: { level: 'bound' } });
    expect(await stateOf(PROVED.node)).not.toBe('quarantined');
  });
});

describe('a BMC that does not do what it says', () => {
  it('and whose machine does not see the medium leaves the machine usable, as bound, and the trail says so', async () => {
    for (const verb of ['commission', 'deploy']) {
      await act(BLIND.node, verb, verb === 'deploy' ? { confirm: BLIND.node } : {});
      await site.secret(BLIND);
      const machine = await site.machine('real', BLIND);
      const identity = verb === 'deploy' ? 'bound' : 'asserted';
      expect(await machine.boot()).toMatchObject({ status: 201, json: { identity } });
      await machine.facts();
      if (verb === 'commission') expect((await machine.outcome(true)).status).toBe(200);
      const counts = verb === 'commission' ? [1, 1, 1] : [2, 2, 1];
      await expect.poll(() => kindsOf(BLIND.node), { timeout: 30_000 }).toEqual(counts);
    }
    expect(trailOf(BLIND.node)).toContain('The BMC has read the medium of this boot, but the machine does not see it');
  });

  it('and claims to have inserted what it never read leaves the machine usable, as bound', async () => {
    await act(CLAIMS.node, 'commission');
    await expect.poll(() => site.events(CLAIMS.node, 'medium.inserted')).toHaveLength(1);
    const machine = await site.machine('real', CLAIMS);
    expect((await machine.boot()).status).toBe(201);
    expect(trailOf(CLAIMS.node)).toContain('never read from it');
    await act(CLAIMS.node, 'cancel');
    await site.ejected(CLAIMS);
  });
});

describe('the URL of a medium', () => {
  it('is worth nothing to another host, also next to the BMCs, and nothing to the BMC after the end', async () => {
    await act(URLS.node, 'commission');
    await site.secret(URLS);
    const url = site.url(URLS) ?? '';
    expect(url).toMatch(/^http:\/\/10\.89\.0\.1:8080\/boot\/medium\/[\w-]{43}\.iso$/);
    const ownAddress = ['--interface', URLS.bmcAddress];
    expect(await site.fetch('bmcs', url, ...ownAddress)).toBe(200);
    expect(await site.fetch('neighbour', url)).toBe(404);
    // Another BMC, which is trusted no more than any other host.
    expect(await site.fetch('bmcs', url, '--interface', PROVED.bmcAddress)).toBe(404);
    // The boot server serves the same path, on the provisioning network.
    await site.machine('attacker', URLS);
    expect(await site.fetch('attacker', url.replace('10.89.0.1', '10.88.0.1'))).toBe(404);
    const refusals = await site.events(URLS.node, 'medium.refused');
    const others = ['10.89.0.99', PROVED.bmcAddress, URLS.address];
    expect(refusals).toMatchObject(others.map((address) => ({ data: { address } })));
    expect(await site.fetch('bmcs', url.replace(/.\.iso$/, '_.iso'), ...ownAddress)).toBe(404);
    expect(await site.fetch('bmcs', url.replace('/medium/', '/ipxe/'), ...ownAddress)).toBe(404);

    await act(URLS.node, 'cancel');
    await site.ejected(URLS);
    // The listener at the address for BMCs may be closed already.
    expect([0, 404]).toContain(await site.fetch('bmcs', url, ...ownAddress));
    expect([0, 404]).toContain(await site.fetch('neighbour', url));
  });
});

describe('a medium', () => {
  it('of a killed appliance works with the next one, and is ejected by it', async () => {
    await act(RESTARTED.node, 'commission');
    const secret = await site.secret(RESTARTED);
    await expect.poll(() => site.events(RESTARTED.node, 'medium.inserted')).toHaveLength(1);
    await site.stopAppliance('SIGKILL');
    await site.startAppliance();
    const inDrive = await site.secret(RESTARTED);
    // The new process may have started the boot again, with a new medium.
    const digits = inDrive === secret ? secret : inDrive;
    const machine = await site.machine('real', RESTARTED);
    const opened = await openWith(machine, ticketIn(await machine.script()), digits);
    expect(opened, opened.body).toMatchObject({ status: 201, json: { identity: 'media' } });
    await site.ejected(RESTARTED);
    // Its secret is used: a second session of the same boot is somebody else's.
    const attacker = await site.machine('attacker', RESTARTED);
    const refused = await attacker.open(ticketIn(await attacker.script()), { media: null });
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain('has opened a session before');
  });

  it('of another boot is refused with the reason, and the machine is not quarantined', async () => {
    await act(WRONG.node, 'commission');
    const secret = await site.secret(WRONG);
    const machine = await site.machine('real', WRONG);
    const ticket = ticketIn(await machine.script());
    const refused = await openWith(machine, ticket, 'ab'.repeat(32));
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain('remove the medium with the label COLDIRON');
    expect(await stateOf(WRONG.node)).toBe('commissioning');
    expect((await openWith(machine, ticket, secret)).status).toBe(201);
  });
});
