// The verbs of proposals, and of the rollback of a SKU, which is one.

import type { Answer } from '../contract/wire.ts';
import { confirmed } from './confirmed.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { type Output, printable, printJson, standardOutput, table } from './terminal.ts';

type Proposal = Answer<'getProposal'>;

interface ListOptions extends ConnectionOptions {
  readonly all?: boolean;
}

export async function listProposals(options: ListOptions): Promise<void> {
  const query = options.all ? {} : { open: 'true' };
  const { proposals } = await operate(await connect(options), 'listProposals', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, proposals);
  const rows = proposals.map((each) => [
    each.id,
    each.state,
    `${each.approvals.length} of ${each.approvals_needed}`,
    each.proposed_by,
    each.expires_at,
    each.what,
  ]);
  output.write(table(output, ['ID', 'STATE', 'APPROVALS', 'PROPOSED BY', 'EXPIRES', 'WHAT'], rows));
}

export async function showProposal(proposal: string, options: ConnectionOptions): Promise<void> {
  print(await operate(await connect(options), 'getProposal', { params: { proposal } }), options);
}

interface ApproveOptions extends ConnectionOptions {
  readonly hash?: string;
  readonly note?: string;
  readonly yes?: boolean;
}

/** Approves what it has shown: the hash of the proposal that was read, or the hash that was given. */
export async function approveProposal(id: string, options: ApproveOptions): Promise<void> {
  const connection = await connect(options);
  const params = { proposal: id };
  const read = await operate(connection, 'getProposal', { params });
  if (!options.json) show(standardOutput(), read);
  const hash = options.hash ?? read.hash;
  if (options.hash === undefined) {
    const means = `this approves: ${printable(read.what)}`;
    await confirmed('approve', { yes: options.yes, means, purpose: 'to approve it' });
  }
  const body = { hash, ...(options.note !== undefined && { note: options.note }) };
  print(await operate(connection, 'approveProposal', { params, body }), options);
}

export async function rejectProposal(
  proposal: string,
  options: ConnectionOptions & { readonly reason: string },
): Promise<void> {
  const body = { reason: options.reason };
  print(await operate(await connect(options), 'rejectProposal', { params: { proposal }, body }), options);
}

export async function rollBackSku(sku: string, options: ConnectionOptions): Promise<void> {
  print(await operate(await connect(options), 'rollBackSku', { params: { sku } }), options);
}

function print(proposal: Proposal, options: ConnectionOptions): void {
  const output = standardOutput();
  if (options.json) printJson(output, proposal);
  else show(output, proposal);
}

function show(output: Output, proposal: Proposal): void {
  const { id, state, what, impact, hash, reason, approvals } = proposal;
  const lines = [
    `${id}: ${state}: ${what}`,
    `  proposed by ${proposal.proposed_by} at ${proposal.proposed_at}, until ${proposal.expires_at}`,
    ...impact.map((line) => `  - ${line}`),
    `  hash ${hash}`,
    ...approvals.map(
      ({ by, role, at, note }) => `  approved by ${by} (${role}) at ${at}${note === null ? '' : `: ${note}`}`,
    ),
    ...(reason === null ? [] : [`  ${reason}`]),
    `  next: ${proposal.next_step}`,
  ];
  output.write(`${lines.map(printable).join('\n')}\n`);
}
