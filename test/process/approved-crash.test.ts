// A proposal is carried out exactly once, wherever the appliance is killed between its approval and its end.

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Proposal, ProposalId } from '../../appliance/domain/proposal.ts';
import { approved } from '../../appliance/proposals/decide.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { AgentSite } from './agent-site.ts';

let agents: AgentSite;
let before = 0;
beforeAll(async () => {
  agents = await new AgentSite().up();
});
afterAll(() => agents.end());
beforeEach(async () => {
  before = await allRetirements();
});
afterEach(() => agents.api('operator', 'POST', '/nodes/node01/reactivate', {}));

const propose = () => agents.api('agent', 'POST', '/proposals', { operation: 'retireNode', node: 'node01' });
const stateOf = async (id: string) => (await agents.api('viewer', 'GET', `/proposals/${id}`)).state;
const allRetirements = async (): Promise<number> =>
  (await agents.api('viewer', 'GET', '/events?node=node01&kind=lifecycle.retired')).events.length;
/** In this test. */
const retirements = async () => (await allRetirements()) - before;

/** Writes to the store of the stopped appliance. */
async function edited(id: string, edit: (proposal: Proposal) => Proposal): Promise<void> {
  const store = await openSqliteStore({ file: join(agents.site.state, 'coldiron.db') });
  const proposal = await store.proposal(id as ProposalId);
  if (!proposal) throw new Error('the proposal is gone');
  await store.updateProposal(edit(proposal), [], []);
  await store.close();
}

describe('an appliance that was killed', () => {
  it('carries out a proposal that was approved and not begun', async () => {
    const { id, hash } = await propose();
    await agents.serving.end('SIGKILL');
    const by = { at: Date.now(), correlationId: null, hash, note: null };
    await edited(id, (proposal) => approved(proposal, { actor: 'token:operator', role: 'operator' }, by).proposal);
    await agents.restart();
    await expect.poll(() => stateOf(id)).toBe('carried-out');
    expect(await retirements()).toBe(1);
  });

  it('does not repeat a command that was committed before the proposal was marked', async () => {
    const { id, hash } = await propose();
    await agents.api('operator', 'POST', `/proposals/${id}/approve`, { hash });
    expect(await retirements()).toBe(1);
    await agents.serving.end('SIGKILL');
    await edited(id, (proposal) => ({ ...proposal, state: 'approved', result: null, version: proposal.version + 1 }));
    await agents.restart();
    await expect.poll(() => stateOf(id)).toBe('carried-out');
    expect(await retirements()).toBe(1);
  });

  it('ends every approval that it has accepted, wherever it was killed', async () => {
    for (const delay of [0, 4]) {
      const { id, hash } = await propose();
      const sent = agents.answer('operator', 'POST', `/proposals/${id}/approve`, { hash }).catch(() => null);
      // The moment of the kill; nothing is waited for.
      await new Promise((resolve) => setTimeout(resolve, delay));
      await agents.serving.end('SIGKILL');
      const answer = await sent;
      await agents.restart();
      await expect.poll(() => stateOf(id)).not.toBe('approved');
      const state = await stateOf(id);
      if (answer?.ok) expect(state).toBe('carried-out');
      expect([state, await retirements()]).toEqual(state === 'carried-out' ? [state, 1] : ['proposed', 0]);
      if (state === 'carried-out') break;
      await agents.api('operator', 'POST', `/proposals/${id}/reject`, { reason: 'again' });
    }
  });
});
