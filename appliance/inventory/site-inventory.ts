// The inventory that the site file names, brought into the store when the appliance starts.
//
// A start applies only those sources of the site file whose files have changed since a start last applied them. What somebody applied
// in the meantime, from whichever file, stays until the site's own file of that source is edited or applied again. It also
// saves time: with 10,000 nodes an apply is seconds and a few hundred megabytes for nothing.

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
  const markFile = join(site.state, 'inventory-in-force');
  try {
    const mark = await readMark(markFile, held.declaredRevision);
    const changed = await changedSources(site, mark);
    if (changed.length === 0) {
      if (held.declaredRevision > mark.revision) {
        logger.info(
          { revision: held.declaredRevision },
          'the inventory files have not changed; what was applied since stays',
        );
      }
      return;
    }
    const raw = [...(inline ? [inline] : []), ...(await readInventoryFiles([...inventoryFiles]))];
    const due = raw.filter((source) => changed.includes(source.file));
    const { problems, warnings, sources } = checkInventory(due, held);
    if (problems.length > 0) {
      throw new ColdironError('invalid_inventory', `the inventory that ${file} names has problems:`, problems);
    }
    const by = { actor: 'appliance', correlationId: newId() };
    const request = { sources, mode: 'reconcile', dryRun: false, held, ...by } as const;
    const { changes, revision, declaredRevision } = await applyInventory(store, request, { now, newId });
    await replaceFile(markFile, JSON.stringify(await newMark(raw, declaredRevision), null, 2));
    const effective = changes.filter(({ change }) => change !== 'unchanged');
    logger.info(
      {
        sources: due.map(({ name }) => name),
        objects: changes.length,
        changed: effective.length,
        // A start that undoes what somebody applied names it.
        changes: effective.slice(0, MOST_LOGGED).map(({ kind, name, change }) => `${kind} ${name} ${change}`),
        revision,
        ...(warnings.length > 0 && { warnings }),
      },
      'the inventory files that changed were applied',
    );
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

const MOST_LOGGED = 20;

/** What a start last applied of each source, and the revision that it led to. */
interface Mark {
  readonly revision: number;
  readonly sources: readonly { readonly file: string; readonly digest: string; readonly scripts: readonly string[] }[];
}

/** The source of what the site file itself declares. */
const INLINE = 'site';

const NOTHING_APPLIED: Mark = { revision: 0, sources: [] };

/** Of a store that is older than the mark (a backup, or a new one) it says nothing. */
async function readMark(file: string, heldRevision: number): Promise<Mark> {
  try {
    const mark = JSON.parse(await readFile(file, 'utf8')) as Partial<Mark>;
    if (typeof mark.revision !== 'number' || !Array.isArray(mark.sources)) return NOTHING_APPLIED;
    return mark.revision > heldRevision ? NOTHING_APPLIED : { revision: mark.revision, sources: mark.sources };
  } catch {
    // None yet, or one of an earlier version: everything is applied.
    return NOTHING_APPLIED;
  }
}

/** By file. */
async function changedSources({ inline, inventoryFiles }: SiteInventory, { sources }: Mark): Promise<string[]> {
  const changed: string[] = [];
  for (const file of [...(inline ? [inline.file] : []), ...inventoryFiles]) {
    const known = sources.find((source) => source.file === file);
    const value = file === inline?.file ? inline.value : null;
    if (known === undefined || known.digest !== (await digest(file, value, known.scripts))) changed.push(file);
  }
  return changed;
}

async function newMark(raw: readonly RawSource[], revision: number): Promise<Mark> {
  const sources = raw.map(async ({ file, name, value, scripts = [] }) => {
    return { file, digest: await digest(file, name === INLINE ? value : null, scripts), scripts };
  });
  return { revision, sources: await Promise.all(sources) };
}

/** Of everything that a source declares: its file, or its sections in the site file, and the scripts that it names. */
async function digest(file: string, inlineValue: unknown, scripts: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(inlineValue ?? null));
  for (const part of [...(inlineValue === null ? [file] : []), ...scripts]) {
    const bytes = await readFile(part).catch(() => null);
    hash.update(`\n${part} ${bytes?.length ?? 'unreadable'}\n`).update(bytes ?? '');
  }
  return hash.digest('hex');
}

async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
