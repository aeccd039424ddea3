// An attacker on the provisioning network who has the MAC address, the UUID and the serial number of a machine without a TPM.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeDhcp } from '../../appliance/codecs/dhcp4/encode.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { needPackages } from '../interop/packages.ts';
import { coldiron } from '../process/appliance.ts';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { FIRMWARE, packet } from '../servers/dhcp/rig.ts';
import { identityOf, TwinSite } from './twin-site.ts';
import type { Identity } from './wired-machine.ts';

const NODES = [1, 2, 3, 4, 5, 6].map(identityOf);
const [FIRST, DURING, OTHER_SERIAL, SECOND, UNARMED, OTHER_CARD] = NODES as [
  Identity,
  Identity,
  Identity,
  Identity,
  Identity,
  Identity,
];

const site = new TwinSite();
beforeAll(async () => {
  needPackages(['curl', 'iproute2', 'openssl']);
  await site.start(NODES);
});
afterAll(() => site.remove());

const act = (node: string, verb: string, body: object = {}) =>
  site.api.call('POST', `/api/v1/nodes/${node}/${verb}`, { body });
const stateOf = async (node: string) => (await site.node(node)).state;
const trailOf = (node: string) => coldiron(['trail', node, '--state', site.lab.state]).stdout;
const ticketIn = (script: string): string => FakeServiceOs.ticketIn(script) ?? '';

async function commissioned(identity: Identity): Promise<void> {
  await act(identity.node, 'commission');
  const machine = await site.machine('real', identity);
  expect(await machine.boot()).toMatchObject({ status: 201, json: { mode: 'commission' } });
  expect((await machine.facts()).status).toBe(204);
  expect((await machine.outcome(true)).status).toBe(200);
  expect(await site.node(identity.node)).toMatchObject({ state: 'ready', identity: { level: 'bound' } });
}

async function armed(identity: Identity): Promise<void> {
  await commissioned(identity);
  await act(identity.node, 'deploy', { confirm: identity.node });
}

describe('an attacker with the MAC address, UUID and serial number of a machine that is bound to them', () => {
  it('gets the secrets when it is first, and the node is quarantined when the real machine has booted', async () => {
    await armed(FIRST);
    const attacker = await site.machine('attacker', FIRST);
    expect(await attacker.boot()).toMatchObject({ status: 201, json: { mode: 'install', identity: 'bound' } });
    const { status, body: userData } = await attacker.file('user-data');
    expect(status).toBe(200);
    expect((await attacker.outcome(true)).status).toBe(200);
    const certificate = await attacker.enroll(userData);
    expect((await attacker.heartbeat(certificate, 'its boot')).status).toBe(200);
    expect(await stateOf(FIRST.node)).toBe('active');

    const real = await site.machine('real', FIRST);
    expect(await real.script()).not.toContain('coldiron.session=');

    const again = await site.machine('attacker', FIRST);
    await again.heartbeat(certificate, 'its boot');
    await expect.poll(() => stateOf(FIRST.node)).toBe('quarantined');
    expect(await again.heartbeat(certificate, 'its boot')).toMatchObject({
      json: { state: 'quarantined', tasks: 'no' },
    });
    expect(await site.events(FIRST.node, 'hardware.twin')).toHaveLength(1);
    expect(trailOf(FIRST.node)).toContain('Two machines use its identity: its machine booted from the network');
  });

  it('is noticed when the real machine boots while the attacker installs', async () => {
    await armed(DURING);
    const attacker = await site.machine('attacker', DURING);
    await attacker.boot();
    expect((await attacker.file('user-data')).status).toBe(200);

    const real = await site.machine('real', DURING);
    await real.script();
    await expect.poll(() => stateOf(DURING.node)).toBe('quarantined');
    expect(trailOf(DURING.node)).toMatch(/Two machines use its identity: .*another machine has its secrets/);

    const again = await site.machine('attacker', DURING);
    expect((await again.script()).includes('coldiron.session=')).toBe(false);
  });

  it('is quarantined with another serial number, and the reason says what differs', async () => {
    await armed(OTHER_SERIAL);
    const attacker = await site.machine('attacker', OTHER_SERIAL);
    const refused = await attacker.open(ticketIn(await attacker.script()), { serial: 'S-99' });
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain('serial number S-99 instead of S-3');
    expect(await site.node(OTHER_SERIAL.node)).toMatchObject({
      state: 'quarantined',
      note: expect.stringContaining('serial number S-99 instead of S-3'),
    });
    expect(await site.events(OTHER_SERIAL.node, 'session.opened')).toHaveLength(1);
    expect(trailOf(OTHER_SERIAL.node)).toContain('serial is S-99 instead of S-3');
  });

  it('is refused when it is second, and that is recorded', async () => {
    await armed(SECOND);
    const real = await site.machine('real', SECOND);
    // The script crosses the network in the clear: the attacker has read the ticket.
    const ticket = ticketIn(await real.script());
    expect((await real.open(ticket)).status).toBe(201);

    const attacker = await site.machine('attacker', SECOND);
    const refused = await attacker.open(ticket);
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain('the ticket was used already');
    expect(await site.events(SECOND.node, 'session.refused')).toMatchObject([
      { data: { reason: expect.stringContaining('used already'), address: SECOND.address } },
    ]);
    expect(await stateOf(SECOND.node)).toBe('deploying');
  });

  it('gets nothing before the machine is armed', async () => {
    await commissioned(UNARMED);
    const attacker = await site.machine('attacker', UNARMED);
    expect(await attacker.script()).not.toContain('coldiron.session=');
    expect((await attacker.open(`/boot/session/${'A'.repeat(43)}`)).status).toBe(404);
    expect((await attacker.file('user-data')).status).toBe(401);
    expect(await stateOf(UNARMED.node)).toBe('ready');
  });
});

describe('an attacker who claims the MAC address of a machine in DHCP, and uses its own card', () => {
  const CARD = '52:54:00:66:66:66';

  it('gets the address and neither a ticket nor, with the ticket of the machine, its session', async () => {
    await armed(OTHER_CARD);
    const attacker = await site.machine('attacker', OTHER_CARD, CARD);
    const wire = await site.lab.wire('attacker', 'c1');
    const claimed = mustParse(parseMac(OTHER_CARD.mac));
    const requested = mustParse(parseIpv4(OTHER_CARD.address));
    const server = mustParse(parseIpv4('10.88.0.1'));
    const request = packet('request', claimed, { xid: 4711, requested, server, options: FIRMWARE });
    const { packet: ack } = await wire.ask(encodeDhcp({ ...request, broadcast: true }, { maxBytes: 1472 }).bytes);
    expect(ack.yiaddr).toBe(OTHER_CARD.address);
    // The work of the machine is not used up.
    expect(await attacker.script()).not.toContain('coldiron.session=');
    expect(await site.events(OTHER_CARD.node, 'intent.consumed')).toEqual([]);
    expect(trailOf(OTHER_CARD.node)).toContain(`the card ${CARD} answers, which is not a card of ${OTHER_CARD.node}`);

    const real = await site.machine('real', OTHER_CARD);
    const ticket = ticketIn(await real.script());
    const again = await site.machine('attacker', OTHER_CARD, CARD);
    const refused = await again.open(ticket);
    expect(refused).toMatchObject({ status: 409 });
    expect(refused.body).toContain(`the card ${CARD} answers, which is not a card of ${OTHER_CARD.node}`);
    expect(await site.events(OTHER_CARD.node, 'session.refused')).toHaveLength(1);
    // Nor does it end the work of the machine.
    await again.script();
    const machine = await site.machine('real', OTHER_CARD);
    expect(await machine.open(ticket)).toMatchObject({ status: 201, json: { mode: 'install' } });
    expect(await stateOf(OTHER_CARD.node)).toBe('deploying');
  });
});
