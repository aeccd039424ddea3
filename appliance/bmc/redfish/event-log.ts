// The hardware event log of the machine. BMCs have several logs; this is not the audit log of logins.

import { SECOND } from '../../domain/instant.ts';
import type { LogEntry } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { memberPaths, memberResources } from './collection.ts';
import { healthOf } from './health.ts';
import { oneLine } from './refusal.ts';
import { lastSegment, linkAt, pathOf, type Resource, textAt } from './resource.ts';

const MOST_ENTRIES = 10_000;
const MOST_LOGS = 32;

export async function eventLog(bmc: RedfishCaller): Promise<LogEntry[]> {
  const log = await hardwareLog(bmc);
  const entries = (await entriesOf(bmc, log)).map(logEntry);
  return inOrder(entries);
}

/** Verifies that the old entries are gone: new ones may arrive meanwhile. */
export async function clearEventLog(bmc: RedfishCaller): Promise<void> {
  const log = await hardwareLog(bmc);
  const before = new Set((await entriesOf(bmc, log)).map(entryKey));
  if (before.size === 0) return;
  const target = pathOf(textAt(log.resource, 'Actions', '#LogService.ClearLog', 'target'));
  if (target === null) throw new BmcError('unsupported', 'this BMC does not support clearing its event log');
  await bmc.act(target, {});
  const isCleared = async (): Promise<true | null> =>
    (await entriesOf(bmc, log)).some((entry) => before.has(entryKey(entry)) && !isClearRecord(entry)) ? null : true;
  if (await bmc.until(bmc.limits.settle, isCleared)) return;
  const limit = bmc.limits.settle / SECOND;
  throw new BmcError(
    'contradiction',
    `the BMC accepted the clearing of its event log, but after ${limit} s it still contains old entries`,
  );
}

/** A BMC whose clock does not run writes the same entry after every clear. */
const isClearRecord = (entry: Resource): boolean => /clear/i.test(textAt(entry, 'Message') ?? '');

/** Ids restart after a clear. */
const entryKey = (entry: Resource): string =>
  JSON.stringify(['Id', 'Created', 'Message', 'MessageId'].map((name) => textAt(entry, name)));

/**
 * By name: SEL on iDRAC and XCC, IML on iLO, EventLog on OpenBMC, Log1 on Supermicro. Dumps, POST codes and the audit log do
 * not match.
 */
const RANKS: readonly RegExp[] = [/^sel$/i, /^iml$/i, /^(event|system)_?(event)?_?logs?$/i, /^logs?1?$/i];

async function hardwareLog(bmc: RedfishCaller): Promise<Read> {
  const { systemPath, managerPaths, chassisPaths } = await bmc.service();
  const candidates: { readonly log: Read; readonly rank: number }[] = [];
  for (const owner of [systemPath, ...managerPaths, ...chassisPaths]) {
    const collection = linkAt((await bmc.read(owner)).resource, 'LogServices');
    for (const path of collection === null ? [] : await memberPaths(bmc, collection, MOST_LOGS)) {
      const log = await bmc.read(path);
      candidates.push({ log, rank: rankOf(log) });
      if (rankOf(log) === 0) return log;
    }
  }
  const [best] = candidates.filter(({ rank }) => rank < RANKS.length).sort((a, b) => a.rank - b.rank);
  const found = best ?? (candidates.length === 1 ? candidates[0] : undefined);
  if (found === undefined) throw new BmcError('unsupported', 'this BMC has no event log of the machine');
  return found.log;
}

function rankOf({ path, resource }: Read): number {
  if (textAt(resource, 'LogEntryType') === 'SEL') return 0;
  const id = textAt(resource, 'Id') ?? lastSegment(path);
  const rank = RANKS.findIndex((name) => name.test(id));
  return rank === -1 ? RANKS.length : rank;
}

async function entriesOf(bmc: RedfishCaller, log: Read): Promise<Resource[]> {
  const path = linkAt(log.resource, 'Entries');
  if (path === null) throw new BmcError('malformed', `GET ${log.path}: the log has no link to its entries`);
  const entries = await memberResources(bmc, path, MOST_ENTRIES + 1);
  if (entries.length <= MOST_ENTRIES) return entries;
  throw new BmcError('malformed', `GET ${path}: the event log has more than ${MOST_ENTRIES} entries`);
}

function logEntry(entry: Resource): LogEntry {
  const at = Date.parse(textAt(entry, 'Created') ?? textAt(entry, 'EventTimestamp') ?? '');
  return {
    id: oneLine(textAt(entry, 'Id') ?? lastSegment(linkAt(entry) ?? '')),
    // A clock that was never set starts in 1970, or at the build date of the firmware.
    at: Number.isNaN(at) || at < CLOCK_NOT_SET ? null : at,
    severity: healthOf(textAt(entry, 'Severity')),
    message: oneLine(textAt(entry, 'Message') ?? textAt(entry, 'Name') ?? 'no message'),
  };
}

const CLOCK_NOT_SET = Date.UTC(2000, 0, 1);

/** By time; an entry without one stays next to its neighbour. Most BMCs send the newest first. */
function inOrder(entries: readonly LogEntry[]): LogEntry[] {
  const times = entries.flatMap(({ at }) => at ?? []);
  const descending = (times[0] ?? 0) > (times.at(-1) ?? 0);
  const oldestFirst = descending ? entries.toReversed() : [...entries];
  let last = Number.NEGATIVE_INFINITY;
  return oldestFirst
    .map((entry) => {
      last = entry.at ?? last;
      return { entry, at: last };
    })
    .sort((a, b) => (a.at === b.at ? 0 : a.at - b.at))
    .map(({ entry }) => entry);
}
