// The methods of `onboarding-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry, NewEvent } from '../../domain/event.ts';
import { isOpen, type Onboarding, type OnboardingId } from '../../domain/onboarding.ts';
import type { OnboardingQuery, OnboardingStore } from '../onboarding-store.ts';
import { insertAudit } from './audit.ts';
import { insertEvents } from './events.ts';
import type { Database } from './schema.ts';
import { type Reader, type Writer, writing } from './transaction.ts';

export const onboardingVerbs = (db: Kysely<Database>): OnboardingStore => ({
  createOnboarding: (run, events, audit) => writing(db, (trx) => insertRun(trx, run, events, audit)),
  updateOnboarding: (run, events, audit) => writing(db, (trx) => updateRun(trx, run, events, audit)),
  onboarding: (id) => readRun(db, id),
  onboardings: (query) => readRuns(db, query),
  openOnboardings: async () => {
    const open = db.selectFrom('onboardings').select('record').where('open_host', 'is not', null).orderBy('seq');
    return (await open.execute()).map(toRun);
  },
  hasCompletedOnboarding: async (site) => {
    const done = db.selectFrom('onboardings').select('id').where('site', '=', site).where('state', '=', 'completed');
    return (await done.limit(1).executeTakeFirst()) !== undefined;
  },
});

const columns = (run: Onboarding) => ({
  site: run.request.site,
  hostname: run.request.hostname,
  machine: run.machine,
  state: run.state,
  open_host: isOpen(run.state) ? run.request.hostname : null,
  open_bmc: isOpen(run.state) ? run.request.bmcAddress : null,
  correlation_id: run.correlationId,
  version: run.version,
  record: JSON.stringify(run),
});

async function insertRun(
  trx: Writer,
  run: Onboarding,
  events: readonly NewEvent[],
  audit: readonly NewAuditEntry[],
): Promise<void> {
  await refuseSecond(trx, run);
  const { last } = await trx
    .selectFrom('onboardings')
    .select((eb) => eb.fn.coalesce(eb.fn.max('seq'), eb.lit(0)).as('last'))
    .executeTakeFirstOrThrow();
  await trx
    .insertInto('onboardings')
    .values({ id: run.id, seq: Number(last) + 1, created_at: run.createdAt, ...columns(run) })
    .execute();
  await insertEvents(trx, events);
  await insertAudit(trx, audit);
}

async function updateRun(
  trx: Writer,
  run: Onboarding,
  events: readonly NewEvent[],
  audit: readonly NewAuditEntry[],
): Promise<void> {
  const known = await readRun(trx, run.id);
  if (known === null) throw new ColdironError('not_found', `there is no onboarding with the id ${run.id}`);
  const { version } = known;
  if (run.version !== version + 1) {
    throw new ColdironError('version_conflict', `the onboarding has changed: it is at version ${version}`);
  }
  if (isOpen(run.state) && !isOpen(known.state)) await refuseSecond(trx, run);
  const { numUpdatedRows } = await trx
    .updateTable('onboardings')
    .set(columns(run))
    .where('id', '=', run.id)
    .where('version', '=', version)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw new ColdironError('version_conflict', 'the onboarding has changed');
  await insertEvents(trx, events);
  await insertAudit(trx, audit);
}

async function refuseSecond(db: Reader, { request }: Onboarding): Promise<void> {
  const other = await db
    .selectFrom('onboardings')
    .select(['id', 'hostname', 'open_bmc'])
    .where((eb) => eb.or([eb('open_host', '=', request.hostname), eb('open_bmc', '=', request.bmcAddress)]))
    .limit(1)
    .executeTakeFirst();
  if (other === undefined) return;
  const what =
    other.hostname === request.hostname ? other.hostname : `the BMC ${other.open_bmc}, as ${other.hostname},`;
  throw new ColdironError('conflict', `${what} is being onboarded already: ${other.id}`);
}

async function readRun(db: Reader, id: OnboardingId): Promise<Onboarding | null> {
  const row = await db.selectFrom('onboardings').select('record').where('id', '=', id).executeTakeFirst();
  return row ? toRun(row) : null;
}

async function readRuns(db: Reader, { state, hostname, limit }: OnboardingQuery): Promise<Onboarding[]> {
  let select = db.selectFrom('onboardings').select('record').orderBy('seq', 'desc').limit(limit);
  if (state !== undefined) select = select.where('state', '=', state);
  if (hostname !== undefined) select = select.where('hostname', '=', hostname);
  return (await select.execute()).map(toRun);
}

/** Cast, not validated: the record was written from this type. */
const toRun = ({ record }: { readonly record: string }): Onboarding => JSON.parse(record) as Onboarding;
