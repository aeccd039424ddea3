import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import { HOUR } from '../../appliance/domain/instant.ts';
import type { Proposal } from '../../appliance/domain/proposal.ts';
import { type Fixture, openApi, START } from '../api/api-fixture.ts';
import { aProposal } from '../proposals/sample.ts';
import { runColdiron } from './run-coldiron.ts';

let api: Fixture;
let proposal: Proposal;
beforeEach(async () => {
  api = await openApi({ deps: () => ({ authenticate: localAuthenticator('test') }) });
  await api.app.listen({ path: join(api.stateDir, 'coldiron.sock') });
  const [node] = [...api.fleet.machines()];
  const times = { proposedAt: START, expiresAt: START + HOUR };
  proposal = aProposal(7, { params: { node: node?.id ?? '' }, expects: node?.version ?? 0, ...times });
  await api.store.createProposal(proposal, [], [], 9);
});
afterEach(() => api.close());

const coldiron = (...args: string[]) => runColdiron(api.stateDir, args);

describe('coldiron proposals', () => {
  it('lists and shows what waits, with its hash and the next step', async () => {
    const { stdout } = await coldiron('proposals', 'list');
    expect(stdout).toMatch(
      /^\S+7 +proposed +0 of 1 +agent:night-watch +2026-01-15T09:00:00.000Z +Take a node out of use/m,
    );
    const shown = await coldiron('proposals', 'show', proposal.id);
    expect(shown.stdout).toContain(`hash ${proposal.hash}`);
    expect(shown.stdout).toContain(`next: a person, not the agent, with the role operator can approve it`);
  });

  it('approves only with a confirmation or the hash, and carries it out', async () => {
    const unsure = await coldiron('proposals', 'approve', proposal.id);
    expect([unsure.status, unsure.stderr]).toEqual([
      2,
      expect.stringContaining('this approves: Take a node out of use'),
    ]);
    const other = await coldiron('proposals', 'approve', proposal.id, '--hash', 'other');
    expect([other.status, other.stderr]).toEqual([5, expect.stringContaining('hash: the hash of this proposal is')]);
    const done = await coldiron('proposals', 'approve', proposal.id, '--yes', '--note', 'agreed', '--json');
    expect(done.status, done.stderr).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({
      state: 'carried-out',
      approvals: [{ by: 'local:test', note: 'agreed' }],
    });
    expect((await coldiron('proposals', 'list', '--json')).stdout.trim()).toBe('[]');
  });

  it('rejects with a reason, and reports what does not exist', async () => {
    const { stdout } = await coldiron('proposals', 'reject', proposal.id, '--reason', 'not tonight');
    expect(stdout).toContain('rejected: Take a node out of use');
    const missing = await coldiron('proposals', 'show', 'nothing');
    expect([missing.status, missing.stderr]).toEqual([4, expect.stringContaining('coldiron proposals list --all')]);
    const rollback = await coldiron('skus', 'rollback', 'gp1');
    expect([rollback.status, rollback.stderr]).toEqual([5, expect.stringContaining('has no earlier version')]);
  });
});
