// Which nodes are enrolled, which are refused, and what is recorded: over real sockets, with curl and openssl as the node.

import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY, HOUR } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { opensslOutput } from '../../identity/openssl.ts';
import { needPackages } from '../../interop/packages.ts';
import { newMachineId } from '../../store/samples.ts';
import { NodeApiSite, type NodeClient } from './node-api-site.ts';

beforeAll(() => needPackages(['curl', 'openssl']));

describe('an enrollment token', () => {
  let site: NodeApiSite;
  let next = 10;
  beforeAll(async () => {
    site = await NodeApiSite.open();
  });
  afterAll(() => site.end());

  it('enrolls the machine it was issued for, and is invalid afterwards, with any key', async () => {
    const machine = await site.machine(1);
    const { token } = await site.issueBundle(machine);
    const node = await site.client(machine);
    expect(await node.enroll(token)).toMatchObject({ status: 200, json: { result: 'enrolled', node_id: machine.id } });
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active' } });

    expect(await node.enroll(token)).toMatchObject({ status: 403, json: { code: 'enrollment_refused' } });
    const thief = await site.client(machine);
    expect(await thief.enroll(token)).toMatchObject({
      status: 403,
      json: { message: expect.stringContaining('already used') },
    });
    expect(await thief.enroll(token, { path: 'recover' })).toMatchObject({ status: 403 });
    expect((await site.refusals()).slice(-3)).toEqual(['consumed', 'consumed', 'consumed']);
    expect(await node.heartbeat()).toMatchObject({ status: 200 });
  });

  it('is refused after it expired, and a reissued one is valid for the same node and no other', async () => {
    const [machine, other] = [await site.machine(2), await site.machine(3)];
    const { token } = await site.issueBundle(machine);
    site.ahead += DAY;
    const node = await site.client(machine);
    expect(await node.enroll(token)).toMatchObject({
      status: 403,
      json: { message: expect.stringContaining('expired') },
    });
    expect((await site.refusals()).at(-1)).toBe('expired');

    const reissued = await site.issueBundle(machine, true);
    expect((await site.audit('node.bundle_reissued')).at(-1)).toMatchObject({ actor: 'local:ada' });
    await site.issueBundle(other);
    const otherNode = await site.client(other);
    const foreign = await otherNode.enroll(reissued.token);
    expect(foreign).toMatchObject({ status: 403, json: { message: 'the enrollment token is not accepted' } });
    expect((await site.refusals()).at(-1)).toBe('wrong-node');
    expect(await node.enroll(token)).toMatchObject({ status: 403 });
    expect(await node.enroll(reissued.token)).toMatchObject({ status: 200 });
    site.ahead -= DAY;
  });

  it('is revoked when an operator cancels the enrollment, and a new one enrolls the node', async () => {
    const machine = await site.machine(6);
    const { token } = await site.issueBundle(machine);
    expect(await site.state(machine)).toBe('enrolling');
    await site.request(machine, 'cancel');
    expect(await site.state(machine)).toBe('registered');
    const node = await site.client(machine);
    expect(await node.enroll(token)).toMatchObject({
      status: 403,
      json: { message: expect.stringContaining('revoked') },
    });
    const again = await site.issueBundle(machine);
    const reissued = await site.issueBundle(machine, true);
    expect(await node.enroll(again.token)).toMatchObject({ status: 403 });
    expect(await node.enroll(reissued.token)).toMatchObject({ status: 200 });
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active' } });
  });

  it('stays valid during a rescue, and enrolls the node afterwards', async () => {
    const machine = await site.machine(7);
    const { token } = await site.issueBundle(machine);
    const node = await site.client(machine);
    await site.request(machine, 'rescue');
    expect(await node.enroll(token)).toMatchObject({ status: 409 });
    await site.request(machine, 'rescue-ended');
    expect(await site.state(machine)).toBe('enrolling');
    expect(await node.enroll(token)).toMatchObject({ status: 200 });
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active' } });
  });

  it('that was never issued is refused with the same message as one for another node', async () => {
    const node = await site.client({ id: newMachineId() });
    const made = `ce_${'0'.repeat(12)}_${'A'.repeat(43)}`;
    const answers = [await node.enroll(made), await node.enroll('x'), await node.enroll('ce_0_0')];
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 403, json: { message: 'the enrollment token is not accepted' } });
    }
    expect((await site.refusals()).slice(-3)).toEqual(['unknown', 'unknown', 'unknown']);
  });

  it('can be read once: a second request for the bundle names who has it', async () => {
    const machine = await site.machine(4);
    await site.issueBundle(machine);
    await expect(site.issueBundle(machine)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('local:ada'),
    });
  });

  it.each([
    ['the id of another node', (other: Machine) => [`/CN=${other.id}`]],
    ['the name of another node', (other: Machine) => [`/CN=${other.spec.hostname}`]],
    ['another node beside itself', (other: Machine) => ['/', '-addext', `subjectAltName=DNS:${other.spec.hostname}`]],
    ['the URI of another node', (other: Machine) => ['/', '-addext', `subjectAltName=URI:urn:uuid:${other.id}`]],
    ['an address', () => ['/', '-addext', 'subjectAltName=IP:127.0.0.1']],
    ['an authority', () => ['/', '-addext', 'basicConstraints=critical,CA:TRUE']],
  ])('gives no certificate for %s, and stays valid for the right request', async (_, subject) => {
    const [machine, other] = [await site.machine(next++), await site.machine(next++)];
    const { token } = await site.issueBundle(machine);
    const node = await site.client(machine);
    const [name = '/', ...extra] = subject(other);
    expect(await node.enroll(token, { request: node.request(name, ...extra) })).toMatchObject({
      status: 400,
      json: { code: 'invalid_request' },
    });
    expect((await site.refusals()).at(-1)).toBe('bad-request');
    expect(await node.enroll(token)).toMatchObject({ status: 200 });
    expect(new X509Certificate(node.read('cert.pem')).subject).toContain(machine.id);
  });

  it('is in no line of the log or of the audit', async () => {
    const machine = await site.machine(5);
    const { token } = await site.issueBundle(machine);
    const node = await site.client(machine);
    await node.enroll(token);
    await node.enroll(token);
    const written = site.log + JSON.stringify(await site.store.auditEntries(0, 1000));
    for (const secret of [token, node.recoveryToken])
      expect(written).not.toContain(secret.slice('ce_0123456789ab_'.length));
  });
});

describe('a node', () => {
  let site: NodeApiSite;
  beforeAll(async () => {
    site = await NodeApiSite.open();
  });
  afterAll(() => site.end());

  it.each([
    ['/node/v1/tasks/wait', {}],
    ['/node/v1/heartbeat', { form: { agent: 'x' } }],
    ['/node/v1/renew', { form: { certificate_request: 'x' } }],
    [`/node/v1/tasks/${newMachineId()}/begin`, { form: { lease: 'x' } }],
    [`/node/v1/tasks/${newMachineId()}/result`, { form: { status: 'succeeded', output: '' } }],
  ])('without a certificate of ours gets nothing at %s', async (path, call) => {
    const [node, forger] = [await site.client({ id: newMachineId() }), await site.client({ id: newMachineId() })];
    expect(await node.call(path, { ...call, as: null })).toMatchObject({
      status: 401,
      json: { code: 'unauthenticated' },
    });
    selfSign(forger);
    expect(await node.call(path, { ...call, as: forger })).toMatchObject({
      status: 401,
      json: { message: 'this certificate was not issued by this appliance' },
    });
  });

  it('cannot access the tasks of another node with its own certificate', async () => {
    const [a, b] = [await site.machine(1), await site.machine(2)];
    const [nodeA, nodeB] = [await site.node(a), await site.node(b)];
    const by = { actor: 'local:ada', correlationId: null };
    const task = await site.enrollment.tasks.run(await site.current(b), { kind: 'ping', parameters: {} }, by);
    expect(await nodeA.wait()).toMatchObject({ status: 204 });
    const waiting = await nodeB.wait();
    expect(waiting).toMatchObject({ status: 200, json: { task_id: task.id } });
    const lease = String(waiting.json.lease);
    expect(await nodeA.call(`/node/v1/tasks/${task.id}/begin`, { form: { lease } })).toMatchObject({ status: 409 });
    expect(
      await nodeA.call(`/node/v1/tasks/${task.id}/result`, { form: { status: 'succeeded', output: 'mine' } }),
    ).toMatchObject({ status: 404 });
    expect(await nodeB.call(`/node/v1/tasks/${task.id}/begin`, { form: { lease } })).toMatchObject({ status: 200 });
    expect(
      await nodeB.call(`/node/v1/tasks/${task.id}/result`, { form: { status: 'succeeded', output: 'pong' } }),
    ).toMatchObject({ status: 200 });
    expect(await site.store.task(task.id)).toMatchObject({ state: 'succeeded', result: { output: 'pong' } });
  });

  it('that is quarantined may send heartbeats, and gets neither tasks nor certificates until it is cleared', async () => {
    const machine = await site.machine(3);
    const node = await site.node(machine);
    const by = { actor: 'local:ada', correlationId: null };
    const order = { kind: 'ping', parameters: {} } as const;
    const task = await site.enrollment.tasks.run(await site.current(machine), order, by);
    const fetched = await node.wait();
    await site.request(machine, 'quarantine');

    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'quarantined', tasks: 'no' } });
    expect(await node.wait()).toMatchObject({ status: 204 });
    const begun = await node.call(`/node/v1/tasks/${task.id}/begin`, { form: { lease: String(fetched.json.lease) } });
    expect(begun).toMatchObject({ status: 409 });
    expect(await node.renew()).toMatchObject({ status: 409, json: { message: 'this node is quarantined' } });
    await expect(site.enrollment.tasks.run(await site.current(machine), order, by)).rejects.toMatchObject({
      code: 'conflict',
    });
    await site.request(machine, 'clear-quarantine');
    expect(await node.renew()).toMatchObject({ status: 200 });
    expect(await node.heartbeat()).toMatchObject({ json: { state: 'active', tasks: 'yes' } });
  });

  it('keeps its identity and gets no tasks when retired, continues when reactivated, and is unknown when removed', async () => {
    const machine = await site.machine(4);
    const node = await site.node(machine);
    await site.request(machine, 'retire');
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'retired', tasks: 'no' } });
    expect(await node.wait()).toMatchObject({ status: 204 });
    expect(await node.renew()).toMatchObject({ status: 200, json: { result: 'renewed' } });

    await site.request(machine, 'reactivate');
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active', tasks: 'yes' } });

    await site.request(machine, 'retire', 'remove');
    for (const answer of [await node.heartbeat(), await node.wait(), await node.renew()]) {
      expect(answer).toMatchObject({
        status: 401,
        json: { code: 'unauthenticated', message: expect.stringContaining('was removed') },
      });
    }
    expect(await node.enroll(node.recoveryToken, { path: 'recover' })).toMatchObject({
      status: 403,
      json: { message: expect.stringContaining('removed') },
    });
    expect((await site.refusals()).at(-1)).toBe('removed');
  });

  it('whose certificate has expired recovers with its recovery token, once, and not before it expired', async () => {
    const machine = await site.machine(5);
    const node = await site.node(machine);
    const first = node.recoveryToken;
    expect(await node.enroll(first, { path: 'recover' })).toMatchObject({
      status: 403,
      json: { message: expect.stringContaining('still valid') },
    });
    site.ahead += 31 * DAY;
    expect(await node.heartbeat()).toMatchObject({
      status: 401,
      json: { message: expect.stringContaining('expired') },
    });
    expect(await node.enroll(first, { path: 'recover' })).toMatchObject({ status: 200, json: { result: 'recovered' } });
    expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active' } });
    const thief = await site.client(machine);
    expect(await thief.enroll(first, { path: 'recover' })).toMatchObject({ status: 403 });
    site.ahead -= 31 * DAY;
  });
});

describe('a wrong clock', () => {
  it.each([
    ['behind ours by 20 hours', 20 * HOUR],
    ['ahead of ours by three days', -3 * DAY],
  ])('does not lock out a node whose clock is %s', async (_, ahead) => {
    const site = await NodeApiSite.open({ ahead });
    try {
      const machine = await site.machine(1);
      const node = await site.node(machine);
      // curl and openssl use the clock of this machine, and accept all certificates.
      expect(await node.heartbeat()).toMatchObject({ status: 200, json: { state: 'active' } });
      const late = await node.call('/node/v1/heartbeat', { form: { clock: String(Math.floor(Date.now() / 1000)) } });
      expect(Number(late.json.clock_offset_seconds)).toBeCloseTo(-ahead / 1000, -2);
      expect(site.log).toContain("a node's clock is wrong");
    } finally {
      await site.end();
    }
  });

  it('that is wrong by more than a day is reported by the node', async () => {
    const site = await NodeApiSite.open({ ahead: 3 * DAY });
    try {
      const machine = await site.machine(1);
      const node = await site.client(machine);
      expect((await node.heartbeat(null)).text).toContain('not yet valid');
    } finally {
      await site.end();
    }
  });
});

function selfSign(node: NodeClient): void {
  const options = ['req', '-new', '-x509', '-key', node.file('key.pem'), '-subj', `/CN=${node.id}`, '-days', '1'];
  node.write('cert.pem', opensslOutput(options));
}
