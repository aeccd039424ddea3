// Proposals: changes that wait for the approval of people.

import { Type } from 'typebox';
import { PROPOSAL_STATES } from '../../domain/proposal.ts';
import { ROLES } from '../../domain/token.ts';
import { PROPOSABLE_IDS } from '../proposable.ts';
import { component, nullable, PageSize, Time } from './shared.ts';

const closed = { additionalProperties: false } as const;
const Role = Type.Enum([...ROLES]);

export const Proposal = component(
  'Proposal',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    state: Type.Enum([...PROPOSAL_STATES]),
    since: Time,
    operation: Type.String({ description: 'The operation that is carried out' }),
    params: Type.Unknown({ description: 'Its parameters' }),
    body: Type.Unknown({ description: 'Its body; of a change of a SKU, the value before and after' }),
    expects: nullable(Type.Integer({ description: 'The version of the node that it was planned for' })),
    subject: Type.String({ description: 'node:NAME or sku:NAME' }),
    what: Type.String({ description: 'What happens, in one sentence' }),
    impact: Type.Array(Type.String(), { description: 'What is affected, one line each' }),
    hash: Type.String({ description: 'Covers everything above; an approval names it' }),
    proposed_by: Type.String(),
    by_agent: Type.Boolean(),
    proposed_at: Time,
    expires_at: Time,
    approvals_needed: Type.Integer(),
    approver_role: Role,
    different_roles: Type.Boolean({ description: 'The approvers have different roles' }),
    approvals: Type.Array(Type.Object({ by: Type.String(), role: Role, at: Time, note: nullable(Type.String()) })),
    carried_out_by: Type.Enum(['appliance', 'apply'], {
      description: 'appliance: with the last approval. apply: by the next apply of the files that make this change',
    }),
    reason: nullable(Type.String({ description: 'Why it was rejected, has expired or has failed' })),
    result: Type.Unknown({ description: 'The answer of the operation; null: none yet' }),
    next_step: Type.String({ description: 'What can be done now' }),
  }),
);

export const ProposalReference = Type.Object({ proposal: Type.String({ description: 'Its id' }) }, closed);

export const ProposalFilter = Type.Object(
  {
    state: Type.Optional(Type.Enum([...PROPOSAL_STATES])),
    open: Type.Optional(Type.Boolean({ description: 'Only those that wait for approvals or for an apply (false)' })),
    limit: PageSize(50, 500),
  },
  closed,
);

export const NewProposal = Type.Object(
  {
    operation: Type.Enum([...PROPOSABLE_IDS]),
    node: Type.String({ maxLength: 300, description: 'Id, host name or MAC address' }),
    body: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The body of the operation, without `confirm`' }),
    ),
  },
  closed,
);

const note = Type.Optional(Type.String({ minLength: 1, maxLength: 500 }));

export const ApprovalBody = Type.Object(
  { hash: Type.String({ maxLength: 128, description: 'The hash of the proposal, as it was read' }), note },
  closed,
);

export const RejectionBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 500 }) }, closed);

export const SkuReference = Type.Object({ sku: Type.String({ description: 'Its name' }) }, closed);
