// Commits that do not block the process while the disk syncs. Writing rows takes microseconds, a sync takes milliseconds, and
// SQLite syncs inside the call, which blocks the event loop. So the transaction is committed to the write-ahead log without a
// sync, and another thread then syncs the log. The commit resolves only after that, so a resolved commit is durable.

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
  /** Frames of the log may be missing on disk; later frames would be lost with them. */
  #isTorn = false;

  constructor(database: BetterSqlite3.Database, db: Kysely<Database>) {
    this.#database = database;
    this.#db = db;
  }

  async commit(write: (trx: Writer) => Promise<void>): Promise<void> {
    // While this holds the connection, no other transaction runs on it.
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
    if (this.#isTorn) this.#checkpoint();
    // NORMAL still syncs at checkpoints and new logs, which keeps the file consistent; it only skips the sync of this commit.
    database.exec('pragma synchronous = NORMAL');
    try {
      await connection.transaction().execute(write);
    } finally {
      if (database.open) database.exec('pragma synchronous = FULL');
    }
  }

  /** One sync covers every earlier commit. When it fails, it is unknown whether the rows survive a power cut. */
  async #sync(): Promise<void> {
    const file = `${this.#database.name}-wal`;
    try {
      this.#log ??= open(file, 'r');
      await (await this.#log).datasync();
    } catch (error) {
      this.#isTorn = true;
      // The next sync opens the log again.
      await this.close();
      const reason = error instanceof Error ? error.message : String(error);
      throw new ColdironError('store_unavailable', `${file}: cannot be synced to disk (${reason})`);
    }
  }

  /**
   * Linux drops pages that it could not write and reports the error once (fsync(2)): a later successful sync proves nothing.
   * So everything is checkpointed from memory into the database, synced, and the log restarts empty.
   */
  #checkpoint(): void {
    const file = this.#database.name;
    const [done] = translating(file, () => this.#database.pragma('wal_checkpoint(TRUNCATE)')) as { busy: number }[];
    if (done?.busy !== 0)
      throw new ColdironError('store_unavailable', `${file}: its write-ahead log cannot be checkpointed: try again`);
    this.#isTorn = false;
  }
}
