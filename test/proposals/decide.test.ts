import { describe, expect, it } from 'vitest';
import type { ColdironError } from '../../appliance/domain/errors.ts';
import { HOUR } from '../../appliance/domain/instant.ts';
import type { Approver, Proposal } from '../../appliance/domain/proposal.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { approved, carriedOut, ended, rejected } from '../../appliance/proposals/decide.ts';
import { aProposal } from './sample.ts';

const person = (name: string, role: Role): Approver => ({ actor: `token:${name}`, role });
const approve = (proposal: Proposal, approver: Approver, changes: { hash?: string; at?: number } = {}) =>
  approved(proposal, approver, { hash: proposal.hash, at: 2000, correlationId: null, note: null, ...changes });

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    const { code, message } = error as ColdironError;
    return `${code}: ${message}`;
  }
  return 'allowed';
}

const ofSku = (changes: Partial<Parameters<typeof aProposal>[1]> = {}): Proposal =>
  aProposal(1, {
    ...{ carriedOutBy: 'apply', byAgent: false, proposedBy: 'token:ada', principal: 'token:ada', role: 'admin' },
    ...{ needs: { approvals: 2, role: 'operator', differentRoles: true }, ...changes },
  });

describe('the approval of a proposal by an agent', () => {
  it('arms it, with an event and an audit entry that name the approver', () => {
    const { proposal, events, audit } = approve(aProposal(1), person('bo', 'operator'));
    expect(proposal).toMatchObject({
      state: 'approved',
      version: 2,
      approvals: [{ by: 'token:bo', role: 'operator' }],
    });
    expect(events).toMatchObject([{ kind: 'proposal.approved', actor: 'token:bo' }]);
    expect(audit).toMatchObject([
      { action: 'proposal.approved', actor: 'token:bo', target: `proposal:${proposal.id}` },
    ]);
  });

  it.each([
    ['the agent itself', { actor: 'agent:night-watch', role: 'agent' }, /^forbidden: an agent cannot approve/],
    ['another agent', { actor: 'agent:other', role: 'agent' }, /^forbidden: an agent cannot approve/],
    ['a person who acts over MCP', { actor: 'agent:bo', role: 'admin' }, /^forbidden: an agent cannot approve/],
    ['a lower role', person('cy', 'tech'), /^forbidden: an approval of this needs the role operator/],
    ['a viewer', person('di', 'viewer'), /^forbidden: an approval of this needs the role operator/],
  ] as const)('is refused to %s', (_who, approver, reason) => {
    expect(refusal(() => approve(aProposal(1), approver))).toMatch(reason);
  });

  it('is refused to the person whose token the agent used, and to people without a higher role', () => {
    const byToken = aProposal(1, { principal: 'token:bo', role: 'operator', proposedBy: 'agent:bo' });
    expect(refusal(() => approve(byToken, person('bo', 'operator')))).toMatch(/^forbidden: token:bo made this/);
    expect(refusal(() => approve(byToken, person('ed', 'operator')))).toMatch(/the approver needs a higher one$/);
    expect(refusal(() => approve(byToken, person('flo', 'admin')))).toBe('allowed');
  });

  it('is about exactly one hash, which differs with the change, the impact and the proposal', () => {
    expect(refusal(() => approve(aProposal(1), person('bo', 'admin'), { hash: 'other' }))).toMatch(/^conflict: hash: /);
    const hashes = [
      aProposal(1),
      aProposal(2),
      aProposal(1, { body: { note: 'x' } }),
      aProposal(1, { impact: [] }),
      aProposal(1, { expects: 4 }),
    ].map(({ hash }) => hash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('is refused when it has expired or is over, with the reason', () => {
    const late = { at: 1000 + HOUR };
    expect(refusal(() => approve(aProposal(1), person('bo', 'admin'), late))).toMatch(/^conflict: .* has expired at/);
    const by = { actor: 'appliance', at: 3000, correlationId: null };
    const failed = ended(aProposal(1), 'failed', 'the disk is gone', by).proposal;
    expect(refusal(() => approve(failed, person('bo', 'admin')))).toMatch(/is failed since .*: the disk is gone$/);
    const done = carriedOut(approve(aProposal(1), person('bo', 'admin')).proposal, null, by).proposal;
    expect(refusal(() => approve(done, person('cy', 'admin')))).toMatch(/^conflict: the proposal is carried-out/);
    const armed = approve(aProposal(1), person('bo', 'admin')).proposal;
    expect(refusal(() => approve(armed, person('cy', 'admin')))).toMatch(/was approved by token:bo$/);
  });
});

describe('two approvals with different roles', () => {
  it('arm it with the second one', () => {
    const first = approve(ofSku(), person('bo', 'operator')).proposal;
    expect(first.state).toBe('proposed');
    expect(approve(first, person('ada', 'admin')).proposal.state).toBe('approved');
  });

  it('are not two approvals by one person, or with one role', () => {
    const first = approve(ofSku(), person('bo', 'operator')).proposal;
    expect(refusal(() => approve(first, person('bo', 'operator')))).toMatch(/^conflict: token:bo has approved this/);
    expect(refusal(() => approve(first, person('cy', 'operator')))).toMatch(
      /^forbidden: token:bo has approved this as/,
    );
  });
});

describe('a rejection', () => {
  it('ends it with its reason; a role that could not approve cannot reject', () => {
    const by = { at: 2000, correlationId: null, reason: 'not tonight' };
    expect(refusal(() => rejected(aProposal(1), person('cy', 'tech'), by))).toMatch(/^forbidden/);
    const { proposal } = rejected(aProposal(1), person('bo', 'operator'), by);
    expect(proposal).toMatchObject({ state: 'rejected', reason: 'not tonight' });
    expect(refusal(() => rejected(proposal, person('bo', 'operator'), by))).toMatch(/^conflict: .* not tonight$/);
  });
});
