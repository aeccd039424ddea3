import { expect, it } from 'vitest';
import { DAY } from '../../../appliance/domain/instant.ts';
import type { Proposal, ProposalId } from '../../../appliance/domain/proposal.ts';
import { aProposal } from '../../proposals/sample.ts';
import { type Engine, useStore } from '../engines.ts';
import { allEvents, inventoryWrites, newAudit, newEvent } from '../samples.ts';

const EVENT = newEvent('proposal.made');
const AUDIT = newAudit('proposal.made');
const next = (one: Proposal, changes: Partial<Proposal>): Proposal => ({
  ...one,
  ...changes,
  version: one.version + 1,
});

export function proposalsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('keeps a proposal as it was written, with its event and audit entry', async () => {
    const { store } = opened();
    const proposal = aProposal(1);
    expect(await store.createProposal(proposal, [EVENT], [AUDIT], 9)).toEqual(proposal);
    expect(await store.proposal(proposal.id)).toEqual(proposal);
    expect(await store.proposal('nothing' as ProposalId)).toBeNull();
    expect((await allEvents(store)).map(({ kind }) => kind)).toEqual(['proposal.made']);
    expect(await store.auditEntries(0, 10)).toHaveLength(1);
  });

  it('has one open proposal of the same change, and a new one when that is over', async () => {
    const { store } = opened();
    const first = aProposal(1);
    await store.createProposal(first, [], [], 9);
    expect(await store.createProposal(aProposal(2), [EVENT], [AUDIT], 9)).toEqual(first);
    expect(await allEvents(store)).toEqual([]);
    await store.updateProposal(next(first, { state: 'rejected' }), [], []);
    expect((await store.createProposal(aProposal(2), [], [], 9)).id).toBe(aProposal(2).id);
  });

  it('limits the open proposals of one proposer', async () => {
    const { store } = opened();
    await store.createProposal(aProposal(1), [], [], 1);
    const second = aProposal(2, { params: { node: 'another' } });
    await expect(store.createProposal(second, [EVENT], [AUDIT], 1)).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.proposal(second.id)).toBeNull();
    const other = aProposal(3, { params: { node: 'another' }, proposedBy: 'agent:other' });
    await store.createProposal(other, [], [], 1);
  });

  it('rejects a write that is based on an older record, with its event', async () => {
    const { store } = opened();
    const proposal = aProposal(1);
    await store.createProposal(proposal, [], [], 9);
    await store.updateProposal(next(proposal, { state: 'approved' }), [], []);
    await expect(store.updateProposal(next(proposal, { state: 'rejected' }), [EVENT], [AUDIT])).rejects.toMatchObject({
      code: 'version_conflict',
    });
    expect((await store.proposal(proposal.id))?.state).toBe('approved');
    expect(await allEvents(store)).toEqual([]);
    expect(await store.auditEntries(0, 10)).toEqual([]);
  });

  it('lists by state and subject, the newest first', async () => {
    const { store } = opened();
    await store.createProposal(aProposal(1), [], [], 9);
    await store.createProposal(aProposal(2, { params: {}, subject: 'sku:r640' }), [], [], 9);
    await store.updateProposal(next(aProposal(1), { state: 'expired' }), [], []);
    const ids = async (query: object) => (await store.proposals({ limit: 9, ...query })).map(({ id }) => id);
    const [one, two] = [aProposal(1).id, aProposal(2).id];
    expect(await ids({})).toEqual([two, one]);
    expect(await ids({ states: ['proposed', 'approved'] })).toEqual([two]);
    expect(await ids({ subject: 'sku:r640' })).toEqual([two]);
    expect(await ids({ limit: 1 })).toEqual([two]);
  });

  it('settles a proposal together with the inventory that carries it out, or writes neither', async () => {
    const { store } = opened();
    const proposal = aProposal(1);
    await store.createProposal(proposal, [], [], 9);
    const settled = next(proposal, { state: 'carried-out' });
    const stale = { ...settled, version: settled.version + 1 };
    const { declaredRevision } = await store.inventory();
    await expect(
      store.writeInventory(inventoryWrites(declaredRevision, { proposals: [stale], events: [EVENT] })),
    ).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await allEvents(store)).toEqual([]);
    await store.writeInventory(inventoryWrites(declaredRevision, { proposals: [settled], events: [EVENT] }));
    expect((await store.proposal(proposal.id))?.state).toBe('carried-out');
  });

  it('deletes old proposals that are over, except those of SKUs, and keeps open ones', async () => {
    const { store } = opened();
    const ended = { state: 'expired', since: 0 } as const;
    for (const [n, subject] of [
      [1, 'node:a'],
      [2, 'sku:a'],
      [3, 'node:b'],
    ] as const) {
      await store.createProposal(aProposal(n, { subject, params: { n } }), [], [], 9);
    }
    await store.updateProposal(next(aProposal(1, { subject: 'node:a', params: { n: 1 } }), ended), [], []);
    await store.updateProposal(next(aProposal(2, { subject: 'sku:a', params: { n: 2 } }), ended), [], []);
    expect(await store.trimProposals(DAY)).toBe(1);
    expect((await store.proposals({ limit: 9 })).map(({ subject }) => subject)).toEqual(['node:b', 'sku:a']);
  });
}
