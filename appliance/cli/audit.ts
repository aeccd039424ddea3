import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { openSqliteStoreReadOnly } from '../store/sqlite/sqlite.ts';
import type { AuditVerdict } from '../store/store.ts';
import { type ConnectionOptions, connect, stateFolder } from './connection.ts';
import { printJson, standardOutput, table } from './terminal.ts';

interface AuditLine {
  readonly seq: number;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly correlation_id: string | null;
}

export async function listAudit(options: ConnectionOptions & { readonly limit: string }): Promise<void> {
  const { entries } = await (await connect(options)).get<{ entries: AuditLine[] }>('/api/v1/audit', {
    limit: options.limit,
    newest: 'true',
  });
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
    throw new ColdironError('tampered', `the audit log is not whole: entry ${verdict.seq}: ${verdict.reason}`);
  }
  if (options.json) printJson(output, verdict);
  else output.write(`Intact: ${verdict.entries} entries. Head ${verdict.head}\n`);
}

async function verdictOf(options: ConnectionOptions): Promise<AuditVerdict> {
  try {
    return await (await connect(options)).get<AuditVerdict>('/api/v1/audit/verify');
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
