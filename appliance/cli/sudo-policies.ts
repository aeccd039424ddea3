// The verbs of sudo policies, as calls of the API.

import type { Answer } from '../contract/wire.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printable, printJson, standardOutput } from './terminal.ts';

type Policy = Answer<'putSudoPolicy'>;

export async function listPolicies(options: ConnectionOptions): Promise<void> {
  const { policies } = await operate(await connect(options), 'listSudoPolicies', {});
  if (options.json) printJson(standardOutput(), policies);
  else for (const policy of policies) print(policy, options);
}

interface PutOptions extends ConnectionOptions {
  readonly command: readonly string[];
  readonly owner?: string;
}

export async function putPolicy(policy: string, options: PutOptions): Promise<void> {
  const body = { commands: [...options.command], ...(options.owner !== undefined && { owner: options.owner }) };
  print(await operate(await connect(options), 'putSudoPolicy', { params: { policy }, body }), options);
}

export async function reviewPolicy(
  policy: string,
  options: ConnectionOptions & { readonly checksum: string },
): Promise<void> {
  const body = { checksum: options.checksum };
  print(await operate(await connect(options), 'reviewSudoPolicy', { params: { policy }, body }), options);
}

export async function removePolicy(policy: string, options: ConnectionOptions): Promise<void> {
  print(await operate(await connect(options), 'removeSudoPolicy', { params: { policy } }), options);
}

function print(policy: Policy, options: ConnectionOptions): void {
  const output = standardOutput();
  if (options.json) {
    printJson(output, policy);
    return;
  }
  const review = policy.reviewed_by === null ? 'not reviewed' : `reviewed by ${policy.reviewed_by}`;
  output.write(
    `${printable(policy.name)} of ${printable(policy.owner)}, version ${policy.version}, ${printable(review)}\n`,
  );
  output.write(`    checksum ${policy.checksum}\n`);
  for (const command of policy.commands) output.write(`    ${printable(command)}\n`);
}
