// What nodes report about their systems, over real sockets: after the enrollment with their certificate, before it with their token.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { reportedBy } from '../../../appliance/identity/heartbeats.ts';
import { needPackages } from '../../interop/packages.ts';
import { NodeApiSite, run } from './node-api-site.ts';

let site: NodeApiSite;
beforeAll(async () => {
  needPackages(['curl', 'openssl']);
  site = await NodeApiSite.open();
});
afterAll(() => site.end());

const notedSince = (before: number, kind: string) =>
  site.notes.slice(before).filter((note) => note.kind === kind && note.machine !== null);

describe('the system of an enrolled node', () => {
  it('is kept and noted when it changes, until the next boot', async () => {
    const machine = await site.machine(1);
    const node = await site.node(machine);
    const heartbeat = (boot: string) => node.call('/node/v1/heartbeat', { form: { agent: 'curl', boot_id: boot } });
    const report = (units: string, end = '') =>
      node.call('/node/v1/system', { form: { units, cloud_init: end } }).then(({ status }) => status);
    const kept = () => reportedBy(site.enrollment.heartbeats.lastOf(machine.id)?.report ?? null).system;
    await heartbeat('first');
    const before = site.notes.length;

    expect(await report('unit data.mount exit-code\nline no such device\n')).toBe(200);
    expect(await report('unit data.mount exit-code\nline no such device\n')).toBe(200);
    expect(notedSince(before, 'node-api.system-degraded').map(({ data }) => data)).toEqual([
      {
        units: [{ unit: 'data.mount', result: 'exit-code', lines: ['no such device'] }],
        more_units: 0,
        cloud_init: null,
      },
    ]);
    await heartbeat('first');
    expect(kept()?.units[0]?.unit).toBe('data.mount');

    await site.stop();
    await site.start();
    expect(kept()?.units[0]?.unit).toBe('data.mount');

    expect(await report('', '{"status":"done","errors":[]}')).toBe(200);
    expect(notedSince(before, 'node-api.system-healthy').map(({ data }) => data)).toEqual([{ cloud_init: 'done' }]);
    await heartbeat('second');
    expect(kept()).toBeNull();
  });

  it('is not taken without a certificate, nor in another shape', async () => {
    const node = await site.node(await site.machine(2));
    const form = { units: '', cloud_init: '' };
    expect(await node.call('/node/v1/system', { form, as: null })).toMatchObject({ status: 401 });
    expect(await node.call('/node/v1/system', { form: { ...form, other: 'x' } })).toMatchObject({ status: 400 });
    expect(await node.call('/node/v1/system', { form: { ...form, units: 'x'.repeat(33_000) } })).toMatchObject({
      status: 400,
    });
  });
});

describe('the clock of a node', () => {
  it('is measured at each heartbeat that states it', async () => {
    const machine = await site.machine(3);
    const node = await site.node(machine);
    const offset = () => reportedBy(site.enrollment.heartbeats.lastOf(machine.id)?.report ?? null).clockOffset;
    const at = (seconds: number) => ({ form: { clock: String(Math.floor(site.now() / SECOND) + seconds) } });
    await node.call('/node/v1/heartbeat', at(95));
    expect(Math.round((offset() ?? 0) / (10 * SECOND)) * 10).toBeOneOf([90, 100]);
    await node.heartbeat();
    expect(offset()).toBeNull();
  });
});

describe('a first boot that fails before the enrollment', () => {
  const form = (over: Record<string, string>) => ({
    ...{ part: 'site-bootstrap/baseline-7', outcome: 'failed', exit: '3' },
    ...{ output: 'one\npassword=hunter2\nno such package\n', ...over },
  });

  it('is noted for the machine of the token, once a minute, and leaves the token valid', async () => {
    const machine = await site.machine(4);
    const { token } = await site.issueBundle(machine);
    const node = await site.client(machine);
    const before = site.notes.length;
    const tell = () => node.call('/node/v1/first-boot', { form: form({ node_id: machine.id, token }), as: null });
    expect(await tell()).toMatchObject({ status: 200 });
    expect(await tell()).toMatchObject({ status: 200 });
    expect(notedSince(before, 'node-api.first-boot-failed').map(({ machine: about, data }) => [about, data])).toEqual([
      [
        machine.id,
        {
          ...{ address: '127.0.0.1', part: 'site-bootstrap/baseline-7', outcome: 'failed', exit: 3, count: 1 },
          lines: ['one', 'password=[secret]', 'no such package'],
        },
      ],
    ]);
    expect(await node.enroll(token)).toMatchObject({ status: 200 });
  });

  it('is refused with a wrong token or the token of another node', async () => {
    const [machine, other] = [await site.machine(5), await site.machine(6)];
    const { token } = await site.issueBundle(machine);
    const node = await site.client(machine);
    const before = site.notes.length;
    for (const claim of [
      { node_id: machine.id, token: 'ce_000000000001_wrong' },
      { node_id: other.id, token },
    ]) {
      const answer = await node.call('/node/v1/first-boot', { form: form(claim), as: null });
      expect(answer).toMatchObject({ status: 403, json: { message: 'the enrollment token is not accepted' } });
    }
    expect(notedSince(before, 'node-api.first-boot-failed')).toEqual([]);
    site.ahead += 10 * MINUTE;
  });

  it('is reported by the script of the bundle, which changes nothing', async () => {
    const machine = await site.machine(7);
    const { script } = await site.issueBundle(machine);
    const file = join(site.folder, 'install-node-agent.sh');
    writeFileSync(file, script, { mode: 0o700 });
    const payload = join(site.folder, 'baseline-7');
    writeFileSync(`${payload}.status`, '{"part":"site-bootstrap","outcome":"failed","exit":3,"because":"x"}\n');
    writeFileSync(`${payload}.log`, 'E: Unable to locate package nvidia-driver\n');
    const before = site.notes.length;
    expect(await run('dash', [file, '--report', payload])).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(notedSince(before, 'node-api.first-boot-failed').map(({ data }) => data)).toMatchObject([
      { part: payload, outcome: 'failed', exit: 3, lines: ['E: Unable to locate package nvidia-driver'] },
    ]);
  });
});
