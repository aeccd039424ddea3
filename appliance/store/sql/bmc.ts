// The methods of `bmc-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import type { BmcStore } from '../bmc-store.ts';
import {
  confirmPending,
  dropPending,
  readAllCredentials,
  readCredentials,
  resealCredentials,
  writeCredentials,
} from './bmc-credentials.ts';
import {
  addBootTime,
  countBoot,
  forgetCertificate,
  pinCertificate,
  readBootTimes,
  readPlaces,
  readQuirks,
  writeSuite,
} from './bmc-memories.ts';
import { deleteOverride, readOverrides, writeOverride } from './persistent-boot-overrides.ts';
import type { Database } from './schema.ts';
import { writing } from './transaction.ts';

export const bmcVerbs = (db: Kysely<Database>): BmcStore => ({
  bmcCredentials: (machine) => readCredentials(db, machine),
  allBmcCredentials: () => readAllCredentials(db),
  setBmcCredentials: (machine, credentials, audit) =>
    writing(db, (trx) => writeCredentials(trx, machine, 'current', credentials, audit)),
  setPendingBmcCredentials: (machine, credentials, audit) =>
    writing(db, (trx) => writeCredentials(trx, machine, 'pending', credentials, audit)),
  confirmPendingBmcCredentials: (machine, audit) => writing(db, (trx) => confirmPending(trx, machine, audit)),
  dropPendingBmcCredentials: (machine, audit) => writing(db, (trx) => dropPending(trx, machine, audit)),
  resealBmcCredentials: (machine, before, after) =>
    writing(db, (trx) => resealCredentials(trx, machine, before, after)),

  bmcPlaces: () => readPlaces(db),
  rememberBmcSuite: (address, suite) => writing(db, (trx) => writeSuite(trx, address, suite)),
  pinBmcCertificate: (address, certificate) => writing(db, (trx) => pinCertificate(trx, address, certificate)),
  forgetBmcCertificate: (address, audit) => writing(db, (trx) => forgetCertificate(trx, address, audit)),

  bmcQuirks: () => readQuirks(db),
  countBoot: (outcome) => writing(db, (trx) => countBoot(trx, outcome)),

  bootTimes: (machine) => readBootTimes(db, machine),
  addBootTime: (machine, took) => writing(db, (trx) => addBootTime(trx, machine, took)),

  persistentBootOverrides: () => readOverrides(db),
  setPersistentBootOverride: (override) => writing(db, (trx) => writeOverride(trx, override)),
  deletePersistentBootOverride: (machine) => writing(db, (trx) => deleteOverride(trx, machine)),
});
