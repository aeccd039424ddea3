// SSH keys and key sets over the API: who may do what, what is audited, and how a key is replaced.

import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyAnswer } from '../../appliance/allocations/key-probe.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi } from './api-fixture.ts';

function newKey(comment = ''): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  const point = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const string = (bytes: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  return `ssh-ed25519 ${Buffer.concat([string(Buffer.from('ssh-ed25519')), string(point)]).toString('base64')} ${comment}`.trim();
}

let api: Fixture;
let answer: KeyAnswer;
const asked: string[] = [];

beforeEach(async () => {
  answer = { accepted: true, hostKey: 'SHA256:host' };
  asked.length = 0;
  api = await openApi({
    keyProbe: async ({ username, host, port }) => {
      asked.push(`${username}@${host}:${port}`);
      return answer;
    },
  });
});
afterEach(() => api.close());

const request = async (role: Role, method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) => {
  const response = await api.call({ role, method, url: `/api/v1${path}`, ...(payload && { payload }) });
  return { status: response.statusCode, body: response.json() };
};
const addKey = async (role: Role, owner?: string): Promise<string> => {
  const { status, body } = await request(role, 'POST', '/ssh-keys', { key: newKey(), ...(owner && { owner }) });
  expect(status).toBe(201);
  return body.id;
};
const audited = async (): Promise<string[]> =>
  (await api.store.auditEntries(0, 100))
    .filter(({ action }) => !action.startsWith('token.'))
    .map(({ action, actor, target }) => `${action} ${target} by ${actor}`);

describe('an SSH key', () => {
  it('has an owner, a fingerprint and a comment; adding it twice changes nothing', async () => {
    const key = newKey('alice@laptop');
    const first = await request('operator', 'POST', '/ssh-keys', { key });
    expect(first).toMatchObject({
      status: 201,
      body: { owner: 'test-operator', comment: 'alice@laptop', key, added_by: 'token:test-operator' },
    });
    expect(first.body.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
    expect((await request('operator', 'POST', '/ssh-keys', { key })).body).toEqual(first.body);
    expect((await request('viewer', 'GET', '/ssh-keys?owner=test-operator')).body.keys).toEqual([first.body]);
    expect((await request('viewer', 'GET', '/ssh-keys?owner=bob')).body.keys).toEqual([]);
    expect(await api.store.accessVersions('ssh-key', first.body.id, 10)).toHaveLength(1);
  });

  it('is refused when it is a private key or damaged, without repeating it', async () => {
    const secret = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const refused = await request('operator', 'POST', '/ssh-keys', { key: secret });
    expect(refused).toMatchObject({ status: 400, body: { message: expect.stringMatching(/^key: .*private key/) } });
    expect(JSON.stringify(refused.body)).not.toContain(secret.split('\n')[1]);
    expect(api.log.text).not.toContain(secret.split('\n')[1]);
    expect(await request('operator', 'POST', '/ssh-keys', { key: 'ssh-ed25519 AAAA' })).toMatchObject({ status: 400 });
  });

  it('belongs to one person', async () => {
    const key = newKey();
    await request('admin', 'POST', '/ssh-keys', { key, owner: 'alice' });
    expect(await request('admin', 'POST', '/ssh-keys', { key, owner: 'bob' })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('belongs to alice') },
    });
  });

  it('can be changed only by its owner and by admins; attempts of others are audited', async () => {
    const hers = await addKey('admin', 'alice');
    expect(await request('viewer', 'POST', '/ssh-keys', { key: newKey() })).toMatchObject({ status: 403 });
    expect(await request('operator', 'POST', '/ssh-keys', { key: newKey(), owner: 'alice' })).toMatchObject({
      status: 403,
      body: { code: 'forbidden', message: 'this belongs to alice, and you are test-operator' },
    });
    expect(await request('operator', 'DELETE', `/ssh-keys/${hers}`)).toMatchObject({ status: 403 });
    expect((await request('viewer', 'GET', '/ssh-keys')).body.keys).toHaveLength(1);
    expect((await audited()).filter((line) => line.startsWith('access.refused'))).toEqual([
      expect.stringMatching(/^access\.refused ssh-key:[0-9a-f]{32} by token:test-operator$/),
      `access.refused ssh-key:${hers} by token:test-operator`,
    ]);
    expect((await api.store.events({ kind: 'access.refused', limit: 10 })).length).toBe(2);
    expect(await request('admin', 'DELETE', `/ssh-keys/${hers}`)).toMatchObject({ status: 200 });
    expect(await request('admin', 'DELETE', `/ssh-keys/${hers}`)).toMatchObject({ status: 200 });
    expect((await request('viewer', 'GET', '/ssh-keys')).body.keys).toEqual([]);
  });

  it('cannot be removed while a key set contains it', async () => {
    const key = await addKey('operator');
    await request('operator', 'PUT', '/key-sets/ops', { keys: [key] });
    expect(await request('operator', 'DELETE', `/ssh-keys/${key}`)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('ops') },
    });
  });
});

describe('the rotation of a key', () => {
  let old: string;
  let fresh: string;
  const LOGIN = { host: 'node01', username: 'alice' };
  const step = (verb: string, payload?: object, role: Role = 'operator') =>
    request(role, 'POST', `/key-sets/ops/${verb}`, payload);

  beforeEach(async () => {
    [old, fresh] = [await addKey('operator'), await addKey('operator')];
    await request('operator', 'PUT', '/key-sets/ops', { keys: [old] });
  });

  it('adds the new key, validates it on a server, and only then removes the old one', async () => {
    expect(await step('rotate', { from: old, to: fresh })).toMatchObject({
      status: 200,
      body: { keys: [old, fresh], rotation: { from: old, to: fresh, validated_at: null }, version: 2 },
    });
    expect(await step('finish')).toMatchObject({ status: 409, body: { hint: expect.stringContaining('validate') } });
    expect(await step('validate', LOGIN)).toMatchObject({
      status: 200,
      body: { rotation: { validated_with: 'alice@node01', host_key: 'SHA256:host' } },
    });
    expect(asked).toEqual(['alice@node01:22']);
    expect(await step('finish')).toMatchObject({ status: 200, body: { keys: [fresh], rotation: null } });
    expect((await audited()).slice(-4)).toEqual([
      'key-set.rotate key-set:ops by token:test-operator',
      'access.refused key-set:ops by token:test-operator',
      'key-set.validate key-set:ops by token:test-operator',
      'key-set.finish key-set:ops by token:test-operator',
    ]);
  });

  it('keeps the old key when the server does not accept the new one', async () => {
    answer = { accepted: false, reason: 'the server does not accept this key for this user', hostKey: 'SHA256:host' };
    await step('rotate', { from: old, to: fresh });
    expect(await step('validate', LOGIN)).toMatchObject({
      status: 422,
      body: {
        code: 'probe_failed',
        message: expect.stringContaining('alice@node01 port 22: the server does not accept'),
      },
    });
    expect(await step('finish')).toMatchObject({ status: 409 });
    expect(await api.store.events({ kind: 'access.not_validated', limit: 10 })).toHaveLength(1);
  });

  it('can be rolled back, also after it was finished', async () => {
    await step('rotate', { from: old, to: fresh });
    await step('validate', LOGIN);
    await step('finish');
    expect(await step('rollback', { version: 1 })).toMatchObject({ status: 200, body: { keys: [old], version: 5 } });
    const { body } = await request('viewer', 'GET', '/key-sets/ops');
    expect(body.versions.map(({ version }: { version: number }) => version)).toEqual([5, 4, 3, 2, 1]);
    expect(await step('rollback', { version: 9 })).toMatchObject({ status: 409 });
  });

  it('makes the appliance connect nowhere for somebody else', async () => {
    const hers = await addKey('admin', 'alice');
    await request('admin', 'PUT', '/key-sets/hers', { keys: [hers], owner: 'alice' });
    await request('admin', 'POST', '/key-sets/hers/rotate', { from: hers, to: old });
    expect(await request('operator', 'POST', '/key-sets/hers/validate', LOGIN)).toMatchObject({ status: 403 });
    expect(await step('validate', LOGIN)).toMatchObject({ status: 409 });
    expect(asked).toEqual([]);
  });
});

describe('the default key set of a site', () => {
  const put = (role: Role, keySet: string | null) => request(role, 'PUT', '/sites/lab/key-set', { key_set: keySet });

  beforeEach(async () => {
    const key = await addKey('operator');
    for (const name of ['ops', 'night']) await request('operator', 'PUT', `/key-sets/${name}`, { keys: [key] });
  });

  it('is set and rolled back by admins', async () => {
    expect(await put('operator', 'ops')).toMatchObject({ status: 403 });
    expect(await put('admin', 'ops')).toMatchObject({ status: 200, body: { site: 'lab', key_set: 'ops', version: 1 } });
    expect(await put('admin', 'ops')).toMatchObject({ body: { version: 1 } });
    expect(await put('admin', 'night')).toMatchObject({ body: { key_set: 'night', version: 2 } });
    expect(await request('admin', 'POST', '/sites/lab/key-set/rollback')).toMatchObject({
      status: 200,
      body: { key_set: 'ops', version: 3 },
    });
    expect((await request('viewer', 'GET', '/site-key-sets')).body.sites).toMatchObject([
      { site: 'lab', key_set: 'ops' },
    ]);
  });

  it('must exist, and stays while it is the default', async () => {
    expect(await put('admin', 'nothing')).toMatchObject({ status: 404 });
    expect(await request('admin', 'PUT', '/sites/moon/key-set', { key_set: 'ops' })).toMatchObject({ status: 404 });
    await put('admin', 'ops');
    expect(await request('operator', 'DELETE', '/key-sets/ops')).toMatchObject({
      status: 409,
      body: { details: ['default key set of lab'] },
    });
    await put('admin', null);
    expect(await request('operator', 'DELETE', '/key-sets/ops')).toMatchObject({ status: 200 });
    expect((await request('viewer', 'GET', '/key-sets')).body.key_sets).toMatchObject([{ name: 'night' }]);
    expect(await request('operator', 'POST', '/key-sets/ops/rollback', {})).toMatchObject({
      body: { keys: [expect.any(String)] },
    });
  });
});
