// Unique properties of machines: host name, MACs, reserved addresses, BMC address. They have their own table because a plan is
// checked as a whole: two machines may swap names or addresses in one write.

import { ColdironError } from '../../domain/errors.ts';
import { addressesOf, type MachineId, type MachineSpec, macsOf } from '../../domain/machine.ts';
import { inChunks } from './chunks.ts';
import type { ClaimKind, ClaimTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

const LABELS: Readonly<Record<ClaimKind, string>> = {
  hostname: 'host name',
  mac: 'MAC',
  address: 'address',
  bmc: 'BMC address',
};

interface Claimant {
  readonly id: MachineId;
  readonly spec: MachineSpec;
}

export async function dropClaims(trx: Writer, machines: readonly MachineId[]): Promise<void> {
  await inChunks(machines, (chunk) => trx.deleteFrom('machine_claims').where('machine', 'in', chunk).execute());
}

/** The machines' rows must exist, and their earlier claims must be deleted. */
export async function takeClaims(trx: Writer, machines: readonly Claimant[]): Promise<void> {
  const conflicts: string[] = [];
  await inChunks(machines.flatMap(claimsOf), async (chunk) => {
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('machine_claims')
      .values(chunk)
      .onConflict((conflict) => conflict.columns(['kind', 'value']).doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows !== BigInt(chunk.length)) conflicts.push(...(await lostClaims(trx, chunk)));
  });
  const [first, ...others] = conflicts;
  if (first === undefined) return;
  const message = others.length === 0 ? first : `${first}, and ${others.length} more`;
  throw new ColdironError('conflict', message, conflicts);
}

/** Two interfaces of one machine may share a MAC (a VLAN on a NIC): that is one claim. */
function claimsOf({ id, spec }: Claimant): ClaimTable[] {
  const of = (kind: ClaimKind, values: readonly string[]): ClaimTable[] =>
    [...new Set(values)].map((value) => ({ kind, value, machine: id }));
  return [
    ...of('hostname', [spec.hostname]),
    ...of('mac', macsOf(spec)),
    ...of('address', addressesOf(spec)),
    ...of('bmc', spec.bmc ? [spec.bmc.address] : []),
  ];
}

async function lostClaims(db: Reader, claims: readonly ClaimTable[]): Promise<string[]> {
  const values = claims.map(({ value }) => value);
  const held = await db
    .selectFrom('machine_claims')
    .innerJoin('machines', 'machines.id', 'machine_claims.machine')
    .select(['kind', 'value', 'machine', 'hostname'])
    .where('value', 'in', values)
    .execute();
  const holders = new Map(held.map((claim) => [`${claim.kind} ${claim.value}`, claim]));
  const lost = claims.filter(({ kind, value, machine }) => holders.get(`${kind} ${value}`)?.machine !== machine);
  const names = await hostnames(
    db,
    lost.map(({ machine }) => machine),
  );
  return lost.map(({ kind, value, machine }) => {
    const holder = holders.get(`${kind} ${value}`)?.hostname;
    const claimant = kind === 'hostname' ? '' : ` of ${names.get(machine)}`;
    return `${LABELS[kind]} ${value}${claimant} is taken by ${holder}`;
  });
}

async function hostnames(db: Reader, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.selectFrom('machines').select(['id', 'hostname']).where('id', 'in', ids).execute();
  return new Map(rows.map(({ id, hostname }) => [id, hostname]));
}
