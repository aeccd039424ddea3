// Reissued enrollments: in which states, what their tokens are worth, how they are audited; and what the log says of refused certificates.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIFECYCLE_STATES, lifeIn } from '../../../appliance/domain/lifecycle.ts';
import { mayGetBundle } from '../../../appliance/identity/node-eligibility.ts';
import { secretText } from '../../../appliance/render/bundle/bundle.ts';
import { needPackages } from '../../interop/packages.ts';
import { NodeApiSite } from './node-api-site.ts';

const ADA = { actor: 'local:ada', correlationId: 'c-9' };

describe('a reissued enrollment', () => {
  let site: NodeApiSite;
  beforeAll(async () => {
    await needPackages(['curl', 'openssl']);
    site = await NodeApiSite.open();
  });
  afterAll(() => site.end());

  const reissue = async (machine: Parameters<NodeApiSite['current']>[0]) => {
    const current = await site.current(machine);
    const { bundle, files } = await site.enrollment.issueBundle(current, true, ADA, 'restart-command');
    return { token: secretText(bundle.enrollmentToken), command: files.restart.text };
  };

  it('is possible while a node is registered, enrolling, active, quarantined or retired, and in no other state', () => {
    const allowed = LIFECYCLE_STATES.filter((state) => mayGetBundle(lifeIn(state, 0)));
    expect(allowed).toEqual(['registered', 'enrolling', 'active', 'retired', 'quarantined']);
  });

  it('works for an active node whose certificate is valid, and revokes the recovery token that it had', async () => {
    const machine = await site.machine(11);
    const node = await site.node(machine);
    const { recoveryToken } = node;
    const { token, command } = await reissue(machine);
    expect(command).toContain(token);
    const another = await site.client(machine);
    expect(await another.enroll(recoveryToken, { path: 'recover' })).toMatchObject({ status: 403 });
    expect(await another.enroll(token)).toMatchObject({ status: 200, json: { result: 'enrolled' } });
    expect((await site.audit('nodes.reissue_enrollment')).at(-1)).toMatchObject({
      ...{ actor: 'local:ada', correlationId: 'c-9', target: `node:${machine.spec.hostname}` },
      after: { form: 'restart-command' },
    });
    expect(JSON.stringify(await site.store.auditEntries(0, 1000))).not.toContain(token);
  });

  it('for a quarantined node can be used only after the quarantine', async () => {
    const machine = await site.machine(12);
    await site.node(machine);
    await site.request(machine, 'quarantine');
    const { token } = await reissue(machine);
    const client = await site.client(machine);
    expect(await client.enroll(token)).toMatchObject({ status: 409 });
    await site.request(machine, 'clear-quarantine');
    expect(await client.enroll(token)).toMatchObject({ status: 200 });
  });

  it('is refused while a node is drained, and a token from before cannot be used then', async () => {
    const machine = await site.machine(13);
    await site.node(machine);
    const { token } = await reissue(machine);
    await site.request(machine, 'drain');
    await expect(reissue(machine)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('draining'),
    });
    expect(await (await site.client(machine)).enroll(token)).toMatchObject({ status: 409 });
  });

  it('of a removed node is refused', async () => {
    const machine = await site.machine(14);
    await site.node(machine);
    await site.request(machine, 'retire');
    await reissue(machine);
    await site.request(machine, 'remove');
    await expect(reissue(machine)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('makes the old certificate worthless, and the log says which certificate was refused', async () => {
    const machine = await site.machine(15);
    const old = await site.node(machine);
    const shown = await old.openssl(['-cert', old.file('cert.pem'), '-key', old.file('key.pem')]);
    expect(shown.stdout).toContain('CONNECTED');
    await (await site.client(machine)).enroll((await reissue(machine)).token);
    expect(await old.heartbeat()).toMatchObject({ status: 401 });
    const line = site.log
      .split('\n')
      .filter((each) => each.includes('a node was refused'))
      .map((each) => JSON.parse(each) as Record<string, string>)
      .at(-1);
    expect(line).toMatchObject({
      node: machine.spec.hostname,
      reason: 'revoked',
      fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
      serial: expect.stringMatching(/^[0-9a-f]+$/),
      issuer: expect.stringContaining('CN='),
      correlation_id: expect.any(String),
    });
    const request = site.log.split('\n').findLast((each) => each.includes('"status":401'));
    expect(JSON.parse(request ?? '{}')).toMatchObject({
      code: 'unauthenticated',
      correlation_id: line?.correlation_id,
    });
  });

  it('of a wrong path is noted: a node with a wrong URL is found by it', async () => {
    const machine = await site.machine(16);
    const node = await site.node(machine);
    expect(await node.call('/internal/v1/other')).toMatchObject({ status: 404 });
    const wrong = () => site.notes.filter(({ data }) => (data as { code?: string }).code === 'not_found');
    await expect.poll(wrong).toMatchObject([{ kind: 'node-api.refused' }]);
  });
});
