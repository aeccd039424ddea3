// Commits that do not keep the process waiting for the disk. Writing rows takes microseconds, waiting for the disk milliseconds,
// and SQLite waits inside the call, with everything else in the process. So the transaction is committed to the write-ahead log
// without a wait, and the log is then brought to disk by another thread. Only after that is the promise kept that a resolved
// commit is durable.

import { type FileHandle, open } from 'node:fs/promises';
import type BetterSqlite3 from 'better-sqlite3';
import type { Kysely } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { Database } from '../sql/schema.ts';
import type { Writer } from '../sql/transaction.ts';
import { translating } from './sqlite-driver.ts';

export class SqliteCommits {
  readonly #database: BetterSqlite3.Database;
  readonly #db: Kysely<Database>;
  #log: Promise<FileHandle> | null = null;
  /** Frames of the log may be missing on disk, and what is written behind them would be lost with them. */
  #isTorn = false;

  constructor(database: BetterSqlite3.Database, db: Kysely<Database>) {
    this.#database = database;
    this.#db = db;
  }

  async commit(write: (trx: Writer) => Promise<void>): Promise<void> {
    // Holding the connection means that no other transaction is under way on it.
    await this.#db.connection().execute((connection) => this.#write(connection, write));
    await this.#sync();
  }

  async close(): Promise<void> {
    const log = await this.#log?.catch(() => null);
    this.#log = null;
    await log?.close();
  }

  async #write(connection: Kysely<Database>, write: (trx: Writer) => Promise<void>): Promise<void> {
    const database = this.#database;
    if (!database.open) throw new ColdironError('store_unavailable', 'the store is closed');
    if (this.#isTorn) this.#mend();
    // NORMAL still syncs around checkpoints and new logs, which is what keeps the file whole; it only leaves the sync of
    // this commit to us.
    database.exec('pragma synchronous = NORMAL');
    try {
      await connection.transaction().execute(write);
    } finally {
      if (database.open) database.exec('pragma synchronous = FULL');
    }
  }

  /** One sync covers every commit before it. When it fails, whether the rows outlive a power cut is unknown. */
  async #sync(): Promise<void> {
    const file = `${this.#database.name}-wal`;
    try {
      this.#log ??= open(file, 'r');
      await (await this.#log).datasync();
    } catch (error) {
      this.#isTorn = true;
      // Another try opens the log anew.
      await this.close();
      const reason = error instanceof Error ? error.message : String(error);
      throw new ColdironError('store_unavailable', `${file}: cannot be brought to disk (${reason})`);
    }
  }

  /**
   * Linux forgets pages that it could not write, and says so once (fsync(2)): a later sync that succeeds says nothing about them.
   * So everything goes from memory into the database itself, synced, before anything is written to a log that begins anew.
   */
  #mend(): void {
    const file = this.#database.name;
    const [done] = translating(file, () => this.#database.pragma('wal_checkpoint(TRUNCATE)')) as { busy: number }[];
    if (done?.busy !== 0) throw new ColdironError('store_unavailable', `${file}: its log cannot be emptied, try again`);
    this.#isTorn = false;
  }
}
