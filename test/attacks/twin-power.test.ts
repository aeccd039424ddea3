// An attacker who has become the node of a machine without a TPM, and reports a new boot whenever it likes. It cannot see the BMC
// network: the appliance switches the real machine off, and the attacker does not know when it must be silent.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Chassis, layOpenIpmi } from '../bmc/ipmi/openipmi.ts';
import { needPackages } from '../interop/packages.ts';
import { coldiron } from '../process/appliance.ts';
import { identityOf, TwinSite } from './twin-site.ts';
import type { Host, Identity } from './wired-machine.ts';

const site = new TwinSite();
const PASSWORDS = join(site.lab.folder, 'passwords');
const PASSWORD_FILE = join(PASSWORDS, 'bmc');
const bmcAddress = (number: number): string => `10.66.0.${number}`;
const withBmc = (number: number): Identity => ({
  ...identityOf(number),
  bmc: `{ address: ${bmcAddress(number)}, driver: ipmi, username: admin, password_file: ${PASSWORD_FILE} }`,
});
const [CYCLED, SWITCHED_OFF, HONEST] = [1, 2, 3].map(withBmc) as [Identity, Identity, Identity];

const chassis = new Map<Identity, Chassis>();

beforeAll(async () => {
  needPackages(['curl', 'iproute2', 'openssl', 'openipmi']);
  mkdirSync(PASSWORDS, { mode: 0o700 });
  const bmcs = [CYCLED, SWITCHED_OFF, HONEST].map((identity, index) => {
    const folder = join(site.lab.folder, `bmc-${identity.node}`);
    mkdirSync(folder);
    const bmc = layOpenIpmi(folder, { address: bmcAddress(index + 1), port: 623, serialPort: null });
    chassis.set(identity, bmc);
    writeFileSync(PASSWORD_FILE, `${bmc.login.password}\n`, { mode: 0o600 });
    return bmc;
  });
  const extra = `bmc: { password_folder: ${PASSWORDS} }\nenrollment: { heartbeat_seconds: 1 }\n`;
  await site.start([CYCLED, SWITCHED_OFF, HONEST], extra, (namespaces) => {
    for (const number of [1, 2, 3]) {
      namespaces.ip('server', 'address', 'add', `${bmcAddress(number)}/32`, 'dev', 'lo');
    }
    for (const { args } of bmcs) namespaces.start('server', 'ipmi_sim', ...args);
  });
});
afterAll(() => site.remove());

const act = (node: string, verb: string, body: object = {}) =>
  site.api.call('POST', `/api/v1/nodes/${node}/${verb}`, { body });
const stateOf = async (node: string) => (await site.node(node)).state;
const powerOf = (identity: Identity) => chassis.get(identity)?.chassis('power');

/** The node is active, on the host that got the secrets; the real machine is on. */
async function enrolledOn(host: Host, identity: Identity) {
  const { node } = identity;
  await act(node, 'commission');
  await expect.poll(() => powerOf(identity)).toBe('1');
  const real = await site.machine('real', identity);
  await real.boot();
  await real.facts();
  await real.outcome(true);
  await expect.poll(() => powerOf(identity)).toBe('0');
  await act(node, 'deploy', { confirm: node });
  await expect.poll(() => powerOf(identity)).toBe('1');
  const machine = await site.machine(host, identity);
  expect(await machine.boot()).toMatchObject({ status: 201, json: { mode: 'install', identity: 'bound' } });
  const { body: userData } = await machine.file('user-data');
  await machine.outcome(true);
  const certificate = await machine.enroll(userData);
  let boots = 0;
  const report = (isNewBoot: boolean) => {
    boots += isNewBoot ? 1 : 0;
    return machine.heartbeat(certificate, `boot ${boots}`);
  };
  await report(true);
  expect(await stateOf(node)).toBe('active');
  return report;
}

const power = (node: string, action: string) => act(node, 'power', { action });

describe('an attacker who is the node, and imitates boots of the machine', () => {
  it('is quarantined at the next boot that the appliance starts', { timeout: 120_000 }, async () => {
    const { node } = CYCLED;
    const report = await enrolledOn('attacker', CYCLED);
    let isOver = false;
    const cycled = power(node, 'cycle').finally(() => {
      isOver = true;
    });
    // Each report is one of a machine that has just booted.
    const reporting = async () => {
      while (!isOver) await report(true);
    };
    await Promise.all([cycled, reporting()]);
    expect(await cycled).toMatchObject({ power: 'on' });
    expect(await site.node(node)).toMatchObject({
      state: 'quarantined',
      note: expect.stringMatching(
        /the appliance switched its machine off.* a request with its credentials came at .* still read off/,
      ),
    });
    expect(await site.events(node, 'hardware.twin')).toHaveLength(1);
    expect(coldiron(['trail', node, '--state', site.lab.state]).stdout).toContain(
      'Two machines use its identity: the appliance switched its machine off',
    );
    expect(await report(true)).toMatchObject({ json: { state: 'quarantined', tasks: 'no' } });
  });

  it('is quarantined when the machine is switched off', { timeout: 120_000 }, async () => {
    const { node } = SWITCHED_OFF;
    const report = await enrolledOn('attacker', SWITCHED_OFF);
    expect(await power(node, 'off')).toMatchObject({ power: 'off' });
    await expect
      .poll(async () => [(await report(true)).status, await stateOf(node)], { timeout: 60_000 })
      .toEqual([200, 'quarantined']);
    expect(await site.events(node, 'hardware.twin')).toHaveLength(1);
  });
});

describe('the machine itself', () => {
  it('is not quarantined when the appliance switches it off and on', { timeout: 120_000 }, async () => {
    const { node } = HONEST;
    const report = await enrolledOn('real', HONEST);
    await report(false);
    // It is off, so it reports nothing.
    expect(await power(node, 'cycle')).toMatchObject({ power: 'on' });
    await report(true);
    await power(node, 'off');
    await power(node, 'on');
    await report(true);
    await report(false);
    expect(await stateOf(node)).toBe('active');
    expect(await site.events(node, 'hardware.twin')).toEqual([]);
  });
});
