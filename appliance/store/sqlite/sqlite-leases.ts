// Leases on SQLite, for a server that acknowledges thousands a second: without the query builder, in non-blocking commits.

import type BetterSqlite3 from 'better-sqlite3';
import type { Lease } from '../../domain/lease.ts';
import type { SqliteCommits } from './sqlite-commits.ts';
import { translating } from './sqlite-driver.ts';

const UPSERT = `insert into leases (address, mac, network, state, granted_at, expires_at) values (?, ?, ?, ?, ?, ?)
  on conflict (address) do update set mac = excluded.mac, network = excluded.network, state = excluded.state,
    granted_at = excluded.granted_at, expires_at = excluded.expires_at`;

export class SqliteLeases {
  readonly #database: BetterSqlite3.Database;
  readonly #commits: SqliteCommits;
  #upsert: BetterSqlite3.Statement | null = null;

  constructor(database: BetterSqlite3.Database, commits: SqliteCommits) {
    this.#database = database;
    this.#commits = commits;
  }

  async commit(leases: readonly Lease[]): Promise<void> {
    if (leases.length === 0) return;
    await this.#commits.commit(async () => translating(this.#database.name, () => this.#upsertAll(leases)));
  }

  #upsertAll(leases: readonly Lease[]): void {
    this.#upsert ??= this.#database.prepare(UPSERT);
    for (const { address, mac, network, state, grantedAt, expiresAt } of leases) {
      this.#upsert.run(address, mac, network, state, grantedAt, expiresAt);
    }
  }
}
