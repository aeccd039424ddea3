// BMC fields of nodes that come over the API are for admins: the appliance logs in at the given address with the given password file.

import { ColdironError } from '../domain/errors.ts';
import { mayActAs, type Role } from '../domain/token.ts';

/** Throws `forbidden`, with every BMC field of the nodes, unless the role may set them. `path`: of one node in the request. */
export function requireBmcRights(
  role: Role | null,
  nodes: readonly Readonly<Record<string, unknown>>[],
  path: (index: number) => string,
): void {
  if (role !== null && mayActAs(role, 'admin')) return;
  const fields = nodes.flatMap((node, index) => bmcFields(node).map((field) => `${path(index)}${field}`));
  const [first] = fields;
  if (first === undefined) return;
  const others = fields.length > 1 ? ` (and ${fields.length - 1} more fields)` : '';
  throw new ColdironError(
    'forbidden',
    `${first}: BMC fields need the role admin${others}; yours is ${role}`,
    fields.length > 1 ? fields.slice(0, MOST_LISTED) : [],
    'Leave the BMC fields out; an admin adds them, or declares the node in an inventory file.',
  );
}

const MOST_LISTED = 20;

function bmcFields(node: Readonly<Record<string, unknown>>): string[] {
  if (!Object.hasOwn(node, 'bmc')) return [];
  const { bmc } = node;
  const keys = typeof bmc === 'object' && bmc !== null ? Object.keys(bmc) : [];
  return keys.length === 0 ? ['bmc'] : keys.map((key) => `bmc.${key}`);
}
