import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOUR } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { type Fixture, openApi, START } from './api-fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const get = async (url: string) => (await api.call({ role: 'operator', url })).json();
type Numbered = { seq: number };

describe('events', () => {
  it('are listed in order, page by page', async () => {
    const all = (await get('/api/v1/events?limit=1000')).events;
    expect(all.length).toBeGreaterThan(2);
    const paged: Numbered[] = [];
    for (let next: number | null = 0; next !== null; ) {
      const page: { events: Numbered[]; next: number | null } = await get(`/api/v1/events?limit=2&after=${next}`);
      paged.push(...page.events);
      next = page.next;
    }
    expect(paged).toEqual(all);
  });

  it('are found by node, by kind and its subkinds, and from the end', async () => {
    const node = await get('/api/v1/nodes/node02');
    await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes/node02/retire' });
    const { events } = await get('/api/v1/events?node=node02&kind=lifecycle');
    expect(events).toMatchObject([{ kind: 'lifecycle.retired', node: node.id, actor: 'token:test-operator' }]);
    expect((await get('/api/v1/events?newest=true&limit=1')).events).toEqual(events);
    expect((await get('/api/v1/events?kind=life')).events).toEqual([]);
  });

  it('of an unknown node are a 404, not an empty list', async () => {
    expect(await get('/api/v1/events?node=node99')).toMatchObject({ code: 'not_found' });
  });
});

describe('the audit', () => {
  it('is listed from either end, in order, with its hashes', async () => {
    const { entries, next } = await get('/api/v1/audit?limit=2');
    expect(entries).toMatchObject([{ seq: 1, previous_hash: '0'.repeat(64) }, { seq: 2 }]);
    expect(entries[1].previous_hash).toBe(entries[0].hash);
    expect(next).toBe(2);
    expect((await get('/api/v1/audit?after=2&limit=1')).entries[0].seq).toBe(3);
    const newest = (await get('/api/v1/audit?newest=true&limit=2')).entries.map(({ seq }: Numbered) => seq);
    expect(newest).toEqual([newest[1] - 1, newest[1]]);
    expect((await get(`/api/v1/audit?after=${newest[1]}`)).entries).toEqual([]);
  });

  it('is verified as a whole', async () => {
    const verdict = await get('/api/v1/audit/verify');
    expect(verdict).toEqual({
      intact: true,
      entries: expect.any(Number),
      head: (await get('/api/v1/audit?newest=true&limit=1')).entries[0].hash,
    });
  });

  it('names the entry that fails verification', async () => {
    const broken = await openApi({
      deps: ({ store }) => ({
        store: { ...store, verifyAudit: async () => ({ intact: false, entries: 9, seq: 4, reason: 'changed' }) },
      }),
    });
    try {
      const answer = await broken.call({ role: 'operator', url: '/api/v1/audit/verify' });
      expect(answer.json()).toEqual({ intact: false, entries: 9, seq: 4, reason: 'changed' });
    } finally {
      await broken.close();
    }
  });
});

describe('leases', () => {
  const lease = (address: string, mac: string, network: string, expiresAt: number) => ({
    address: mustParse(parseIpv4(address)),
    mac: mustParse(parseMac(mac)),
    network: mustParse(parseObjectName(network)),
    state: 'bound' as const,
    grantedAt: START,
    expiresAt,
  });

  it('are listed by address, with node and whether they are held', async () => {
    await api.store.commitLeases([
      lease('10.0.100.120', '52:54:00:99:99:99', 'provisioning', START),
      lease('10.0.100.51', '52:54:00:12:34:51', 'provisioning', START + HOUR),
      lease('10.0.150.9', '52:54:00:99:99:98', 'storage', START + HOUR),
    ]);
    expect((await get('/api/v1/leases?network=provisioning')).leases).toEqual([
      {
        address: '10.0.100.51',
        mac: '52:54:00:12:34:51',
        network: 'provisioning',
        state: 'bound',
        granted_at: '2026-01-15T08:00:00.000Z',
        expires_at: '2026-01-15T09:00:00.000Z',
        held: true,
        hostname: 'node01',
      },
      expect.objectContaining({ address: '10.0.100.120', held: false, hostname: null }),
    ]);
    expect((await get('/api/v1/leases')).leases).toHaveLength(3);
  });

  it('of an unknown network are a 404', async () => {
    expect(await get('/api/v1/leases?network=nowhere')).toMatchObject({ code: 'not_found' });
  });
});
