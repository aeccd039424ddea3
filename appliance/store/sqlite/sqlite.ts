// The SQLite engine: opens the file, applies the settings and migrations, and uses the queries that all engines share.

import BetterSqlite3 from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import { Publisher } from '../publisher.ts';
import { insertEvents } from '../sql/events.ts';
import { migrate, requireCurrent } from '../sql/migrate.ts';
import type { EngineDdl } from '../sql/migrations/migration.ts';
import { MIGRATIONS } from '../sql/migrations/registry.ts';
import type { Database } from '../sql/schema.ts';
import { createSqlStore } from '../sql/sql-store.ts';
import type { Store } from '../store.ts';
import { SqliteCommits } from './sqlite-commits.ts';
import { sqliteDialect, translating } from './sqlite-driver.ts';
import { checkCompanionFiles, createDatabaseFile, isDatabaseFile, tightenDatabaseFile } from './sqlite-file.ts';
import { SqliteLeases } from './sqlite-leases.ts';

export interface SqliteStoreOptions {
  readonly file: string;
  readonly logger?: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** The methods that only read. */
export type ReadOnlyStore = Pick<
  Store,
  | 'inventory'
  | 'changesSince'
  | 'machine'
  | 'effects'
  | 'leases'
  | 'tokens'
  | 'events'
  | 'auditEntries'
  | 'verifyAudit'
  | 'close'
>;

/** Even a reader must wait while another process recovers or closes the log. */
const BUSY_TIMEOUT_MS = 1000;

export async function openSqliteStore({ file, logger }: SqliteStoreOptions): Promise<Store> {
  if (!isDatabaseFile(file)) createDatabaseFile(file);
  checkCompanionFiles(file);
  const publisher = new Publisher(logger ?? null);
  return opened(file, { timeout: BUSY_TIMEOUT_MS }, publisher, async (database, db) => {
    configure(database);
    for (const { number, name } of await migrate(db, SQLITE_DDL, MIGRATIONS, file)) {
      logger?.info({ file, migration: number, name }, 'store schema migrated');
    }
    tightenDatabaseFile(file);
  });
}

/** For inspecting a store, also while no appliance runs. It runs no migrations. */
export async function openSqliteStoreReadOnly({ file }: Pick<SqliteStoreOptions, 'file'>): Promise<ReadOnlyStore> {
  if (!isDatabaseFile(file)) {
    throw new ColdironError(
      'store_unavailable',
      `there is no store at ${file}: the appliance creates it at its first start`,
    );
  }
  return opened(file, { readonly: true, timeout: BUSY_TIMEOUT_MS }, new Publisher(null), (_, db) =>
    requireCurrent(db, MIGRATIONS, file),
  );
}

async function opened(
  file: string,
  options: BetterSqlite3.Options,
  publisher: Publisher,
  prepare: (database: BetterSqlite3.Database, db: Kysely<Database>) => Promise<void>,
): Promise<Store> {
  const database = translating(file, () => new BetterSqlite3(file, { ...options, fileMustExist: true }));
  const db = new Kysely<Database>({ dialect: sqliteDialect(database) });
  try {
    await prepare(database, db);
  } catch (error) {
    database.close();
    throw error;
  }
  const commits = new SqliteCommits(database, db);
  const leases = new SqliteLeases(database, commits);
  const close = async (): Promise<void> => {
    await commits.close();
    // While this holds the connection, no transaction runs.
    await db.connection().execute(async () => void database.close());
  };
  return {
    ...createSqlStore(db, close, publisher),
    commitLeases: (batch) => leases.commit(batch),
    // There are many per second while a rack boots.
    appendEvents: (events) => commits.commit(async (trx) => void (await insertEvents(trx, events))),
  };
}

function configure(database: BetterSqlite3.Database): void {
  const mode = translating(database.name, () => database.pragma('journal_mode = WAL', { simple: true }));
  if (mode !== 'wal') {
    throw new ColdironError(
      'store_unavailable',
      `${database.name}: SQLite cannot use a write-ahead log here (a network file system?): put the state on a local disk`,
    );
  }
  // Without FULL, a commit in WAL mode is acknowledged while it is only in the operating system's memory.
  database.pragma('synchronous = FULL');
  database.pragma('foreign_keys = ON');
  database.pragma('trusted_schema = OFF');
}

const SQLITE_DDL: EngineDdl = {
  // Exactly this spelling makes the column the rowid, without a second index.
  numberKey: 'integer',
  async forbid(db, operation, table, message) {
    await sql`create trigger ${sql.id(`${table}_no_${operation}`)}
      before ${sql.raw(operation)} on ${sql.table(table)}
      begin select raise(abort, ${sql.lit(message)}); end`.execute(db);
  },
};
