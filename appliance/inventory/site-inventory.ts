// Applies the inventory of the site file (coldiron.yaml) to the store when the appliance starts.
//
// A start applies only sources whose files have changed since a start last applied them. Changes that were applied in the
// meantime, from any file, are kept until the site's own file of that source is edited or applied again. This also saves time:
// with 10,000 nodes an unnecessary apply takes seconds and a few hundred megabytes.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import { replaceFile } from '../files/whole-files.ts';
import type { Store } from '../store/store.ts';
import { type ApplyStore, applyInventory } from './apply.ts';
import { checkInventory } from './check.ts';
import { type RawSource, readInventoryFiles } from './read-files.ts';

interface SiteInventoryDeps {
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly logger: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** The parts of the site file that are needed here. */
interface SiteInventory {
  readonly file: string;
  /** The inventory sections of the site file itself. */
  readonly inline: RawSource | null;
  readonly inventoryFiles: readonly string[];
  readonly state: string;
}

/**
 * An unfinished edit before a power cut must not stop a rack: when the store has an inventory, an invalid file is reported and the
 * last valid inventory remains in use. Only a first start fails.
 */
export async function applySiteInventory(
  store: ApplyStore & Pick<Store, 'appendEvents'>,
  held: Inventory,
  site: SiteInventory,
  { now, newId, logger }: SiteInventoryDeps,
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
          'the inventory files have not changed; changes applied since are kept',
        );
      }
      return;
    }
    const raw = [...(inline ? [inline] : []), ...(await readInventoryFiles([...inventoryFiles]))];
    const due = raw.filter((source) => changed.includes(source.file));
    const { problems, warnings, sources } = checkInventory(due, held);
    if (problems.length > 0) {
      throw new ColdironError('invalid_inventory', `the inventory of ${file} has problems:`, problems);
    }
    const by = { actor: 'appliance', correlationId: newId() };
    const request = { sources, mode: 'reconcile', dryRun: false, held, ...by } as const;
    const { changes, revision, declaredRevision } = await applyInventory(store, request, { now, newId });
    await replaceFile(markFile, JSON.stringify(await newMark(raw, declaredRevision), null, 2), 0o600);
    const effective = changes.filter(({ change }) => change !== 'unchanged');
    logger.info(
      {
        sources: due.map(({ name }) => name),
        objects: changes.length,
        changed: effective.length,
        // If a start undoes changes that were applied since, the log names them.
        changes: effective.slice(0, MAX_LOGGED).map(({ kind, name, change }) => `${kind} ${name} ${change}`),
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
      'the inventory files are rejected; the last valid inventory remains in use',
    );
    const data = { reason: error.message, details };
    await store.appendEvents([
      { at: now(), kind: 'inventory.refused', actor: 'appliance', machine: null, correlationId: null, data },
    ]);
  }
}

const MAX_LOGGED = 20;

/** The digest of each source that a start last applied, and the resulting revision. */
interface Mark {
  readonly revision: number;
  readonly sources: readonly { readonly file: string; readonly digest: string; readonly scripts: readonly string[] }[];
}

/** The source name of the inventory sections in the site file. */
const INLINE = 'site';

const NOTHING_APPLIED: Mark = { revision: 0, sources: [] };

/** A mark that is newer than the store (a restored backup or a new store) is ignored. */
async function readMark(file: string, heldRevision: number): Promise<Mark> {
  try {
    const mark = JSON.parse(await readFile(file, 'utf8')) as Partial<Mark>;
    if (typeof mark.revision !== 'number' || !Array.isArray(mark.sources)) return NOTHING_APPLIED;
    return mark.revision > heldRevision ? NOTHING_APPLIED : { revision: mark.revision, sources: mark.sources };
  } catch {
    // No mark yet, or one of an earlier version: everything is applied.
    return NOTHING_APPLIED;
  }
}

/** The files whose digest has changed. */
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

/** Covers a whole source: its file, or its sections in the site file, and its scripts. */
async function digest(file: string, inlineValue: unknown, scripts: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(inlineValue ?? null));
  for (const part of [...(inlineValue === null ? [file] : []), ...scripts]) {
    const bytes = await readFile(part).catch(() => null);
    hash.update(`\n${part} ${bytes?.length ?? 'unreadable'}\n`).update(bytes ?? '');
  }
  return hash.digest('hex');
}
