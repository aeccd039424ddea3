// Leases on SQLite, for a server that acknowledges thousands a second. Writing the rows takes microseconds, waiting for the
// disk milliseconds, and SQLite waits inside the call, with everything else in the process. So the transaction is committed
// to the write-ahead log without a wait, and the log is then brought to disk by another thread. Only after that is the
// promise kept that a resolved commit is durable.

import { type FileHandle, open } from 'node:fs/promises';
import type BetterSqlite3 from 'better-sqlite3';
import type { Kysely } from 'kysely';
import { ColdironError } from '../domain/errors.ts';
import type { Lease } from '../domain/lease.ts';
import type { Database } from './schema.ts';
import { translating } from './sqlite-driver.ts';

const UPSERT = `insert into leases (address, mac, network, state, granted_at, expires_at) values (?, ?, ?, ?, ?, ?)
  on conflict (address) do update set mac = excluded.mac, network = excluded.network, state = excluded.state,
    granted_at = excluded.granted_at, expires_at = excluded.expires_at`;

export class SqliteLeases {
  readonly #database: BetterSqlite3.Database;
  readonly #db: Kysely<Database>;
  #upsert: BetterSqlite3.Statement | null = null;
  #log: Promise<FileHandle> | null = null;

  constructor(database: BetterSqlite3.Database, db: Kysely<Database>) {
    this.#database = database;
    this.#db = db;
  }

  async commit(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    // Holding the connection means that no other transaction is under way on it.
    await this.#db.connection().execute((connection) => this.#write(connection, leases));
    await this.#sync();
  }

  async close(): Promise<void> {
    const log = await this.#log?.catch(() => null);
    this.#log = null;
    await log?.close();
  }

  async #write(connection: Kysely<Database>, leases: readonly Lease[]): Promise<void> {
    const database = this.#database;
    if (!database.open) throw new ColdironError('store_unavailable', 'the store is closed');
    // NORMAL still syncs around checkpoints and new logs, which is what keeps the file whole; it only leaves the sync of
    // this commit to us.
    database.exec('pragma synchronous = NORMAL');
    try {
      await connection.transaction().execute(async () => translating(database.name, () => this.#upsertAll(leases)));
    } finally {
      if (database.open) database.exec('pragma synchronous = FULL');
    }
  }

  #upsertAll(leases: readonly Lease[]): void {
    this.#upsert ??= this.#database.prepare(UPSERT);
    for (const { address, mac, network, state, grantedAt, expiresAt } of leases) {
      this.#upsert.run(address, mac, network, state, grantedAt, expiresAt);
    }
  }

  /** One sync covers every commit before it. When it fails, whether the rows outlive a power cut is unknown. */
  async #sync(): Promise<void> {
    const file = `${this.#database.name}-wal`;
    try {
      this.#log ??= open(file, 'r');
      await (await this.#log).datasync();
    } catch (error) {
      // Another try opens the log anew.
      await this.close();
      const reason = error instanceof Error ? error.message : String(error);
      throw new ColdironError('store_unavailable', `${file}: cannot be brought to disk (${reason})`);
    }
  }
}
