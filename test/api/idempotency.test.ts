import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Role } from '../../appliance/domain/token.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

interface Sent {
  readonly key?: string;
  readonly payload?: object;
  readonly role?: Role;
  readonly ifMatch?: string;
}
const post = (path: string, { key, payload = {}, role = 'operator', ifMatch }: Sent = {}) =>
  api.call({
    role,
    method: 'POST',
    url: `/api/v1${path}`,
    payload,
    headers: { ...(key !== undefined && { 'idempotency-key': key }), ...(ifMatch && { 'if-match': ifMatch }) },
  });
const auditCount = async () => (await api.store.auditEntries(0, 1000)).length;
const DAY = 86_400_000;

describe('an Idempotency-Key', () => {
  it('returns the same answer again and executes nothing twice', async () => {
    const first = await post('/nodes/node01/retire', { key: 'k1', payload: { note: 'PSU' } });
    expect([first.statusCode, first.headers['idempotent-replayed']]).toEqual([200, undefined]);
    const audited = await auditCount();
    const again = await post('/nodes/node01/retire', { key: 'k1', payload: { note: 'PSU' } });
    expect([again.statusCode, again.headers['idempotent-replayed']]).toEqual([200, 'true']);
    expect(again.json()).toEqual(first.json());
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(await auditCount()).toBe(audited);
    const quoted = await post('/nodes/node01/retire', { key: '"k1"', payload: { note: 'PSU' } });
    expect(quoted.headers['idempotent-replayed']).toBe('true');
  });

  it('belongs to its caller: the same key of another caller is another request', async () => {
    await post('/nodes/node01/retire', { key: 'k1' });
    const other = await post('/nodes/node02/retire', { key: 'k1', role: 'admin' });
    expect([other.statusCode, other.headers['idempotent-replayed']]).toEqual([200, undefined]);
  });

  it.each<[string, string, Sent]>([
    ['another node', '/nodes/node02/retire', { payload: { note: 'x' } }],
    ['another operation', '/nodes/node01/quarantine', { payload: { note: 'x' } }],
    ['another body', '/nodes/node01/retire', { payload: { note: 'y' } }],
    ['another If-Match', '/nodes/node01/retire', { payload: { note: 'x' }, ifMatch: '*' }],
  ])('is refused with %s, and names the first request', async (_what, path, sent) => {
    await post('/nodes/node01/retire', { key: 'k1', payload: { note: 'x' } });
    const refused = await post(path, { key: 'k1', ...sent });
    expect(refused.statusCode).toBe(422);
    expect(refused.json()).toMatchObject({
      code: 'idempotency_key_reused',
      message: expect.stringContaining('retireNode at 2026-01-15T08:00:00'),
    });
  });

  it('can be used again after a refusal, which changed nothing', async () => {
    expect((await post('/nodes/node01/reactivate', { key: 'k1' })).statusCode).toBe(409);
    await post('/nodes/node01/retire');
    const now = await post('/nodes/node01/reactivate', { key: 'k1' });
    expect([now.statusCode, now.headers['idempotent-replayed']]).toEqual([200, undefined]);
  });

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(256)],
    ['with a space', 'a b'],
    ['with a letter that is not ASCII', 'schl\u00fcssel'],
  ])('that is %s is refused, and nothing is executed', async (_what, key) => {
    const refused = await post('/nodes/node01/retire', { key });
    expect(refused.statusCode).toBe(400);
    expect(refused.json().message).toMatch(/^Idempotency-Key: must be one value of 1 to 255 visible ASCII/);
    expect((await api.call({ role: 'viewer', url: '/api/v1/nodes/node01' })).json().state).toBe('registered');
  });

  it('may have 255 characters', async () => {
    expect((await post('/nodes/node01/retire', { key: 'x'.repeat(255) })).statusCode).toBe(200);
  });

  it('stores no secret: a repetition reports when the request was completed, and creates no second token', async () => {
    const payload = { name: 'ci', role: 'viewer' };
    const made = await post('/tokens', { key: 'k1', payload, role: 'admin' });
    expect(made.statusCode).toBe(201);
    const again = await post('/tokens', { key: 'k1', payload, role: 'admin' });
    expect([again.statusCode, again.json().code]).toEqual([409, 'answer_not_kept']);
    expect(again.json().message).toBe(
      'this request was completed at 2026-01-15T08:00:00.000Z; its answer contains a secret, which is shown once',
    );
    expect(again.body).not.toContain(made.json().token);
    const secret = made.json().token.split('_')[2];
    for (const file of await readdir(api.stateDir)) {
      if (file.startsWith('coldiron.db'))
        expect(await readFile(join(api.stateDir, file), 'latin1')).not.toContain(secret);
    }
    expect((await api.store.tokens()).filter(({ name }) => name === 'ci')).toHaveLength(1);
  });

  it('is stored for 24 hours', async () => {
    await post('/nodes/node01/retire', { key: 'k1' });
    api.clock.time += DAY;
    expect((await post('/nodes/node01/retire', { key: 'k1' })).headers['idempotent-replayed']).toBe('true');
    api.clock.time += 1;
    const later = await post('/nodes/node01/retire', { key: 'k1', payload: { note: 'another request' } });
    expect([later.statusCode, later.headers['idempotent-replayed']]).toEqual([409, undefined]);
  });
});

describe('an unfinished request', () => {
  it('is in progress while its process runs it', async () => {
    await api.close();
    const running = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    api = await openApi({
      deps: (real) => ({
        commands: {
          request: async (...args) => {
            begun.resolve();
            await running.promise;
            return real.commands.request(...args);
          },
        },
      }),
    });
    const first = post('/nodes/node01/retire', { key: 'k1' });
    await begun.promise;
    const second = await post('/nodes/node01/retire', { key: 'k1' });
    expect([second.statusCode, second.json().code]).toEqual([409, 'request_in_progress']);
    running.resolve();
    expect((await first).statusCode).toBe(200);
    expect((await post('/nodes/node01/retire', { key: 'k1' })).headers['idempotent-replayed']).toBe('true');
  });

  /** The stored claim of a process that dies while it executes the request. */
  const crashed = async (path: string, payload: object) => {
    let claim: Parameters<Fixture['store']['claimRequest']>[0] | undefined;
    const { claimRequest } = api.store;
    const spied = async (...args: Parameters<typeof claimRequest>) => {
      claim ??= args[0];
      throw new Error('the process died');
    };
    Object.assign(api.store, { claimRequest: spied });
    await post(path, { key: 'k1', payload });
    Object.assign(api.store, { claimRequest });
    if (!claim) expect.fail('nothing was claimed');
    await claimRequest({ ...claim, holder: 'a-process-that-died' }, 0);
  };

  const NODE77 = { name: 'node77', interfaces: [{ name: 'eth0', mac: '52:54:00:77:77:77' }] };

  it('has an unknown outcome after a crash, and is not executed again', async () => {
    await crashed('/nodes', NODE77);
    const again = await post('/nodes', { key: 'k1', payload: NODE77 });
    expect([again.statusCode, again.json().code]).toEqual([503, 'outcome_unknown']);
    expect((await api.call({ role: 'viewer', url: '/api/v1/nodes/node77' })).statusCode).toBe(404);
  });

  it('is executed once after a crash, by its command id, whether it was committed before or not', async () => {
    await crashed('/nodes/node01/retire', {});
    expect((await post('/nodes/node01/retire', { key: 'k1' })).json()).toMatchObject({ state: 'retired' });
    const { finishRequest } = api.store;
    Object.assign(api.store, { finishRequest: () => Promise.reject(new Error('the process died')) });
    const sent = { key: 'k2', ifMatch: '"1"' };
    await post('/nodes/node02/quarantine', sent);
    Object.assign(api.store, { finishRequest });
    const events = () => api.store.events({ kind: 'lifecycle.quarantined', limit: 10 });
    expect(await events()).toHaveLength(1);
    const after = await post('/nodes/node02/quarantine', sent);
    expect(after.json()).toMatchObject({ hostname: 'node02', state: 'quarantined' });
    expect(await events()).toHaveLength(1);
  });

  it('is executed again after a crash when the operation is idempotent', async () => {
    await crashed('/bmc/scan', {});
    const again = await post('/bmc/scan', { key: 'k1' });
    expect(again.json().code).not.toBe('outcome_unknown');
  });

  it('that failed with an internal error is not executed again under the same key', async () => {
    await api.close();
    let tries = 0;
    api = await openApi({
      deps: () => ({
        commands: {
          request: async () => {
            tries += 1;
            throw new Error('a mistake of ours');
          },
        },
      }),
    });
    expect((await post('/nodes/node01/retire', { key: 'k1' })).statusCode).toBe(500);
    const again = await post('/nodes/node01/retire', { key: 'k1' });
    expect([again.statusCode, again.headers['idempotent-replayed'], tries]).toEqual([500, 'true', 1]);
  });
});

describe('the origin of a write', () => {
  it('has a command id that depends on caller and key, and the named version', async () => {
    await api.close();
    const origins: { commandId?: string | undefined; expectedVersion?: number | undefined }[] = [];
    api = await openApi({
      deps: (real) => ({
        commands: {
          request: async (id, event, origin) => {
            origins.push(origin);
            return real.commands.request(id, event, origin);
          },
        },
      }),
    });
    const { version } = (await api.call({ role: 'viewer', url: '/api/v1/nodes/node01' })).json();
    await post('/nodes/node01/retire', { key: 'k1', ifMatch: `"${version}"` });
    await post('/nodes/node02/retire', { key: 'k1', role: 'admin' });
    await post('/nodes/node03/retire');
    expect(origins).toMatchObject([
      { commandId: expect.stringMatching(/^[0-9a-f]{64}$/), expectedVersion: version },
      { commandId: expect.stringMatching(/^[0-9a-f]{64}$/) },
      {},
    ]);
    expect(origins[0]?.commandId).not.toBe(origins[1]?.commandId);
    expect([origins[2]?.commandId, origins[2]?.expectedVersion]).toEqual([undefined, undefined]);
  });
});
