// Failures of Redfish services, and their messages.

import { describe, expect, it } from 'vitest';
import { redfishBmc } from '../../../appliance/bmc/redfish/redfish-bmc.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN } from './mock/machine.ts';
import { answer, refusal } from './mock/mock-answers.ts';
import { VENDORS } from './mock/vendors.ts';
import { fastDeps, rig, shortTimeoutDeps, startMock, targetOf } from './rig.ts';

const { idrac, ilo, openbmc, megarac, supermicro, xcc } = VENDORS;
const NETWORK_ONCE = { device: 'network', persistent: false, firmware: 'efi' } as const;

const logins = (requests: readonly string[]): number => requests.filter((one) => /^POST .*Sessions$/.test(one)).length;

describe('logging in', () => {
  it('tries a wrong password once, and does not reveal it', async () => {
    const mock = await startMock(idrac);
    const bmc = redfishBmc(targetOf(mock, { name: 'root', password: 'Wrong-Horse-9' }), {}, fastDeps());
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'authentication',
      retryable: false,
      message: expect.stringMatching(/^BMC 127\.0\.0\.1:\d+: the BMC rejects the login of "root": .*HTTP 401/),
    });
    expect(logins(mock.service.received)).toBe(1);
  });

  it('logs in again, once, after the session expired, and makes the change', async () => {
    const { bmc, service } = await rig(idrac);
    await bmc.powerState();
    service.forgetSessions();
    await bmc.setBoot(NETWORK_ONCE);
    expect(service.machine.boot.target).toBe('Pxe');
    expect(logins(service.received)).toBe(2);
  });

  it('fails on a BMC that drops every session at once', async () => {
    const { bmc, service } = await rig(idrac);
    service.intercept = ({ path }) => (path.includes('/Systems') ? refusal(401, 'Base.1.8.NoValidSession') : null);
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'authentication', retryable: false });
    expect(logins(service.received)).toBe(2);
  });

  it('does not retry when the password was changed elsewhere', async () => {
    const { bmc, service } = await rig(idrac);
    await bmc.powerState();
    service.forgetSessions();
    for (const user of service.machine.users) user.password = 'Unknown-To-Us-1';
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'authentication' });
    expect(logins(service.received)).toBe(2);
  });

  it.each([404, 405, 501])('uses basic authentication when a login is answered with %i', async (status) => {
    const { bmc, service } = await rig(openbmc);
    service.intercept = ({ method, path }) => (method === 'POST' && path.endsWith('/Sessions') ? answer(status) : null);
    expect(await bmc.powerState()).toBe('off');
    await bmc.powerOn();
    expect(service.machine.power).toBe('On');
    expect(service.sessions.size).toBe(0);
  });

  it('uses basic authentication when no sessions are offered, and tries a wrong password once', async () => {
    const mock = await startMock(openbmc);
    mock.service.intercept = ({ path }) =>
      path === '/redfish/v1/' ? answer(200, { Systems: { '@odata.id': '/redfish/v1/Systems' } }) : null;
    const right = redfishBmc(targetOf(mock), {}, fastDeps());
    expect(await right.powerState()).toBe('off');
    await right.close();
    const before = mock.service.received.length;
    const wrong = redfishBmc(targetOf(mock, { name: 'root', password: 'x' }), {}, fastDeps());
    await expect(wrong.powerState()).rejects.toMatchObject({ failure: 'authentication' });
    expect(mock.service.received.slice(before)).toEqual(['GET /redfish/v1/', 'GET /redfish/v1/Systems']);
  });

  it('closes an idle session, and opens a new one when needed', async () => {
    const { bmc, service } = await rig(supermicro, {}, shortTimeoutDeps());
    await bmc.powerState();
    await expect.poll(() => service.sessions.size).toBe(0);
    expect(await bmc.powerState()).toBe('off');
    expect(logins(service.received)).toBe(2);
  });

  it('closes the session also when the verb failed', async () => {
    const { bmc, service } = await rig(supermicro);
    service.faults.bootIgnored = true;
    await expect(bmc.setBoot(NETWORK_ONCE)).rejects.toThrow();
    await bmc.close();
    expect(service.sessions.size).toBe(0);
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'closed' });
  });

  it('changes a password when the BMC requires it first', async () => {
    const { bmc, service } = await rig(openbmc);
    for (const user of service.machine.users) user.mustChangePassword = true;
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'privilege',
      message: expect.stringContaining('PasswordChangeRequired'),
    });
    await bmc.setOwnPassword(new Secret('Another-Horse-8'));
    expect(service.machine.users[1]).toMatchObject({ password: 'Another-Horse-8', mustChangePassword: false });
    expect(service.machine.users[0]).toMatchObject({ password: 'Guest-Word-1', mustChangePassword: true });
  });
});

describe('a temporary refusal', () => {
  it('is retried while the BMC starts', async () => {
    const { bmc, service } = await rig(idrac);
    service.faults.unavailable = 4;
    expect(await bmc.powerState()).toBe('off');
  });

  it('is a retryable error when it does not end', async () => {
    const { bmc, service } = await rig(idrac);
    service.faults.unavailable = Number.POSITIVE_INFINITY;
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'refused',
      retryable: true,
      message: expect.stringContaining('GET /redfish/v1/: no reason given (HTTP 503)'),
    });
  });

  it.each([
    ['iDRAC that is not ready', idrac, 500, 'IDRAC.2.8.SYS518'],
    ['iLO in the self-test', ilo, 400, 'iLO.2.14.UnableToModifyDuringSystemPOST'],
  ])('is retried with an %s', async (_, vendor, status, messageId) => {
    const { bmc, service } = await rig(vendor);
    service.faults.notNow = { status, messageId, times: 3 };
    await bmc.setBoot(NETWORK_ONCE);
    expect(service.machine.boot.target).toBe('Pxe');
  });

  it('right after a power-off does not stop a power-on', async () => {
    const { bmc, service } = await rig(idrac);
    service.faults.notNow = { status: 409, messageId: 'Base.1.12.ActionParameterValueConflict', times: 3 };
    await bmc.powerOn();
    expect(service.machine.resets).toEqual(['On']);
  });

  it('that does not end is reported with the message of the BMC', async () => {
    const { bmc, service } = await rig(ilo);
    service.faults.notNow = { status: 400, messageId: 'iLO.2.14.InvalidOperationForSystemState', times: 1000 };
    await expect(bmc.powerOn()).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('words for iLO.2.14.InvalidOperationForSystemState'),
    });
    expect(service.machine.resets).toEqual([]);
  });
});

describe('a BMC that contradicts itself', () => {
  it('accepts power and does nothing', async () => {
    const { bmc, service } = await rig(supermicro);
    service.faults.powerIgnored = true;
    await expect(bmc.powerOn()).rejects.toMatchObject({
      failure: 'contradiction',
      message: expect.stringContaining('the BMC accepted power on, but after 90 s the machine is not on'),
    });
    expect(service.machine.resets).toEqual(['On']);
  });

  it('accepts an override and stores none', async () => {
    const { bmc, service } = await rig(supermicro);
    service.faults.bootIgnored = true;
    await expect(bmc.setBoot(NETWORK_ONCE)).rejects.toMatchObject({
      failure: 'contradiction',
      message: expect.stringContaining('the BMC accepted boot from Pxe (Once), but reads back None (Disabled)'),
    });
  });

  it('shows the old override for a while without an error', async () => {
    const { bmc, service } = await rig(supermicro);
    service.faults.bootTakes = 3;
    expect(await bmc.setBoot(NETWORK_ONCE)).toEqual({ device: 'network', differences: [] });
  });

  it.each([
    ['light', 'lightIgnored', (bmc) => bmc.identify('on'), 'the light is not on'],
    ['log', 'logKept', (bmc) => bmc.clearEventLog(), 'it still contains old entries'],
    [
      'virtual drive',
      'mediaIgnored',
      (bmc) => bmc.insertMedia('http://192.0.2.1/a.iso', () => true),
      'shows an empty drive',
    ],
  ] satisfies [string, string, (bmc: Awaited<ReturnType<typeof rig>>['bmc']) => Promise<unknown>, string][])(
    'accepts a change of the %s and makes none',
    async (_, fault, verb, words) => {
      const { bmc, service } = await rig(idrac);
      Object.assign(service.faults, { [fault]: true });
      await expect(verb(bmc)).rejects.toMatchObject({
        failure: 'contradiction',
        message: expect.stringContaining(words),
      });
    },
  );

  it('reports success, with a message at the property that nothing was changed', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ method, path }) =>
      method === 'PATCH' && path.includes('/Accounts/')
        ? answer(200, {
            'Password@Message.ExtendedInfo': [
              { MessageId: 'Base.1.8.PropertyValueError', Message: 'too weak', MessageSeverity: 'Warning' },
            ],
          })
        : null;
    await expect(bmc.setOwnPassword(new Secret('Another-Horse-8'))).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('the BMC rejects the new password: PATCH'),
    });
  });
});

describe('tasks', () => {
  it.each([megarac, xcc])('of $name are polled until they end', async (vendor) => {
    const { bmc, service } = await rig(vendor);
    service.faults.taskTakes = 5;
    await bmc.powerOn();
    expect(service.machine.power).toBe('On');
    expect(service.received.filter((one) => one.includes('/Tasks/'))).toHaveLength(5);
  });

  it('that are missing count as complete', async () => {
    const { bmc, service } = await rig(megarac);
    service.machine.power = 'On';
    service.intercept = ({ path }) => (path.includes('/Tasks/') ? answer(404) : null);
    await bmc.powerReset();
    expect(service.machine.startedFrom).toHaveLength(1);
  });

  it('that failed report the reason', async () => {
    const { bmc, service } = await rig(megarac);
    Object.assign(service.faults, { taskFails: true, powerIgnored: true });
    await expect(bmc.powerOn()).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('the task ended as Exception: the relay is stuck'),
    });
  });

  it('that do not end are an error, unless the target state is reached', async () => {
    const { bmc, service } = await rig(megarac);
    service.faults.taskTakes = Number.POSITIVE_INFINITY;
    await bmc.powerOn();
    await expect(bmc.powerReset()).rejects.toMatchObject({
      failure: 'contradiction',
      message: expect.stringContaining('the BMC started a task, and after 180 s its state is Running'),
    });
  });
});

describe('refusals', () => {
  it('contain the message of the BMC', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ method }) =>
      method === 'PATCH' ? refusal(403, 'SMC.1.0.OemLicenseNotPassed', 'Not licensed to perform this request.') : null;
    await expect(bmc.setBoot(NETWORK_ONCE)).rejects.toMatchObject({
      failure: 'unsupported',
      message: expect.stringMatching(
        /PATCH \/redfish\/v1\/Systems\/1: Not licensed .* \(HTTP 403 OemLicenseNotPassed\)/,
      ),
    });
  });

  it('of a password do not repeat it', async () => {
    const { bmc } = await rig(supermicro);
    const refused = bmc.setOwnPassword(new Secret('no-digits-here'));
    await expect(refused).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('The value [secret] for the property Password'),
    });
    await expect(refused).rejects.not.toThrow('no-digits-here');
  });

  it('do not contain our token or password', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ path, headers }) =>
      path.includes('/Systems')
        ? refusal(400, 'Base.1.8.GeneralError', `you sent ${headers['x-auth-token']}, ${ADMIN.password}`)
        : null;
    await expect(bmc.powerState()).rejects.toThrow('you sent [secret], [secret]');
  });

  it.each([
    ['short', 'A-1', 'requires at least 8 characters in a password, and the new one has 3'],
    ['long', 'A-1'.repeat(8), 'allows at most 20 characters in a password, and the new one has 24'],
  ])('of a password that is too %s happen before it is sent', async (_, password, words) => {
    const { bmc, service } = await rig(supermicro);
    await expect(bmc.setOwnPassword(new Secret(password))).rejects.toThrow(words);
    expect(service.written).toEqual([]);
  });

  it('name a user without an account at the BMC', async () => {
    const { bmc, service } = await rig(supermicro);
    service.intercept = ({ method, path }) =>
      method === 'GET' && path.endsWith('/Accounts') ? answer(200, { Members: [] }) : null;
    await expect(bmc.setOwnPassword(new Secret('Another-Horse-8'))).rejects.toThrow('no account root');
  });

  it.each(['ftp://192.0.2.1/a.iso', 'a.iso', 'http://me:secret-word@192.0.2.1/a.iso'])(
    'of the image %s happen before any request',
    async (image) => {
      const { bmc, service } = await rig(supermicro);
      const inserting = bmc.insertMedia(image, () => true);
      await expect(inserting).rejects.toMatchObject({ failure: 'refused' });
      await expect(inserting).rejects.not.toThrow('secret-word');
      expect(service.received).toEqual([]);
    },
  );

  it('of a console name the alternative', async () => {
    const { bmc } = await rig(supermicro);
    await expect(bmc.openConsole({ steal: false })).rejects.toMatchObject({
      failure: 'unsupported',
      message: expect.stringContaining('IPMI Serial over LAN'),
    });
  });

  it('include legacy HTTP boot', async () => {
    const { bmc } = await rig(supermicro);
    const setting = bmc.setBoot({ device: 'http', persistent: false, firmware: 'legacy' });
    await expect(setting).rejects.toMatchObject({ failure: 'unsupported' });
  });
});

describe('several machines behind one BMC', () => {
  const further = [
    { Id: 'node-b', SerialNumber: 'SER-B', UUID: '11111111-2222-3333-4444-555555555555' },
    { Id: 'node-c', Name: 'System' },
  ];

  it('are listed when none is selected', async () => {
    const { bmc, service } = await rig(supermicro);
    service.furtherSystems.push(...further);
    await expect(bmc.powerOn()).rejects.toMatchObject({
      failure: 'refused',
      message: expect.stringContaining(
        'none is selected; available are: 1 (serial S411756X2B, UUID 4c4c4544-0042-3510-8052-b4c04f565931); ' +
          'node-b (serial SER-B, UUID 11111111-2222-3333-4444-555555555555); node-c',
      ),
    });
    expect(service.machine.resets).toEqual([]);
  });

  it.each(['1', 's411756x2b', '4C4C4544-0042-3510-8052-B4C04F565931', '52-54-00-12-34-56'])(
    'are selected by %s',
    async (system) => {
      const { bmc, service } = await rig(supermicro, { system });
      service.furtherSystems.push(...further);
      await bmc.powerOn();
      expect(service.machine.power).toBe('On');
    },
  );

  it.each(['node-d', 'System', '52:54:00:99:99:99'])('are not guessed from %s', async (system) => {
    const { bmc, service } = await rig(supermicro, { system });
    service.furtherSystems.push(...further);
    await expect(bmc.powerOn()).rejects.toThrow(`named ${system}; available are: 1`);
    expect(service.machine.resets).toEqual([]);
  });
});
