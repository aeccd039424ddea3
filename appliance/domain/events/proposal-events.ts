// Events of proposals.

import { Type } from 'typebox';
import { also, nullable, number, rowsOf, text, texts } from './event-row.ts';

const row = rowsOf('proposals');
const which = { proposal: text, subject: text, what: text };

export const PROPOSAL_EVENTS = {
  'proposal.made': row(
    'warning',
    { ...which, hash: text, impact: texts, approvals_needed: number },
    (data, actor) =>
      `Proposal ${data.proposal} by ${actor} waits for ${data.approvals_needed === 1 ? 'an approval' : `${data.approvals_needed} approvals`}: ${data.what}`,
  ),
  'proposal.approved': row(
    'info',
    { ...which, hash: text, role: text, approvals: number, approvals_needed: number, note: nullable(text) },
    (data, actor) =>
      `Proposal ${data.proposal} was approved by ${actor} (${data.approvals} of ${data.approvals_needed}): ${data.what}${also(data.note, (note) => `; ${note}`)}`,
  ),
  'proposal.carried_out': row(
    'info',
    { ...which, proposed_by: text, approved_by: texts },
    (data) => `Proposal ${data.proposal} was carried out: ${data.what}; approved by ${data.approved_by.join(', ')}`,
  ),
  'proposal.ended': row(
    'warning',
    { ...which, state: Type.Enum(['rejected', 'expired', 'failed']), reason: nullable(text) },
    (data) =>
      `Proposal ${data.proposal} ${data.state === 'rejected' ? 'was rejected' : `has ${data.state}`}: ${data.what}${also(data.reason, (reason) => `; ${reason}`)}`,
  ),
};
