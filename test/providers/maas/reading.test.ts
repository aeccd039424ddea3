// What the client makes of answers of MAAS, and what it makes of records: classes of failures.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { classifiedByMaas } from '../../../appliance/providers/maas/classify-maas.ts';
import type { StoredMaasEvent, StoredResult } from '../../../appliance/providers/maas/evidence.ts';
import { MaasApi } from '../../../appliance/providers/maas/maas-api.ts';
import { isSynced, readMachine, readTime, STATUS } from '../../../appliance/providers/maas/maas-machine.ts';
import { releaseInMaas } from '../../../appliance/providers/maas/maas-release.ts';
import { preparePxeInterface } from '../../../appliance/providers/maas/pxe-interface.ts';
import { ANSWERS } from './double/maas-double.ts';
import { S } from './double/machine.ts';
import { KEY, type MaasRig, openMaasRig } from './rig.ts';

const machine = (changes: object = {}) => readMachine({ system_id: 'abc', status: 4, ...changes });

describe('a machine of MAAS', () => {
  it('is read whatever its version leaves out', () => {
    expect(machine()).toMatchObject({ hostname: 'abc', owner: null, work: null, bootInterface: null, sync: null });
    expect(machine({ owner_data: { 'coldiron-work': 'w' } }).work).toBe('w');
    expect(machine({ sync_interval: 900, last_sync: '2026-01-01T00:00:00' }).sync).toEqual({
      interval: 900_000,
      last: Date.UTC(2026, 0, 1),
    });
    expect(machine({ sync_interval: 900, enable_hw_sync: false }).sync).toBeNull();
  });

  it.each([null, [], {}, { system_id: '../x', status: 4 }, { system_id: 'a', status: 'Ready' }])(
    'is not %j',
    (value) => {
      expect(() => readMachine(value)).toThrow('cannot be read');
    },
  );

  it('is synced for one and a half intervals', () => {
    expect([readTime('2026-01-01 00:00:00'), readTime('2026-01-01T01:00:00+01:00'), readTime('soon')]).toEqual([
      ...[Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1), null],
    ]);
    expect(isSynced({ interval: 100, last: 1000 }, 1150)).toBe(true);
    expect(isSynced({ interval: 100, last: 1000 }, 1151)).toBe(false);
    expect(isSynced({ interval: 100, last: null }, 0)).toBe(false);
  });
});

describe('the class of a failure', () => {
  const event = (type: string, description = '', level = 'INFO'): StoredMaasEvent => ({
    at: 0,
    event_id: 1,
    level,
    type,
    description,
  });
  const log = (failed: boolean, ...output: string[]): StoredResult => ({
    result_id: 1,
    set: 'installation',
    script: '/tmp/install.log',
    status: '',
    failed,
    output,
  });
  const failed = { status: STATUS.failedDeployment };
  const BOOTED = [event('Deploying'), event('Performing PXE boot'), event('Loading ephemeral')];

  it.each([
    ['bmc', failed, [event('Failed to power on node', 'timeout', 'ERROR')], []],
    [
      'datasource',
      failed,
      [...BOOTED, event('Rebooting'), event('Marking node failed', 'timed out', 'ERROR')],
      [log(false, 'curtin: Installation finished.')],
    ],
    ['disk', failed, BOOTED, [log(true, 'mkfs.ext4: Device or resource busy')]],
    ['network', failed, BOOTED, [log(true, 'urlopen error: Connection refused')]],
    ['image', failed, BOOTED, [log(true, 'unsquashfs: failed to read block')]],
    ['power', failed, [event('Deploying'), event('Marking node failed', '', 'ERROR')], []],
    ['network', failed, [event('Deploying'), event('Performing PXE boot')], []],
    ['disk', { status: STATUS.failedDiskErasing }, [], []],
    ['unknown', { status: STATUS.failedCommissioning }, BOOTED, []],
    // Of an earlier work: it explains nothing now.
    [
      'unknown',
      { status: STATUS.failedCommissioning },
      [event('Failed to power on node'), event('Commissioning'), event('Running test')],
      [],
    ],
    [
      'bmc',
      { status: STATUS.failedCommissioning },
      [event('Running test'), event("Failed to query node's BMC", 'x', 'WARNING')],
      [],
    ],
  ] as const)('is %s', (about, changes, events, results) => {
    expect(classifiedByMaas(machine(changes), { events, results })?.class).toBe(about);
  });

  it('is none while nothing failed', () => {
    expect(classifiedByMaas(machine({ status: 9 }), { events: BOOTED, results: [] })).toBeNull();
  });
});

describe('the client', () => {
  let rig: MaasRig;
  let api: MaasApi;
  beforeEach(async () => {
    rig = await openMaasRig();
    api = new MaasApi(rig.client);
  });
  afterEach(() => rig.close());

  it('signs each request anew, and MAAS accepts it', async () => {
    expect(await api.version()).toBe('3.6.2');
    expect(await api.whoami()).toEqual({ name: 'admin', admin: true });
    expect(await api.whoami()).toEqual({ name: 'admin', admin: true });
  });

  it.each([
    ['a cut connection', 'cut', /cannot be reached/],
    ['no answer', 'silence', /did not answer within/],
    ['a contended database', ANSWERS.contention, /too busy/],
    ['a missing rack', ANSWERS.noRack, /503.*rack/],
    ['a login page', ANSWERS.loginPage, /text\/html.* instead of JSON/],
    ['half an answer', ANSWERS.truncated, /JSON that cannot be read/],
    [
      'a redirect',
      { status: 301, type: 'text/html', body: '', headers: { location: 'https://maas:5443/' } },
      /redirects to https:\/\/maas:5443/,
    ],
    [
      'a refused key',
      { status: 401, type: 'text/plain', body: `expected &${KEY.secret}` },
      /rejects the API key \(401\)$/,
    ],
  ] as const)('says that MAAS is unavailable after %s', async (_what, answer, reason) => {
    rig.double.fault({ on: /whoami/, when: 'before', answer });
    await expect(api.whoami()).rejects.toMatchObject({
      name: 'MaasUnavailable',
      message: expect.stringMatching(reason),
    });
  });

  it('says what MAAS refuses: fields, a line of text, or nothing', async () => {
    const { systemId } = rig.double.add('node01', {
      status: S.BROKEN,
      power: { type: 'ipmi', parameters: {}, state: 'on' },
    });
    await expect(
      api.deploy(systemId, { userData: '', series: null, kernel: null, hardwareSync: false, work: 'w' }),
    ).rejects.toMatchObject({
      ...{ status: 409, message: "Can't deploy a machine that is in the 'Broken' state" },
    });
    rig.double.fault({ on: /commission/, when: 'before', answer: ANSWERS.emptyForbidden });
    await expect(api.commission(systemId, { enableSsh: true, skipBmcConfig: true })).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('locked'),
    });
    await expect(api.machine('nothing')).rejects.toMatchObject({ status: 404 });
  });

  it('reads events of several pages in the order of their ids', async () => {
    const one = rig.double.add('node01');
    for (let id = 1; id <= 700; id += 1) {
      rig.double.events.push({
        ...{ id, node: one.systemId, hostname: 'node01', level: 'INFO', type: 'x', description: '' },
        created: 0,
        visible: 0,
      });
    }
    const ids = (await api.events(one.systemId, 50)).map(({ id }) => id);
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([650, 51, 700]);
    expect(await api.lastEvent(one.systemId)).toBe(700);
  });

  it('links the card that it boots from once, also when it had two links', async () => {
    const one = rig.double.add('node01', { status: S.READY });
    const links = [
      { id: 1, mode: 'auto' as const, subnet: 1 },
      { id: 2, mode: 'auto' as const, subnet: 1 },
    ];
    one.interfaces = [{ id: 9, name: 'ens1', mac: '52:54:00:00:00:01', vlan: 5001, links }];
    expect(await preparePxeInterface(api, await api.machine(one.systemId), { strict: true })).toEqual([]);
    expect(one.interfaces[0]?.links).toMatchObject([{ mode: 'auto', subnet: 1 }]);
    const asked = rig.double.requests.length;
    expect(await preparePxeInterface(api, await api.machine(one.systemId), { strict: true })).toEqual([]);
    expect(rig.double.requests.slice(asked).filter((line) => line.startsWith('POST'))).toEqual([]);
  });

  it('releases without erasing only where that is allowed, also when the erasure never ends', async () => {
    const released = async (behaviour: 'fails' | 'stuck', withoutErase: boolean): Promise<string> => {
      const one = rig.double.add(`${behaviour}-${withoutErase}`, {
        status: S.DEPLOYED,
        commissioned: true,
        owner: 'admin',
        behaviour: { erasing: behaviour },
      });
      one.power.state = 'on';
      const since = rig.clock.now();
      for (let tries = 0; tries < 60; tries += 1) {
        const wanted = { erase: 'full', withoutErase, since, eraseMinutes: 10, comment: 'x' } as const;
        const result = await releaseInMaas(api, await api.machine(one.systemId), wanted, rig.clock.now());
        if (result.kind !== 'waiting') return result.kind === 'failed' ? result.reason : result.kind;
        await rig.clock.advance(60_000, async () => undefined);
      }
      return 'never';
    };
    expect(await released('fails', true)).toBe('ready');
    expect(await released('stuck', true)).toBe('ready');
    expect(await released('fails', false)).toMatch(/release_without_erase/);
    expect(await released('stuck', false)).toMatch(/more than 10 min/);
  });

  it('marks a broken machine as fixed before it is released', async () => {
    const one = rig.double.add('broken', { status: S.BROKEN, commissioned: true });
    const wanted = { erase: 'none', withoutErase: false, since: 0, eraseMinutes: 10, comment: 'x' } as const;
    expect(await releaseInMaas(api, await api.machine(one.systemId), wanted, 0)).toMatchObject({ kind: 'waiting' });
    expect([one.status, one.effects.mark_fixed]).toEqual([S.READY, 1]);
  });
});
