// The inventory that the site file names, brought into the store when the appliance starts, unless nothing has changed since
// it was last brought in: with 10,000 nodes that would be seconds and a few hundred megabytes for nothing.

import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import type { Store } from '../store/store.ts';
import { applyInventory } from './apply.ts';
import { checkInventory } from './check.ts';
import { type RawSource, readInventoryFiles } from './read-files.ts';

interface Edge {
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly logger: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** The part of the site file that this needs. */
interface SiteInventory {
  readonly file: string;
  /** What the site file itself declares. */
  readonly inline: RawSource | null;
  readonly inventoryFiles: readonly string[];
  readonly state: string;
}

/**
 * A rack must not go dark because somebody saved a half-finished edit before a power cut: when the store holds an inventory,
 * a faulty file is reported and the last good inventory stays in force. Only a first start refuses.
 */
export async function applySiteInventory(
  store: Pick<Store, 'inventory' | 'writeInventory' | 'appendEvents'>,
  held: Inventory,
  site: SiteInventory,
  { now, newId, logger }: Edge,
): Promise<void> {
  const { file, inline, inventoryFiles } = site;
  if (inline === null && inventoryFiles.length === 0) return;
  const mark = join(site.state, 'inventory-in-force');
  try {
    const marked = await readFile(mark, 'utf8').catch(() => '');
    const [, ...scriptsThen] = marked.trimEnd().split('\n');
    if (marked === (await inForce(site, held.declaredRevision, scriptsThen))) return;
    const raw = [...(inline ? [inline] : []), ...(await readInventoryFiles([...inventoryFiles]))];
    const { problems, sources } = checkInventory(raw, held);
    if (problems.length > 0) {
      throw new ColdironError('invalid_inventory', `the inventory that ${file} names has problems:`, problems);
    }
    const by = { actor: 'appliance', correlationId: newId() };
    const request = { sources, mode: 'reconcile', dryRun: false, held, ...by } as const;
    const { changes, revision, declaredRevision } = await applyInventory(store, request, { now, newId });
    const scripts = raw.flatMap((source) => source.scripts ?? []);
    await replaceFile(mark, await inForce(site, declaredRevision, scripts));
    const changed = changes.filter(({ change }) => change !== 'unchanged').length;
    logger.info({ objects: changes.length, changed, revision }, 'the inventory files are in force');
  } catch (error) {
    const faulty = error instanceof ColdironError && error.code !== 'store_unavailable';
    if (!faulty || held.declaredRevision === 0) throw error;
    const details = [...error.details];
    logger.error(
      { details, reason: error.message },
      'the inventory files are refused; the last good inventory stays in force',
    );
    const data = { reason: error.message, details };
    await store.appendEvents([
      { at: now(), kind: 'inventory.refused', actor: 'appliance', machine: null, correlationId: null, data },
    ]);
  }
}

/** What the mark says: of what the inventory was made, and which scripts only reading it again would tell. */
const inForce = async (site: SiteInventory, revision: number, scripts: readonly string[]): Promise<string> =>
  `${[`${await digest(site, scripts)} ${revision}`, ...scripts].join('\n')}\n`;

/** Of everything that was declared: an edit, a renamed file and a change in the site file itself all change it. */
async function digest({ inline, inventoryFiles }: SiteInventory, scripts: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(inline?.value ?? null));
  for (const file of [...inventoryFiles, ...scripts]) {
    const bytes = await readFile(file).catch(() => null);
    hash.update(`\n${file} ${bytes?.length ?? 'unreadable'}\n`).update(bytes ?? '');
  }
  return hash.digest('hex');
}

async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
