import type { Selectable } from 'kysely';
import { parseIpv4 } from '../../domain/ipv4.ts';
import type { Lease } from '../../domain/lease.ts';
import { parseMac } from '../../domain/mac.ts';
import { type ObjectName, parseObjectName } from '../../domain/names.ts';
import { mustParse } from '../../domain/parsed.ts';
import { inChunks } from './chunks.ts';
import type { LeaseTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

/** Only the last of several leases of one address is written: one statement must not write a row twice. */
export async function upsertLeases(trx: Writer, leases: readonly Lease[]): Promise<void> {
  const rows = new Map(leases.map((lease) => [lease.address, toRow(lease)]));
  await inChunks([...rows.values()], (chunk) =>
    trx
      .insertInto('leases')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.column('address').doUpdateSet((eb) => ({
          mac: eb.ref('excluded.mac'),
          network: eb.ref('excluded.network'),
          state: eb.ref('excluded.state'),
          granted_at: eb.ref('excluded.granted_at'),
          expires_at: eb.ref('excluded.expires_at'),
        })),
      )
      .execute(),
  );
}

export async function readLeases(db: Reader, network?: ObjectName): Promise<Lease[]> {
  const select = db.selectFrom('leases').selectAll().orderBy('address');
  const rows = await (network === undefined ? select : select.where('network', '=', network)).execute();
  return rows.map(toLease);
}

const toRow = (lease: Lease): LeaseTable => ({
  address: lease.address,
  mac: lease.mac,
  network: lease.network,
  state: lease.state,
  granted_at: lease.grantedAt,
  expires_at: lease.expiresAt,
});

const toLease = (row: Selectable<LeaseTable>): Lease => ({
  address: mustParse(parseIpv4(row.address)),
  mac: mustParse(parseMac(row.mac)),
  network: mustParse(parseObjectName(row.network)),
  state: row.state,
  grantedAt: row.granted_at,
  expiresAt: row.expires_at,
});
