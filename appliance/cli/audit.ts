import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { openSqliteStoreReadOnly } from '../store/sqlite/sqlite.ts';
import { type ConnectionOptions, connect, stateFolder } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

export async function listAudit(
  options: ConnectionOptions & { readonly limit: string; readonly correlationId?: string },
): Promise<void> {
  const query = { limit: options.limit, newest: 'true', correlation_id: options.correlationId };
  const { entries } = await operate(await connect(options), 'listAuditEntries', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, entries);
  const rows = entries.map((entry) => [String(entry.seq), entry.at, entry.actor, entry.action, entry.target]);
  output.write(table(output, ['SEQ', 'AT', 'WHO', 'WHAT', 'TO'], rows));
}

export async function verifyAudit(options: ConnectionOptions): Promise<void> {
  const verdict = await verdictOf(options);
  const output = standardOutput();
  if (!verdict.intact) {
    if (options.json) printJson(output, verdict);
    throw new ColdironError('tampered', `the audit log is not intact: entry ${verdict.seq}: ${verdict.reason}`);
  }
  if (options.json) printJson(output, verdict);
  else output.write(`Intact: ${verdict.entries} entries. Head ${verdict.head}\n`);
}

async function verdictOf(options: ConnectionOptions): Promise<Answer<'verifyAudit'>> {
  try {
    return await operate(await connect(options), 'verifyAudit', {});
  } catch (error) {
    const stopped = error instanceof ColdironError && error.code === 'not_running' && options.server === undefined;
    if (!stopped) throw error;
    const file = join(await stateFolder(options), 'coldiron.db');
    if (!existsSync(file)) throw error;
    const store = await openSqliteStoreReadOnly({ file });
    try {
      return await store.verifyAudit();
    } finally {
      await store.close();
    }
  }
}
