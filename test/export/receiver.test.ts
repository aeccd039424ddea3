// One receiver over a real store, with a delivery that the test controls and a clock that it moves.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExportMessage } from '../../appliance/export/message.ts';
import { type Delivery, type Failure, refused, unavailable } from '../../appliance/export/outcome.ts';
import { Receiver } from '../../appliance/export/receiver.ts';
import type { ReceiverSettings } from '../../appliance/export/settings.ts';
import type { Store } from '../../appliance/store/store.ts';
import { ENGINES, type OpenedEngine } from '../store/engines.ts';
import { newAudit, newEvent } from '../store/samples.ts';
import { AT, EVERYTHING, lookUp } from './sample-messages.ts';

const SETTINGS: ReceiverSettings = {
  name: 'hooks',
  target: { kind: 'webhook', url: new URL('https://hooks.example.net/'), secretFile: '/none', ca: null },
  selection: EVERYTHING,
  backfill: true,
};

/** Answers as `answer` says, message by message, and keeps what it accepted. */
class Peer implements Delivery {
  mostAtOnce = 3;
  wholeBatch = false;
  answer: (message: ExportMessage) => Failure | null = () => null;
  readonly accepted: ExportMessage[] = [];
  readonly sizes: number[] = [];

  async deliver(messages: readonly ExportMessage[]) {
    this.sizes.push(messages.length);
    if (this.wholeBatch) {
      const failure = messages.map(this.answer).find((each) => each !== null) ?? null;
      if (failure === null) this.accepted.push(...messages);
      return { accepted: failure === null ? messages.length : 0, failure };
    }
    for (const [accepted, message] of messages.entries()) {
      const failure = this.answer(message);
      if (failure) return { accepted, failure };
      this.accepted.push(message);
    }
    return { accepted: messages.length, failure: null };
  }

  close(): void {}

  get seqs(): number[] {
    return this.accepted.map(({ seq }) => seq);
  }
}

describe.each(ENGINES)('a receiver over $name', (engine) => {
  let opened: OpenedEngine;
  let store: Store;
  let peer: Peer;
  let now: number;
  beforeEach(async () => {
    opened = await engine.open();
    store = opened.store;
    peer = new Peer();
    now = AT;
  });
  afterEach(() => opened.dispose());

  const log = { warn: () => undefined, info: () => undefined };
  const receiver = (changes: Partial<ReceiverSettings> = {}): Receiver =>
    new Receiver({
      settings: { ...SETTINGS, ...changes },
      delivery: peer,
      store,
      lookUp,
      now: () => now,
      random: () => 0,
      newId: () => '0123456789abcdef0123',
      log,
    });
  const happen = (count: number, kind = 'trail.gap') =>
    store.appendEvents(Array.from({ length: count }, (_, n) => newEvent(kind, { at: AT + n })));
  /** Lets time pass until something was tried again, `times` times. */
  const retry = async (of: Receiver, times: number): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      now = of.condition.nextAttempt ?? now;
      await of.turn();
    }
  };
  const kinds = async () => (await store.events({ kind: 'export', limit: 100 })).map(({ kind }) => kind);

  it('gets every event once, in order', async () => {
    await happen(8);
    const one = receiver();
    await one.turn();
    await happen(2);
    await one.turn();
    expect(peer.seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(peer.accepted[0]?.id).toBe('evt_0123456789abcdef_1');
    expect(await store.exportState('hooks')).toMatchObject({ cursor: { seq: 10, delivered: 10 }, waitingSince: null });
  });

  it('gets only events from its start on, unless it asks for older ones', async () => {
    await happen(4);
    const one = receiver({ backfill: false });
    await one.turn();
    await happen(1);
    await one.turn();
    expect(peer.seqs).toEqual([5]);
  });

  it('gets events that happened while it was down, however long, with the same ids', async () => {
    const one = receiver();
    peer.answer = () => unavailable('connection refused');
    await happen(5);
    await retry(one, 30);
    expect(peer.accepted).toEqual([]);
    expect(await store.exportState('hooks')).toMatchObject({ cursor: { seq: 0, lost: 0 }, deadLetters: 0 });
    peer.answer = () => null;
    await happen(2);
    await retry(one, 1);
    expect(peer.seqs).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('is not tried again before its pause is over', async () => {
    const one = receiver();
    peer.answer = () => unavailable('busy', 60_000);
    await happen(1);
    await one.turn();
    await one.turn();
    now += 59_999;
    await one.turn();
    expect(peer.sizes).toEqual([1]);
    now += 1;
    await one.turn();
    expect(peer.sizes).toEqual([1, 1]);
  });

  it('is unreachable after three failures, until the first success', async () => {
    const one = receiver();
    peer.answer = () => unavailable('connection refused');
    await happen(1);
    await retry(one, 2);
    expect(one.isUnreachable).toBe(false);
    await retry(one, 1);
    expect([one.isUnreachable, one.condition]).toMatchObject([
      true,
      { failures: 3, failingSince: AT, lastError: 'connection refused', lastSuccess: null },
    ]);
    peer.answer = () => null;
    await retry(one, 1);
    expect([one.isUnreachable, one.condition]).toMatchObject([
      false,
      { failures: 0, failingSince: null, lastSuccess: now },
    ]);
  });

  it('continues after the last accepted event of a batch', async () => {
    const one = receiver();
    peer.answer = ({ seq }) => (seq === 2 ? unavailable('busy') : null);
    await happen(3);
    await one.turn();
    expect(await store.exportState('hooks')).toMatchObject({ cursor: { seq: 1 } });
    peer.answer = () => null;
    await retry(one, 1);
    expect(peer.seqs).toEqual([1, 2, 3]);
  });

  it('loses no other event when it refuses one, which becomes a dead letter', async () => {
    const one = receiver();
    peer.answer = ({ seq }) => (seq === 2 ? refused('it answered 422') : null);
    await happen(4);
    await retry(one, 6);
    expect(peer.seqs).toEqual([1, 3, 4]);
    expect(await store.deadLetters('hooks', 0, 10)).toMatchObject([
      { event: { seq: 2, kind: 'trail.gap' }, attempts: 5, reason: 'it answered 422', replay: false },
    ]);
    expect(await kinds()).toEqual(['export.dead-letter']);
    expect(one.isUnreachable).toBe(false);
    // The event about it is not sent.
    await retry(one, 2);
    expect(peer.seqs).toEqual([1, 3, 4]);
  });

  it('finds the refused event in a batch that is refused as a whole', async () => {
    const one = receiver();
    peer.wholeBatch = true;
    peer.answer = ({ seq }) => (seq === 2 ? refused('it answered 400') : null);
    await happen(7);
    await retry(one, 8);
    expect(peer.seqs).toEqual([1, 3, 4, 5, 6, 7]);
    expect((await store.deadLetters('hooks', 0, 10)).map(({ event }) => event.seq)).toEqual([2]);
  });

  it('gets a dead letter again, with its id, when that is asked for', async () => {
    const one = receiver();
    peer.answer = ({ seq }) => (seq === 1 ? refused('it answered 422') : null);
    await happen(1);
    await retry(one, 5);
    await store.replayDeadLetters('hooks', null, newAudit('export.replay'));
    await retry(one, 1);
    expect(await store.deadLetters('hooks', 0, 10)).toMatchObject([{ attempts: 6, replay: false }]);
    peer.answer = () => unavailable('busy');
    await store.replayDeadLetters('hooks', null, newAudit('export.replay'));
    await retry(one, 3);
    expect(await store.deadLetters('hooks', 0, 10)).toMatchObject([{ attempts: 6, replay: true }]);
    peer.answer = () => null;
    await retry(one, 1);
    expect(await store.deadLetters('hooks', 0, 10)).toEqual([]);
    expect(peer.accepted.map(({ id }) => id)).toEqual(['evt_0123456789abcdef_1']);
  });

  it('is told which events were deleted before it could be reached', async () => {
    const one = receiver();
    await one.turn();
    await happen(9);
    await store.trimEvents(0, 3);
    await one.turn();
    expect(peer.accepted.map(({ kind, seq, data }) => [kind, seq, data])).toMatchObject([
      ['export.lost', 6, { from: 1, to: 6, count: 6 }],
      ['trail.gap', 7, {}],
      ['trail.gap', 8, {}],
      ['trail.gap', 9, {}],
    ]);
    expect(await store.exportState('hooks')).toMatchObject({ cursor: { delivered: 3, lost: 6 } });
    expect(await kinds()).toEqual(['export.lost']);
  });

  it('gets an event again when the process died after the delivery and before the cursor moved', async () => {
    await happen(2);
    const dying = { ...store, advanceExport: () => Promise.reject(new Error('killed')) };
    const first = new Receiver({
      ...{ settings: SETTINGS, delivery: peer, store: dying, lookUp, now: () => now, random: () => 0, log },
      newId: () => 'feedfeedfeedfeed',
    });
    await expect(first.turn()).rejects.toThrow('killed');
    await receiver().turn();
    expect(peer.accepted.map(({ id }) => id)).toEqual([1, 2, 1, 2].map((seq) => `evt_feedfeedfeedfeed_${seq}`));
  });

  it('moves past a long stretch of events that it does not select', async () => {
    await happen(450, 'dhcp.offer');
    await happen(1);
    await receiver({ selection: { ...EVERYTHING, kinds: ['trail'] } }).turn();
    expect(peer.seqs).toEqual([451]);
  });

  it('sends nothing after it was stopped', async () => {
    const one = receiver();
    await happen(1);
    one.stop();
    await one.turn();
    expect(peer.sizes).toEqual([]);
  });
});
