// The engines that the contract tests run on. A second engine is one more entry in the list.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterEach, beforeEach } from 'vitest';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';

export interface OpenedEngine {
  readonly store: Store;
  /** Opens the same data a second time, like another process. */
  another(): Promise<Store>;
  /** Runs SQL beside the store, with the engine's triggers in place. */
  execute(sql: string): Promise<void>;
  /** The same after dropping the triggers. */
  tamper(...sql: string[]): Promise<void>;
  dispose(): Promise<void>;
}

export interface Engine {
  readonly name: string;
  open(): Promise<OpenedEngine>;
}

const sqlite: Engine = {
  name: 'sqlite',
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-store-'));
    const file = join(folder, 'coldiron.db');
    const stores: Store[] = [];
    const opened = async (): Promise<Store> => {
      const store = await openSqliteStore({ file });
      stores.push(store);
      return store;
    };
    const beside = async (statements: readonly string[]): Promise<void> => {
      const database = new BetterSqlite3(file);
      try {
        for (const sql of statements) database.exec(sql);
      } finally {
        database.close();
      }
    };
    const dispose = async (): Promise<void> => {
      await Promise.all(stores.map((store) => store.close()));
      rmSync(folder, { recursive: true });
    };
    const store = await opened().catch(async (error) => {
      await dispose();
      throw error;
    });
    return {
      store,
      another: opened,
      execute: (sql) => beside([sql]),
      tamper: (...sql) => beside([...guards(file).map((name) => `drop trigger ${name}`), ...sql]),
      dispose,
    };
  },
};

function guards(file: string): string[] {
  const database = new BetterSqlite3(file, { readonly: true });
  try {
    return database.prepare<[], string>("select name from sqlite_master where type = 'trigger'").pluck().all();
  } finally {
    database.close();
  }
}

export const ENGINES: readonly Engine[] = [sqlite];

/** Opens a new store for each test of the calling suite, and closes it. */
export function useStore(engine: Engine): () => OpenedEngine {
  let opened: OpenedEngine | undefined;
  beforeEach(async () => {
    opened = await engine.open();
  });
  afterEach(async () => {
    await opened?.dispose();
    opened = undefined;
  });
  return () => {
    if (!opened) throw new Error('the store exists only during a test');
    return opened;
  };
}
