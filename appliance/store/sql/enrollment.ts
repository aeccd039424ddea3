// The methods of `enrollment-store.ts`, each in its transaction.

import type { Kysely } from 'kysely';
import type { EnrollmentStore } from '../enrollment-store.ts';
import {
  activateAuthority,
  insertFirstAuthority,
  insertStagedAuthority,
  readAuthorities,
  retireAuthority,
} from './authorities.ts';
import {
  confirmCertificate,
  readCertificate,
  readCertificatesOf,
  readHeldCertificates,
  recordCertificate,
  revokeCertificate,
} from './certificates.ts';
import { readEnrollmentToken, readEnrollmentTokensOf } from './enrollment-tokens.ts';
import type { Database } from './schema.ts';
import {
  activateSigningKey,
  insertSigningKey,
  readSigningKeys,
  retireSigningKeys,
  stageSigningKey,
} from './signing-keys.ts';
import { writing } from './transaction.ts';

export const enrollmentVerbs = (db: Kysely<Database>): EnrollmentStore => ({
  authorities: () => readAuthorities(db),
  createFirstAuthority: (authority, audit) => writing(db, (trx) => insertFirstAuthority(trx, authority, audit)),
  stageAuthority: (authority, audit) => writing(db, (trx) => insertStagedAuthority(trx, authority, audit)),
  activateAuthority: (id, now, audit) => writing(db, (trx) => activateAuthority(trx, id, now, audit)),
  retireAuthority: (id, now, despiteHolders, audit) =>
    writing(db, (trx) => retireAuthority(trx, id, now, despiteHolders, audit)),

  recordCertificate: (certificate, audit) => writing(db, (trx) => recordCertificate(trx, certificate, audit)),
  certificate: (fingerprint) => readCertificate(db, fingerprint),
  certificatesOf: (machine) => readCertificatesOf(db, machine),
  heldCertificates: (query) => readHeldCertificates(db, query),
  confirmCertificate: (serial, now) => writing(db, (trx) => confirmCertificate(trx, serial, now)),
  revokeCertificate: (serial, now, because, audit) =>
    writing(db, (trx) => revokeCertificate(trx, serial, now, because, audit)),

  enrollmentToken: (id) => readEnrollmentToken(db, id),
  enrollmentTokensOf: (machine) => readEnrollmentTokensOf(db, machine),

  signingKeys: () => readSigningKeys(db),
  createFirstSigningKey: (key, audit) => writing(db, (trx) => insertSigningKey(trx, key, audit)),
  stageSigningKey: (key, audit) => writing(db, (trx) => stageSigningKey(trx, key, audit)),
  activateSigningKey: (id, now, graceUntil, audit) =>
    writing(db, (trx) => activateSigningKey(trx, id, now, graceUntil, audit)),
  retireSigningKeys: (now, audit) => writing(db, (trx) => retireSigningKeys(trx, now, audit)),
});
