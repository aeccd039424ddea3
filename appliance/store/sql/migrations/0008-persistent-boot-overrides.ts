import { type Kysely, sql } from 'kysely';
import type { Migration } from './migration.ts';

export const persistentBootOverrides: Migration = {
  number: 8,
  name: 'persistent-boot-overrides',
  async up(db) {
    await sql`create table persistent_boot_overrides (
      machine text not null primary key references machines (id),
      method text not null,
      set_at bigint not null
    )`.execute(db);
    await takeOver(db);
  },
};

interface Row {
  readonly machine: string;
  readonly kind: string;
  readonly at: number;
  readonly data: string;
}

/** Before this migration only the events recorded the overrides; retention would delete those. */
async function takeOver(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<Row>`select machine, kind, at, data from events
    where kind in ('bmc.boot-lasting', 'bmc.boot-undone', 'bmc.done')
    and machine in (select id from machines) order by seq`.execute(db);
  const open = new Map<string, { readonly method: string; readonly at: number }>();
  for (const { machine, kind, at, data } of rows) {
    const { method, what } = (JSON.parse(data) ?? {}) as { method?: unknown; what?: unknown };
    if (kind === 'bmc.boot-lasting') open.set(machine, { method: typeof method === 'string' ? method : 'unknown', at });
    else if (kind === 'bmc.boot-undone' || what === 'bootdev') open.delete(machine);
  }
  for (const [machine, { method, at }] of open) {
    await sql`insert into persistent_boot_overrides (machine, method, set_at) values (${machine}, ${method}, ${at})`.execute(
      db,
    );
  }
}
