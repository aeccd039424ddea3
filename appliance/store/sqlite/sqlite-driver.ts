// Kysely's driver for better-sqlite3 with three differences: writers take the write lock when they begin, prepared statements
// are cached, and engine failures become `store_unavailable`.

import { setTimeout } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  type TransactionSettings,
} from 'kysely';
import { ColdironError } from '../../domain/errors.ts';

export function sqliteDialect(database: BetterSqlite3.Database): Dialect {
  return {
    createDriver: () => new LockingSqliteDriver(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Five seconds: longer than any write of the appliance, far longer than a checkpoint. */
const LOCK_RETRY_MS = 10;
const LOCK_ATTEMPTS = 500;

class LockingSqliteDriver extends SqliteDriver {
  readonly #database: BetterSqlite3.Database;
  /** SQLite's own busy timeout, as set when the file was opened. */
  #busyTimeout: number | null = null;

  constructor(database: BetterSqlite3.Database) {
    super({ database: guarded(database) });
    this.#database = database;
  }

  /**
   * A writer takes the write lock at the start: one that reads first and writes later fails when another process wrote in
   * between. SQLite's own wait for the lock blocks the whole process, so the driver retries with a timer instead.
   */
  override async beginTransaction(connection: DatabaseConnection, settings?: TransactionSettings): Promise<void> {
    if (settings?.accessMode === 'read only') {
      await connection.executeQuery(CompiledQuery.raw('begin'));
      return;
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#beginWithoutWaiting(connection);
      } catch (error) {
        if (!isBusy(error) || attempt === LOCK_ATTEMPTS) throw error;
        await setTimeout(LOCK_RETRY_MS);
      }
    }
  }

  async #beginWithoutWaiting(connection: DatabaseConnection): Promise<void> {
    if (!this.#database.open) throw storeIsClosed();
    this.#busyTimeout ??= Number(this.#database.pragma('busy_timeout', { simple: true }));
    // `exec`, not `pragma`: leases are committed hundreds of times a second, and reading the result costs more than the setting.
    this.#database.exec('pragma busy_timeout = 0');
    try {
      await connection.executeQuery(CompiledQuery.raw('begin immediate'));
    } finally {
      this.#database.exec(`pragma busy_timeout = ${this.#busyTimeout}`);
    }
  }

  /**
   * An I/O error while the log is written or synced leaves the outcome unknown: after a power cut the frames may exist or not.
   * After any other failure nothing was committed.
   */
  override async commitTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.commitTransaction(connection);
    } catch (error) {
      throw isEngineFailure(error, 'SQLITE_IOERR') ? outcomeUnknown(error) : error;
    }
  }

  /** SQLite rolls back by itself when the disk is full; a second rollback would hide the first error. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.open && this.#database.inTransaction) await super.rollbackTransaction(connection);
  }
}

const isEngineFailure = (error: unknown, prefix: string): error is ColdironError =>
  error instanceof ColdironError &&
  error.cause instanceof BetterSqlite3.SqliteError &&
  error.cause.code.startsWith(prefix);

const isBusy = (error: unknown): boolean => isEngineFailure(error, 'SQLITE_BUSY');

function outcomeUnknown(error: ColdironError): ColdironError {
  const unknown = new ColdironError('outcome_unknown', `${error.message}: it may or may not have been written`);
  unknown.cause = error.cause;
  return unknown;
}

const storeIsClosed = (): ColdironError => new ColdironError('store_unavailable', 'the store is closed');

const CACHED_STATEMENTS = 200;
/** Longer ones are bulk inserts, whose text depends on the number of rows: caching them costs more than it saves. */
const MAX_CACHED_LENGTH = 4096;

function guarded(database: BetterSqlite3.Database): SqliteDatabase {
  const cache = new Map<string, SqliteStatement>();

  const prepare = (sql: string): SqliteStatement => {
    if (!database.open) throw storeIsClosed();
    const cached = cache.get(sql);
    if (cached) return cached;
    const statement = guardedStatement(
      translating(database.name, () => database.prepare(sql)),
      database.name,
    );
    if (sql.length <= MAX_CACHED_LENGTH) {
      if (cache.size >= CACHED_STATEMENTS) cache.clear();
      cache.set(sql, statement);
    }
    return statement;
  };

  return { prepare, close: () => database.close() };
}

function guardedStatement(statement: BetterSqlite3.Statement, file: string): SqliteStatement {
  return {
    reader: statement.reader,
    all: (parameters) => translating(file, () => statement.all(parameters)),
    run: (parameters) => translating(file, () => statement.run(parameters)),
    iterate: (parameters) => statement.iterate(parameters),
  };
}

const ENGINE_FAILURES: readonly (readonly [code: string, reason: string])[] = [
  ['SQLITE_FULL', 'the disk is full'],
  ['SQLITE_IOERR', 'the disk reported an error'],
  ['SQLITE_BUSY', 'another process holds the write lock'],
  ['SQLITE_LOCKED', 'the database is locked'],
  ['SQLITE_CORRUPT', 'the database file is damaged'],
  ['SQLITE_NOTADB', 'it is not a SQLite database'],
  ['SQLITE_CANTOPEN', 'the file cannot be opened'],
  ['SQLITE_READONLY', 'the file cannot be written to'],
  ['SQLITE_PERM', 'access was denied'],
  ['SQLITE_PROTOCOL', 'the file system does not support the locks that SQLite needs'],
  ['SQLITE_NOLFS', 'the file system does not support files this large'],
  ['SQLITE_NOMEM', 'there is not enough memory'],
];

/** Constraint violations and invalid SQL are not translated: they are bugs. */
export function translating<T>(file: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof BetterSqlite3.SqliteError)) throw error;
    const { code, message } = error;
    const failure = ENGINE_FAILURES.find(([prefix]) => code === prefix || code.startsWith(`${prefix}_`));
    if (!failure) throw error;
    const translated = new ColdironError('store_unavailable', `${file}: ${failure[1]} (${code}: ${message})`);
    translated.cause = error;
    throw translated;
  }
}
