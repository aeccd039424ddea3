// An attacker on the provisioning network who has the MAC address, the UUID and the serial number of a machine with a TPM, and another
// TPM. The profile requires the TPM of the machine. Real TPMs (swtpm), opened by tpm2-tools.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operate } from '../../appliance/cli/operate.ts';
import { ekFingerprint } from '../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../appliance/codecs/tpm/tpm-public.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { TpmVendor } from '../../appliance/lab/rack/tpm-vendor.ts';
import { needPackages } from '../interop/packages.ts';
import { SoftwareTpm, TPM_PACKAGES } from '../interop/tpm/software-tpm.ts';
import { coldiron } from '../process/appliance.ts';
import { FakeServiceOs } from '../provisioning/sessions/fake-service-os.ts';
import { MachineTpm } from './tpm-machine.ts';
import { identityOf, TwinSite } from './twin-site.ts';
import type { Identity } from './wired-machine.ts';

const site = new TwinSite();
const switchedOn: SoftwareTpm[] = [];
let own: MachineTpm;
let foreign: MachineTpm;
/** Another TPM of the vendor that the site trusts; only its certificate is known to the attacker. */
let genuine: MachineTpm;
const nodes: Identity[] = [];

const fingerprint = (ek: { readonly public: string }): string =>
  ekFingerprint(mustParse(parseTpmPublic(Buffer.from(ek.public, 'base64'))));

beforeAll(async () => {
  needPackages(['curl', 'iproute2', 'openssl', ...TPM_PACKAGES]);
  const { folder } = site.lab;
  const vendor = new TpmVendor(join(folder, 'vendor'));
  const made = async (name: string, by: TpmVendor): Promise<MachineTpm> => {
    const tpm = await SoftwareTpm.start(join(folder, name), by);
    switchedOn.push(tpm);
    return new MachineTpm(tpm);
  };
  own = await made('own', vendor);
  genuine = await made('genuine', vendor);
  foreign = await made('foreign', new TpmVendor(join(folder, 'other-vendor')));
  for (const number of [1, 2, 3, 4, 5, 6, 7]) {
    nodes.push({ ...identityOf(number), profile: 'sealed', tpm: [fingerprint(own.eks[1])] });
  }
  for (const number of [8, 9]) nodes.push({ ...identityOf(number), profile: 'sealed' });
  await site.start(nodes, `tpm: { vendor_authorities: ${vendor.certificates} }\n`);
}, 300_000);
afterAll(async () => {
  for (const tpm of switchedOn) await tpm.stop();
  await site.remove();
});

const act = (node: string, verb: string, body: object = {}) =>
  site.api.call('POST', `/api/v1/nodes/${node}/${verb}`, { body });
const stateOf = async (node: string) => (await site.node(node)).state;
const ticketIn = (script: string): string => FakeServiceOs.ticketIn(script) ?? '';
const TOKEN = /ce_[0-9a-f]{12}_[\w-]{43}/;
const filesTaken = async ({ node }: Identity) =>
  (await operate(site.api, 'listAuditEntries', { query: { limit: '1000' } })).entries.filter(
    ({ action, target }) => action === 'session.file' && target === `node:${node}`,
  );
const real = (identity: Identity) => site.tpmMachine('real', identity, own);
const attacker = (identity: Identity) => site.tpmMachine('attacker', identity, foreign);

const nodeAt = (index: number): Identity => {
  const identity = nodes[index];
  if (!identity) throw new Error('there is such a node');
  return identity;
};

async function commissioned(identity: Identity): Promise<void> {
  await act(identity.node, 'commission');
  const machine = await real(identity);
  expect(await machine.boot()).toMatchObject({ status: 201, isUsable: true });
  await machine.facts();
  await machine.outcome(true);
  expect(await site.node(identity.node)).toMatchObject({ state: 'ready', identity: { level: 'tpm' } });
}

async function armed(index: number): Promise<Identity> {
  const identity = nodeAt(index);
  await commissioned(identity);
  await act(identity.node, 'deploy', { confirm: identity.node });
  return identity;
}

describe('an attacker with everything of a machine but its TPM', () => {
  it('gets nothing when it is first, and the node is quarantined', async () => {
    const identity = await armed(0);
    const twin = await attacker(identity);
    const refused = await twin.open(ticketIn(await twin.script()));
    expect(refused).toMatchObject({ status: 409, isUsable: false, ek: null });
    expect((await twin.file('user-data')).status).toBe(401);
    expect(await site.node(identity.node)).toMatchObject({
      state: 'quarantined',
      note: expect.stringMatching(/TPM [0-9a-f]{16}….* instead of [0-9a-f]{16}…/),
    });
    expect(coldiron(['trail', identity.node, '--state', site.lab.state]).stdout).toContain('changed hardware');
  });

  it.each([
    ['shows the endorsement keys of the machine', 1, () => own.eks],
    ['shows its own key before one of the machine', 2, () => [foreign.eks[0], own.eks[1]]],
  ] as const)('gets a key that it cannot open when it %s', async (_how, index, eks) => {
    const identity = await armed(index);
    const twin = await attacker(identity);
    const opened = await twin.open(ticketIn(await twin.script()), {}, eks());
    expect(opened).toMatchObject({ status: 201, isUsable: false });
    expect(own.eks.map(fingerprint)).toContain(opened.ek);
    expect((await twin.file('user-data')).status).toBe(401);
    // The machine boots later: its work was used up, which is a failure, and nothing leaked.
    const machine = await real(identity);
    await machine.script();
    await expect.poll(() => stateOf(identity.node)).toBe('failed');
    expect(await site.events(identity.node, 'hardware.twin')).toEqual([]);
    expect(await filesTaken(identity)).toEqual([]);
  });

  it('is refused when it is second, and cannot read what the machine was sent', async () => {
    const identity = await armed(3);
    const machine = await real(identity);
    const ticket = ticketIn(await machine.script());
    const reply = await machine.open(ticket);
    expect(reply).toMatchObject({ status: 201, isUsable: true, json: { identity: 'tpm' } });
    const { body: sealed } = await machine.file('user-data');
    expect(sealed).not.toMatch(TOKEN);
    expect(machine.unsealed('user-data', sealed)).toMatch(TOKEN);

    const twin = await attacker(identity);
    const refused = await twin.open(ticket, {}, own.eks);
    expect(refused).toMatchObject({ status: 409, isUsable: false });
    expect(refused.body).toContain('the ticket was used already');
    expect((await twin.file('user-data')).status).toBe(401);
    // With everything that was sent, also what TLS hides.
    const { file } = (reply.json as { credential: { file: string } }).credential;
    expect(foreign.open(file)).toBeNull();
    expect(await stateOf(identity.node)).toBe('deploying');
    const again = await real(identity);
    again.holdKey(machine.key ?? '');
    expect((await again.outcome(true)).status).toBe(200);
    expect(await stateOf(identity.node)).toBe('enrolling');
  });

  it('can only make the work fail when it comes during the installation', async () => {
    const identity = await armed(4);
    const machine = await real(identity);
    await machine.boot();
    expect(machine.unsealed('user-data', (await machine.file('user-data')).body)).toMatch(TOKEN);

    const twin = await attacker(identity);
    expect(await twin.script()).not.toContain('coldiron.session=');
    await expect.poll(() => stateOf(identity.node)).toBe('failed');
    expect((await twin.file('user-data')).status).toBe(401);
    expect(await filesTaken(identity)).toHaveLength(1);
  });

  it('gets nothing before the machine is armed', async () => {
    const identity = nodeAt(5);
    await commissioned(identity);
    const twin = await attacker(identity);
    expect(await twin.script()).not.toContain('coldiron.session=');
    expect((await twin.open(`/boot/session/${'A'.repeat(43)}`, {}, own.eks)).status).toBe(404);
    expect(await stateOf(identity.node)).toBe('ready');
  });

  it('gets nothing after the machine was installed, and is noticed', async () => {
    const identity = await armed(6);
    const machine = await real(identity);
    await machine.boot();
    const userData = machine.unsealed('user-data', (await machine.file('user-data')).body);
    await machine.outcome(true);
    const certificate = await machine.enroll(userData ?? '');
    expect((await machine.heartbeat(certificate, 'its boot')).status).toBe(200);
    expect(await stateOf(identity.node)).toBe('active');

    const twin = await attacker(identity);
    expect(await twin.script()).not.toContain('coldiron.session=');
    const again = await real(identity);
    await again.heartbeat(certificate, 'its boot');
    expect(await stateOf(identity.node)).toBe('quarantined');
    expect(await site.events(identity.node, 'hardware.twin')).toHaveLength(1);
  });
});

describe('an attacker with the certificate of a TPM that it does not have', () => {
  it('cannot commission itself as a machine whose TPM the vendor has signed', async () => {
    const identity = nodeAt(7);
    await act(identity.node, 'commission');
    const twin = await attacker(identity);
    // Its own key first, then the certified one: the key of the session must be for the certified one.
    const opened = await twin.open(ticketIn(await twin.script()), {}, [foreign.eks[0], genuine.eks[1]]);
    expect(opened).toMatchObject({ status: 201, isUsable: false, ek: fingerprint(genuine.eks[1]) });
    expect((await twin.facts()).status).toBe(401);
    expect(await stateOf(identity.node)).toBe('commissioning');
  });

  it('gains nothing with a malformed one: it vouches for nothing, and is no reason to refuse the TPM', async () => {
    const identity = nodeAt(8);
    const [ecc, rsa] = own.eks;
    const certificate = Buffer.from(rsa.certificate ?? '', 'base64');
    const commission = async (given: Buffer): Promise<void> => {
      await act(identity.node, 'commission');
      const machine = await real(identity);
      const eks = [ecc, { ...rsa, certificate: given.toString('base64') }];
      expect(await machine.open(ticketIn(await machine.script()), {}, eks)).toMatchObject({ isUsable: true });
      await machine.facts();
      await machine.outcome(true);
    };
    for (const malformed of [certificate.subarray(0, -1), Buffer.concat([Buffer.of(0x31), certificate.subarray(1)])]) {
      await commission(malformed);
      expect(await site.node(identity.node)).toMatchObject({ state: 'ready', identity: { level: 'bound' } });
      await expect(act(identity.node, 'deploy', { confirm: identity.node })).rejects.toMatchObject({
        details: [expect.stringContaining('nobody has accepted its TPM')],
      });
    }
    await commission(certificate);
    expect(await site.node(identity.node)).toMatchObject({ state: 'ready', identity: { level: 'tpm' } });
  });
});
