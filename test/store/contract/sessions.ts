import { expect, it } from 'vitest';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SessionId } from '../../../appliance/domain/session.ts';
import type { MediumMark, SessionMedium } from '../../../appliance/domain/session-medium.ts';
import type { Write } from '../../../appliance/store/change.ts';
import { KEPT_FACTS, type NewTicket, type Opening, type Reopening } from '../../../appliance/store/session-store.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { ASSERTED } from '../../provisioning/sessions/asserted.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, address, eventKinds, intentFor, NOW, newAudit, newEvent, transitionOf } from '../samples.ts';
import { changeOf, type Recorded, writesTo } from '../writes.ts';

let count = 0;
const ticketFor = (machine: Machine, differing: Partial<NewTicket> = {}): NewTicket => {
  count += 1;
  return {
    id: `session-${count}` as SessionId,
    machine: machine.id,
    mode: 'commission',
    order: { mode: 'commission', tests: [{ name: 'memory' }] },
    ticketHash: `ticket-${count}`,
    madeAt: NOW,
    expiresAt: NOW + 15 * MINUTE,
    ...differing,
  };
};

const openingOf = ({ ticketHash }: NewTicket, differing: Partial<Opening> = {}): Opening & Recorded => ({
  ticketHash,
  keyHash: `key of ${ticketHash}`,
  nonceHash: null,
  now: NOW + 1,
  expiresAt: NOW + 60 * MINUTE,
  identity: ASSERTED,
  event: newEvent('opened'),
  audit: newAudit('session.opened'),
  ...differing,
});

const reportOf = (ticket: NewTicket, sequence: number, step = 'inspect') => ({
  id: ticket.id,
  sequence,
  step: { step, status: 'started' as const, percent: null, message: null, at: NOW + sequence },
  event: newEvent('stepped'),
});

export function sessionsContract(engine: Engine): void {
  const opened = useStore(engine);
  const withTicket = async (differing: Partial<NewTicket> = {}) => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const ticket = ticketFor(machine, differing);
    await writesTo(store).putTicket(ticket);
    return { store, machine, ticket };
  };
  const withSession = async () => {
    const created = await withTicket();
    expect(await writesTo(created.store).openSession(openingOf(created.ticket))).toBe(true);
    return created;
  };
  const sessionOf = (store: Store, { ticketHash }: NewTicket) => store.sessionByTicket(ticketHash);

  it('marks a step that stands still once, and not one that has moved or ended', async () => {
    const { store, ticket } = await withSession();
    const progress = { bytes: 7, moved: { at: NOW + 1, bytes: 7 }, stalledAt: null };
    const report = reportOf(ticket, 1, 'write-image');
    await writesTo(store).reportStep({ ...report, step: { ...report.step, status: 'progress', progress } });
    expect(await writesTo(store).markStalled(ticket.id, NOW, NOW + MINUTE), 'it has moved').toBe(false);
    expect(await writesTo(store).markStalled(ticket.id, NOW + 1, NOW + MINUTE)).toBe(true);
    expect((await sessionOf(store, ticket))?.last?.progress).toEqual({ ...progress, stalledAt: NOW + MINUTE });
    expect(await writesTo(store).markStalled(ticket.id, NOW + 1, NOW + MINUTE), 'again').toBe(false);
    await writesTo(store).reportStep({ ...reportOf(ticket, 2, 'write-image'), step: { ...report.step, progress } });
    await writesTo(store).endSession(ticket.id, 'failed', NOW + 2, null, newEvent('ended'));
    expect(await writesTo(store).markStalled(ticket.id, NOW + 1, NOW + MINUTE), 'ended').toBe(false);
  });

  it('stores a ticket with its order, and finds it only by its hash', async () => {
    const { store, machine, ticket } = await withTicket();
    expect(await sessionOf(store, ticket)).toEqual({
      id: ticket.id,
      machine: machine.id,
      mode: 'commission',
      order: ticket.order,
      ticketMadeAt: NOW,
      ticketExpiresAt: NOW + 15 * MINUTE,
      openedAt: null,
      expiresAt: null,
      heardAt: null,
      identity: null,
      sequence: 0,
      last: null,
      ended: null,
    });
    expect(await store.sessionByTicket('another')).toBeNull();
    expect(await store.sessionByKey('another')).toBeNull();
  });

  it('replaces an unused ticket with a newer one', async () => {
    const { store, machine, ticket } = await withTicket();
    const newer = ticketFor(machine, { madeAt: NOW + 5 });
    await writesTo(store).putTicket(newer);
    expect(await sessionOf(store, ticket)).toBeNull();
    expect(await writesTo(store).openSession(openingOf(ticket))).toBe(false);
    expect(await writesTo(store).openSession(openingOf(newer, { now: NOW + 6 }))).toBe(true);
  });

  it('is opened by exactly one of many concurrent callers, with event and audit entry', async () => {
    const { store, ticket } = await withTicket();
    const other = await opened().another();
    const tries = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        writesTo(n % 2 ? store : other).openSession(openingOf(ticket, { keyHash: `k${n}` })),
      ),
    );
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect(await eventKinds(store)).toEqual(['opened']);
    expect((await store.auditEntries(0, 10)).at(-1)).toMatchObject({ action: 'session.opened' });
    const key = `k${tries.indexOf(true)}`;
    expect(await store.sessionByKey(key)).toMatchObject({ id: ticket.id, openedAt: NOW + 1, heardAt: NOW + 1 });
  });

  it('is reopened with the same nonce, until the first report', async () => {
    const { store, ticket } = await withTicket();
    const again = (differing: Partial<Reopening> = {}) =>
      writesTo(store).reopenSession({
        ticketHash: ticket.ticketHash,
        keyHash: 'new key',
        nonceHash: 'nonce',
        openedSince: NOW,
        identity: ASSERTED,
        event: newEvent('reopened'),
        audit: newAudit('session.reopened'),
        ...differing,
      });
    expect(await again()).toBe(false);
    await writesTo(store).openSession(openingOf(ticket, { nonceHash: 'nonce' }));
    expect(await again({ nonceHash: 'another' })).toBe(false);
    expect(await again({ openedSince: NOW + 2 })).toBe(false);
    expect(await eventKinds(store)).toEqual(['opened']);
    expect(await again()).toBe(true);
    expect(await eventKinds(store)).toEqual(['opened', 'reopened']);
    expect(await store.sessionByKey('new key')).toMatchObject({ id: ticket.id, openedAt: NOW + 1 });
    expect(await store.sessionByKey(`key of ${ticket.ticketHash}`)).toBeNull();
    await writesTo(store).reportStep(reportOf(ticket, 1));
    expect(await again()).toBe(false);
  });

  it('is not opened after its end, nor for a removed machine', async () => {
    const { store, machine, ticket } = await withTicket();
    expect(await writesTo(store).openSession(openingOf(ticket, { now: ticket.expiresAt }))).toBe(false);
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    expect(await writesTo(store).openSession(openingOf(ticket))).toBe(false);
  });

  it('ends the older session of the machine when a newer one is opened, and not before', async () => {
    const { store, machine, ticket } = await withSession();
    const newer = ticketFor(machine, { madeAt: NOW + 5 });
    await writesTo(store).putTicket(newer);
    expect(await writesTo(store).reportStep(reportOf(ticket, 1))).toBe(true);
    await writesTo(store).openSession(openingOf(newer, { now: NOW + 9 }));
    expect((await sessionOf(store, ticket))?.ended).toMatchObject({ how: 'superseded', at: NOW + 9 });
    expect(await writesTo(store).reportStep(reportOf(ticket, 2))).toBe(false);
    expect((await store.sessionsOf(machine.id, 10)).map(({ id }) => id)).toEqual([newer.id, ticket.id]);
    expect(await store.sessionsOf(machine.id, 1)).toHaveLength(1);
  });

  it('accepts each report once, in order', async () => {
    const { store, ticket } = await withSession();
    expect(await writesTo(store).reportStep(reportOf(ticket, 2, 'choose-disk'))).toBe(true);
    expect(await writesTo(store).reportStep(reportOf(ticket, 2, 'write-image'))).toBe(false);
    expect(await writesTo(store).reportStep(reportOf(ticket, 1))).toBe(false);
    expect(await sessionOf(store, ticket)).toMatchObject({
      sequence: 2,
      heardAt: NOW + 2,
      last: { step: 'choose-disk', status: 'started' },
    });
    expect(await eventKinds(store)).toEqual(['opened', 'stepped']);
  });

  it('refuses reports before it is opened', async () => {
    const { store, ticket } = await withTicket();
    expect(await writesTo(store).reportStep(reportOf(ticket, 1))).toBe(false);
    expect(await writesTo(store).endSession(ticket.id, 'succeeded', NOW, null, newEvent('ended'))).toBe(false);
  });

  it('ends once', async () => {
    const { store, ticket } = await withSession();
    expect(await writesTo(store).endSession(ticket.id, 'failed', NOW + 9, 'no disk', newEvent('ended'))).toBe(true);
    expect(await writesTo(store).endSession(ticket.id, 'succeeded', NOW + 10, null, newEvent('ended'))).toBe(false);
    expect((await sessionOf(store, ticket))?.ended).toEqual({ how: 'failed', at: NOW + 9, reason: 'no disk' });
    expect(await eventKinds(store)).toEqual(['opened', 'ended']);
  });

  it('is opened together with the consumption of an intent, or neither is written', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const intent = intentFor(machine);
    await writesTo(store).armIntent(intent, newEvent('intent.armed'), newAudit('intent.arm'));
    const [first, second] = [ticketFor(machine), ticketFor(machine)];
    const tries = await Promise.all(
      [first, second].map((ticket) =>
        writesTo(store).consumeIntent(intent.id, NOW + 1, newEvent('intent.consumed'), ticket),
      ),
    );
    expect(tries).toEqual([true, false]);
    expect(await sessionOf(store, first)).toMatchObject({ id: first.id, openedAt: null });
    expect(await sessionOf(store, second)).toBeNull();
  });

  it('is ended with all sessions of its machine, used or not', async () => {
    const { store, machine, ticket } = await withSession();
    await writesTo(store).putTicket(ticketFor(machine, { madeAt: NOW + 5 }));
    await writesTo(store).endSessionsOf(machine.id, 'cancelled', NOW + 9, 'quarantined');
    await writesTo(store).endSessionsOf(machine.id, 'failed', NOW + 10, 'again');
    const ends = (await store.sessionsOf(machine.id, 10)).map(({ ended }) => ended);
    expect(ends).toEqual(Array(2).fill({ how: 'cancelled', at: NOW + 9, reason: 'quarantined' }));
    expect((await sessionOf(store, ticket))?.ended).toMatchObject({ how: 'cancelled', reason: 'quarantined' });
  });

  it('delivers a file once', async () => {
    const { store, ticket } = await withSession();
    const other = await opened().another();
    const take = (from: Store, name: string) =>
      writesTo(from).takeSessionFile(ticket.id, name, NOW, newAudit(`file.${name}`));
    const tries = await Promise.all([store, other, store, other].map((from) => take(from, 'user-data')));
    expect(tries.filter(Boolean)).toHaveLength(1);
    expect(await take(store, 'meta-data')).toBe(true);
    const actions = (await store.auditEntries(0, 10)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'file.user-data')).toHaveLength(1);
  });

  it('keeps the newest medium of a machine, whose secret one session uses', async () => {
    const { store, machine, ticket } = await withTicket();
    const commit = async (...writes: readonly Write[]) =>
      (await store.commit({ ...changeOf(machine.id), writes })).outcome;
    const medium = (salt: string): SessionMedium => ({
      ...{ machine: machine.id, salt, pathHash: `path of ${salt}`, bmc: address('10.2.10.0', 1) },
      ...{ since: NOW, madeAt: NOW + 1, expiresAt: NOW + 9 },
      ...{ insertedAt: null, fetchedAt: null, usedBy: null, endedAt: null },
    });
    expect(await store.mediumOf(machine.id)).toBeNull();
    expect(await commit({ kind: 'put-medium', medium: medium('one') })).toBe('committed');
    expect(await commit({ kind: 'put-medium', medium: medium('two') })).toBe('committed');
    expect(await store.mediumByPath('path of one')).toBeNull();
    expect(await store.mediumByPath('path of two')).toEqual(medium('two'));
    const mark = (salt: string, what: MediumMark): Write => ({ kind: 'mark-medium', salt, mark: what, at: NOW + 2 });
    expect(await commit(mark('one', 'inserted'))).toBe('refused');
    expect(await commit(mark('two', 'inserted'))).toBe('committed');
    expect(await commit(mark('two', 'inserted'))).toBe('refused');
    expect(await commit(mark('two', 'fetched'))).toBe('committed');
    const use = (salt: string, session: SessionId): Write => ({ kind: 'use-medium', salt, session });
    expect(await commit(use('one', ticket.id))).toBe('refused');
    expect(await commit(use('two', ticket.id))).toBe('committed');
    expect(await commit(use('two', ticket.id))).toBe('committed');
    expect(await commit(use('two', 'another' as SessionId))).toBe('refused');
    expect(await store.unendedMedia()).toEqual([
      { ...medium('two'), insertedAt: NOW + 2, fetchedAt: NOW + 2, usedBy: ticket.id },
    ]);
    expect(await commit(mark('two', 'ended'))).toBe('committed');
    expect(await store.unendedMedia()).toEqual([]);
    expect((await store.mediumOf(machine.id))?.endedAt).toBe(NOW + 2);
  });

  it('keeps the newest facts of each machine', async () => {
    const { store, machine } = await withTicket();
    const other = await addMachine(store, 2);
    for (let at = 1; at <= KEPT_FACTS + 2; at += 1) {
      await writesTo(store).putFacts(machine.id, { facts: { memory: { bytes: at } }, at: NOW + at }, newEvent('found'));
    }
    const stored = await store.factsOf(machine.id);
    expect(stored.map(({ at }) => at - NOW)).toEqual([7, 6, 5, 4, 3]);
    expect(stored[0]?.facts).toEqual({ memory: { bytes: 7 } });
    expect(await store.factsOf(other.id)).toEqual([]);
  });
}
