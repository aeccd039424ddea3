import type { Kysely, Selectable } from 'kysely';
import {
  type AccessKind,
  type AccessObjects,
  type AccessVersion,
  MAX_ACCESS_OBJECTS,
} from '../../domain/access-object.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { AccessStore, NewAccessVersion } from '../access-store.ts';
import { insertAudit } from './audit.ts';
import { insertEvents } from './events.ts';
import type { AccessVersionTable, Database } from './schema.ts';
import { type Reader, type Writer, writing } from './transaction.ts';

export const accessVerbs = (db: Kysely<Database>): AccessStore => ({
  accessObjects: (kind) => readNewest(db, kind),
  accessVersions: (kind, name, limit) => readVersions(db, kind, name, limit),
  putAccessVersion: (version) => writing(db, (trx) => insertVersion(trx, version)),
});

async function readNewest<Kind extends AccessKind>(db: Reader, kind: Kind): Promise<AccessVersion<Kind>[]> {
  const rows = await db
    .selectFrom('access_versions as this')
    .selectAll('this')
    .where('kind', '=', kind)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('access_versions as later')
            .select('later.version')
            .whereRef('later.kind', '=', 'this.kind')
            .whereRef('later.name', '=', 'this.name')
            .whereRef('later.version', '>', 'this.version'),
        ),
      ),
    )
    .orderBy('name')
    .execute();
  return rows.map((row) => toVersion(row, kind));
}

async function readVersions<Kind extends AccessKind>(
  db: Reader,
  kind: Kind,
  name: string,
  limit: number,
): Promise<AccessVersion<Kind>[]> {
  const rows = await db
    .selectFrom('access_versions')
    .selectAll()
    .where('kind', '=', kind)
    .where('name', '=', name)
    .orderBy('version', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => toVersion(row, kind));
}

async function insertVersion<Kind extends AccessKind>(
  trx: Writer,
  { kind, name, after, at, value, events, audit }: NewAccessVersion<Kind>,
): Promise<AccessVersion<Kind>> {
  const [newest] = await readVersions(trx, kind, name, 1);
  const current = newest?.version ?? 0;
  if (current !== after) throw changed(kind, name, current);
  if (current === 0) await requireRoom(trx, kind);
  const version = { kind, name, version: after + 1, at, actor: audit.actor, value };
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('access_versions')
    .values({ ...version, value: JSON.stringify(value) })
    .onConflict((conflict) => conflict.columns(['kind', 'name', 'version']).doNothing())
    .executeTakeFirstOrThrow();
  // On an engine with several writers another one may have been first.
  if (numInsertedOrUpdatedRows !== 1n) throw changed(kind, name, after + 1);
  await insertEvents(trx, events);
  await insertAudit(trx, [audit]);
  return version;
}

async function requireRoom(trx: Writer, kind: AccessKind): Promise<void> {
  const { objects } = await trx
    .selectFrom('access_versions')
    .select((eb) => eb.fn.countAll<number>().as('objects'))
    .where('kind', '=', kind)
    .where('version', '=', 1)
    .executeTakeFirstOrThrow();
  if (Number(objects) >= MAX_ACCESS_OBJECTS) {
    throw new ColdironError('conflict', `there are ${objects} objects of the kind ${kind}, which is the limit`);
  }
}

const changed = (kind: AccessKind, name: string, version: number): ColdironError =>
  new ColdironError('version_conflict', `${kind} ${name} has changed: it is at version ${version}`);

/** The JSON is cast: only `insertVersion` writes it. */
const toVersion = <Kind extends AccessKind>(row: Selectable<AccessVersionTable>, kind: Kind): AccessVersion<Kind> => ({
  kind,
  name: row.name,
  version: row.version,
  at: row.at,
  actor: row.actor,
  value: JSON.parse(row.value) as AccessObjects[Kind],
});
