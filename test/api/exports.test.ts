import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Exports } from '../../appliance/export/exports.ts';
import { type Failure, refused, unavailable } from '../../appliance/export/outcome.ts';
import { Receiver } from '../../appliance/export/receiver.ts';
import { EVERYTHING } from '../export/sample-messages.ts';
import { newEvent } from '../store/samples.ts';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
let failure: Failure | null = null;
let receiver: Receiver;
let exports: Exports;

beforeEach(async () => {
  failure = null;
  api = await openApi({
    deps: ({ store, clock }) => {
      receiver = new Receiver({
        settings: {
          name: 'hooks',
          target: { kind: 'webhook', url: new URL('https://hooks.example.net/x'), secretFile: '/none', ca: null },
          selection: { ...EVERYTHING, kinds: ['trail'] },
          backfill: false,
        },
        delivery: {
          mostAtOnce: 10,
          wholeBatch: false,
          deliver: async (messages) => ({ accepted: failure ? 0 : messages.length, failure }),
          close: () => undefined,
        },
        store,
        lookUp: () => null,
        now: () => clock.now(),
        random: () => 0,
        newId: () => 'stream0123456789',
        log: { warn: () => undefined, info: () => undefined },
      });
      exports = new Exports([receiver], store, () => clock.now(), 'coldiron exports list');
      return { exports };
    },
  });
  await receiver.turn();
});
afterEach(() => api.close());

const list = async () => (await api.call({ url: '/api/v1/exports', role: 'viewer' })).json().exports[0];
const happen = () => api.store.appendEvents([newEvent('trail.gap', { at: api.clock.time })]);
const tryTimes = async (times: number): Promise<void> => {
  for (let n = 0; n < times; n += 1) {
    api.clock.time = receiver.condition.nextAttempt ?? api.clock.time;
    await receiver.turn();
  }
};
const replay = (body: object, role: 'viewer' | 'operator' = 'operator', name = 'hooks') =>
  api.call({ method: 'POST', url: `/api/v1/exports/${name}/replay`, role, payload: body });

describe('GET /api/v1/exports', () => {
  it('shows a receiver that has everything', async () => {
    await happen();
    await receiver.turn();
    const { cursor, newest, ...rest } = await list();
    expect(cursor).toBe(newest);
    expect(rest).toMatchObject({
      name: 'hooks',
      kind: 'webhook',
      target: 'https://hooks.example.net/x',
      state: 'delivering',
      lag_events: 0,
      lag_seconds: 0,
      delivered: 1,
      lost: 0,
      dead_letters: 0,
      last_error: null,
    });
  });

  it('shows how far a receiver is behind, and why', async () => {
    failure = unavailable('connect ECONNREFUSED');
    await happen();
    await receiver.turn();
    expect(await list()).toMatchObject({ state: 'waiting', lag_events: 1, last_error: 'connect ECONNREFUSED' });
    await tryTimes(2);
    api.clock.time += 60_000;
    expect(await list()).toMatchObject({
      state: 'unreachable',
      lag_events: 1,
      lag_seconds: 63,
      failing_since: '2026-01-15T08:00:00.000Z',
    });
    expect(exports.problems()).toMatchObject([{ id: 'receiver-unreachable', subject: 'hooks' }]);
  });
});

describe('dead letters', () => {
  beforeEach(async () => {
    failure = refused('it answered 422');
    await happen();
    await tryTimes(5);
  });

  it('are listed with the event and the answer', async () => {
    const { statusCode, ...answer } = await api.call({ url: '/api/v1/exports/hooks/dead-letters', role: 'viewer' });
    expect([statusCode, answer.json().dead_letters]).toMatchObject([
      200,
      [{ event: { kind: 'trail.gap', data: { lost: 1 } }, attempts: 5, reason: 'it answered 422', replay: false }],
    ]);
  });

  it('are sent again by an operator, and that is audited', async () => {
    expect((await replay({}, 'viewer')).statusCode).toBe(403);
    failure = null;
    expect((await replay({})).json()).toEqual({ replaying: 1 });
    await receiver.turn();
    expect(await list()).toMatchObject({ dead_letters: 0, delivered: 1 });
    const audit = await api.store.auditEntries(0, 100);
    expect(audit.at(-1)).toMatchObject({
      action: 'export.replay',
      target: 'receiver:hooks',
      actor: 'token:test-operator',
      after: { events: 'all' },
    });
  });

  it('that do not exist are not sent, and an unknown receiver is named', async () => {
    expect((await replay({ events: [999] })).json()).toEqual({ replaying: 0 });
    const unknown = await replay({}, 'operator', 'logs');
    expect([unknown.statusCode, unknown.json()]).toMatchObject([
      404,
      { hint: 'The receivers of the site file: hooks.' },
    ]);
    expect((await replay({ events: [] })).statusCode).toBe(400);
  });
});
