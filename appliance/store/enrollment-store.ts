// What is remembered about trust: the authorities that sign, the certificates they signed, the tokens that a node gets in
// with, and the keys that tasks are signed with. Private keys and the texts of tokens never come here.

import type { NewAuditEntry } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Branded } from '../domain/parsed.ts';

/**
 * `staged`: trusted, does not sign yet. `active`: signs; there is one. `outgoing`: signs no more and is still trusted, until
 * nobody holds a certificate of it. `retired`: neither.
 */
export type AuthorityState = 'staged' | 'active' | 'outgoing' | 'retired';
/** SHA-256 of the certificate, in lower-case hex. */
export type Fingerprint = Branded<string, 'Fingerprint'>;

export interface AuthorityRecord {
  readonly id: Fingerprint;
  readonly state: AuthorityState;
  /** In PEM, as all certificates here. */
  readonly certificate: string;
  /** The same key, signed by the authority before it: who trusts only that one can still follow. */
  readonly crossCertificate: string | null;
  readonly createdAt: Instant;
  readonly notAfter: Instant;
  readonly activatedAt: Instant | null;
  readonly retiredAt: Instant | null;
}

/** `node`: who a node is. `service`: what its services show each other. `server`: what our node API shows. */
export type CertificateKind = 'node' | 'service' | 'server';

export interface CertificateRecord {
  /** In lower-case hex, without leading zeros. */
  readonly serial: string;
  readonly fingerprint: Fingerprint;
  readonly authority: Fingerprint;
  readonly kind: CertificateKind;
  /** Null for our own. */
  readonly machine: MachineId | null;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** When its holder first showed it. Until then the one before it may be all that the holder has. */
  readonly confirmedAt: Instant | null;
  readonly revokedAt: Instant | null;
  readonly revokedBecause: string | null;
  /** The serial of the one that took its place. It stays good until it ends: the holder may be in the middle of the change. */
  readonly replacedBy: string | null;
}

export type NewCertificate = Pick<
  CertificateRecord,
  'serial' | 'fingerprint' | 'authority' | 'kind' | 'machine' | 'notBefore' | 'notAfter'
>;

export type EnrollmentTokenId = Branded<string, 'EnrollmentTokenId'>;
/** `enrollment`: in the bundle, for the first time. `recovery`: on the enrolled node, for when its certificate has ended. */
export type EnrollmentTokenKind = 'enrollment' | 'recovery';
/** How a token reaches the node: in an operator's hands, in the first-boot payload, or in the answer to an enrollment. */
export type TokenDelivery = 'manual' | 'maas' | 'node';

export interface EnrollmentToken {
  readonly id: EnrollmentTokenId;
  readonly machine: MachineId;
  readonly kind: EnrollmentTokenKind;
  readonly delivery: TokenDelivery;
  /** Who it was handed to, at the moment it was made. */
  readonly actor: string;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
  /** Of a recovery token: the serial of the certificate that it came with and may bring back. */
  readonly certificate: string | null;
  readonly consumedAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export type NewEnrollmentToken = Omit<EnrollmentToken, 'consumedAt' | 'revokedAt'> & {
  /** SHA-256 of the secret part of its text. */
  readonly secretHash: string;
};

export interface HeldToken {
  readonly token: EnrollmentToken;
  readonly secretHash: string;
  /** A removed machine's tokens are dead, whatever else is written about them. */
  readonly machineRemoved: boolean;
}

/**
 * What a node gets for a good token: written together with the token's end, or not at all. A recovery token is good only while
 * the certificate it came with is not revoked. A first enrollment revokes the node certificates of before.
 */
export interface Redemption {
  readonly token: EnrollmentTokenId;
  readonly machine: MachineId;
  readonly now: Instant;
  readonly certificate: NewCertificate;
  /** SHA-256 of the certified key: whoever asks again with the same one has only missed the answer. */
  readonly publicKey: Fingerprint;
  readonly recovery: NewEnrollmentToken;
}

export type Renewal = Omit<Redemption, 'token' | 'now' | 'publicKey'>;

export type SigningKeyState = 'staged' | 'active' | 'grace' | 'retired';
export type SigningKeyId = Branded<string, 'SigningKeyId'>;

export interface SigningKeyRecord {
  readonly id: SigningKeyId;
  readonly state: SigningKeyState;
  /** SubjectPublicKeyInfo in base64. */
  readonly publicKey: string;
  readonly createdAt: Instant;
  readonly activatedAt: Instant | null;
  /** Until then, what it signed before is still accepted. */
  readonly graceUntil: Instant | null;
}

/** Each verb is one transaction, as `store.ts` promises. Tokens and node certificates are written with `Store.commit`. */
export interface EnrollmentStore {
  /** The oldest first. */
  authorities(): Promise<AuthorityRecord[]>;
  /** Only into a store without any. False when there is one: another process was first. */
  createFirstAuthority(authority: AuthorityRecord, audit: NewAuditEntry): Promise<boolean>;
  /** `conflict` while another one is staged or outgoing: one change at a time. */
  stageAuthority(authority: AuthorityRecord, audit: NewAuditEntry): Promise<void>;
  /** The staged one signs from now on, the active one goes out. `conflict` when it is not staged. */
  activateAuthority(id: Fingerprint, now: Instant, audit: NewAuditEntry): Promise<void>;
  /** `conflict` when it is not outgoing, or, unless `despiteHolders`, while somebody holds a certificate of it. */
  retireAuthority(id: Fingerprint, now: Instant, despiteHolders: boolean, audit: NewAuditEntry): Promise<void>;

  /**
   * One that is given, not asked for by its holder. It takes the place of every earlier one of its kind and machine at
   * once; a removed machine gets none (`conflict`).
   */
  recordCertificate(certificate: NewCertificate, audit: NewAuditEntry): Promise<void>;
  certificate(fingerprint: Fingerprint): Promise<CertificateRecord | null>;
  /** The newest first; null: our own. */
  certificatesOf(machine: MachineId | null): Promise<CertificateRecord[]>;
  /** Still good and in use, of one authority or of any, ending before `before`; the first to end first. */
  heldCertificates(query: { authority?: Fingerprint; before?: Instant; now: Instant }): Promise<CertificateRecord[]>;
  /**
   * Its holder showed it: the certificates before it are replaced, and the recovery tokens that came with them are revoked.
   * Does nothing the second time.
   */
  confirmCertificate(serial: string, now: Instant): Promise<void>;
  /** False when there is none, or it was revoked before. */
  revokeCertificate(serial: string, now: Instant, because: string, audit: NewAuditEntry): Promise<boolean>;

  enrollmentToken(id: EnrollmentTokenId): Promise<HeldToken | null>;
  /** The newest first. */
  enrollmentTokensOf(machine: MachineId): Promise<EnrollmentToken[]>;

  /** The oldest first. */
  signingKeys(): Promise<SigningKeyRecord[]>;
  /** Only into a store without any. */
  createFirstSigningKey(key: SigningKeyRecord, audit: NewAuditEntry): Promise<boolean>;
  /** `conflict` while another one is staged. */
  stageSigningKey(key: SigningKeyRecord, audit: NewAuditEntry): Promise<void>;
  /** The staged one signs from now on; the active one is accepted until `graceUntil`. `conflict` when it is not staged. */
  activateSigningKey(id: SigningKeyId, now: Instant, graceUntil: Instant, audit: NewAuditEntry): Promise<void>;
  /** Those whose grace is over. Returns them. */
  retireSigningKeys(now: Instant, audit: (id: SigningKeyId) => NewAuditEntry): Promise<SigningKeyId[]>;
}
