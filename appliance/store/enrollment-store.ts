// Stored data about trust: authorities, the certificates they signed, enrollment tokens, and task-signing keys. Private keys
// and the texts of tokens are never stored here.

import type { NewAuditEntry } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Branded } from '../domain/parsed.ts';

/**
 * `staged`: trusted, does not sign yet. `active`: signs; there is exactly one. `outgoing`: no longer signs, but is trusted until
 * none of its certificates is in use. `retired`: neither.
 */
export type AuthorityState = 'staged' | 'active' | 'outgoing' | 'retired';
/** SHA-256 of the certificate, in lower-case hex. */
export type Fingerprint = Branded<string, 'Fingerprint'>;

export interface AuthorityRecord {
  readonly id: Fingerprint;
  readonly state: AuthorityState;
  /** In PEM, as all certificates here. */
  readonly certificate: string;
  /** The same key signed by the previous authority: peers that trust only that one can verify the chain. */
  readonly crossCertificate: string | null;
  readonly createdAt: Instant;
  readonly notAfter: Instant;
  readonly activatedAt: Instant | null;
  readonly retiredAt: Instant | null;
}

/** `node`: the identity of a node. `service`: for mutual TLS of its services. `server`: of the appliance's node API. */
export type CertificateKind = 'node' | 'service' | 'server';

export interface CertificateRecord {
  /** In lower-case hex, without leading zeros. */
  readonly serial: string;
  readonly fingerprint: Fingerprint;
  readonly authority: Fingerprint;
  readonly kind: CertificateKind;
  /** Null for the appliance's own. */
  readonly machine: MachineId | null;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** When its holder first presented it. Until then the holder may have only the previous one. */
  readonly confirmedAt: Instant | null;
  readonly revokedAt: Instant | null;
  readonly revokedBecause: string | null;
  /** The serial of its replacement. It stays valid until it expires: the holder may not have switched yet. */
  readonly replacedBy: string | null;
}

export type NewCertificate = Pick<
  CertificateRecord,
  'serial' | 'fingerprint' | 'authority' | 'kind' | 'machine' | 'notBefore' | 'notAfter'
>;

export type EnrollmentTokenId = Branded<string, 'EnrollmentTokenId'>;
/** `enrollment`: in the bundle, for the first enrollment. `recovery`: on the enrolled node, for an expired certificate. */
export type EnrollmentTokenKind = 'enrollment' | 'recovery';
/** How a token reaches the node: by an operator, in the first-boot payload, or in the reply to an enrollment. */
export type TokenDelivery = 'manual' | 'maas' | 'node';

export interface EnrollmentToken {
  readonly id: EnrollmentTokenId;
  readonly machine: MachineId;
  readonly kind: EnrollmentTokenKind;
  readonly delivery: TokenDelivery;
  /** Who received it when it was issued. */
  readonly actor: string;
  readonly createdAt: Instant;
  readonly expiresAt: Instant;
  /** For a recovery token: the serial of the certificate that it was issued with and can replace. */
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
  /** The tokens of a removed machine are invalid, whatever their own state. */
  readonly machineRemoved: boolean;
}

/**
 * What a node gets for a valid token, committed together with the consumption of the token. A recovery token is valid only
 * while the certificate it was issued with is not revoked. A first enrollment revokes the earlier node certificates.
 */
export interface Redemption {
  readonly token: EnrollmentTokenId;
  readonly machine: MachineId;
  readonly now: Instant;
  readonly certificate: NewCertificate;
  /** SHA-256 of the certified key: a repeated request with the same key means that the reply was lost. */
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
  /** Until then, its signatures are still accepted. */
  readonly graceUntil: Instant | null;
}

/** Each method is one transaction, as `store.ts` promises. Tokens and node certificates are written with `Store.commit`. */
export interface EnrollmentStore {
  /** The oldest first. */
  authorities(): Promise<AuthorityRecord[]>;
  /** False when the store already has one: another process was first. */
  createFirstAuthority(authority: AuthorityRecord, audit: NewAuditEntry): Promise<boolean>;
  /** `conflict` while another one is staged or outgoing: one rotation at a time. */
  stageAuthority(authority: AuthorityRecord, audit: NewAuditEntry): Promise<void>;
  /** The staged one becomes active, the active one outgoing. `conflict` when it is not staged. */
  activateAuthority(id: Fingerprint, now: Instant, audit: NewAuditEntry): Promise<void>;
  /** `conflict` when it is not outgoing, or, unless `despiteHolders`, while one of its certificates is in use. */
  retireAuthority(id: Fingerprint, now: Instant, despiteHolders: boolean, audit: NewAuditEntry): Promise<void>;

  /**
   * Records a certificate that its holder did not request. It replaces every earlier one of its kind and machine at once;
   * `conflict` for a removed machine.
   */
  recordCertificate(certificate: NewCertificate, audit: NewAuditEntry): Promise<void>;
  certificate(fingerprint: Fingerprint): Promise<CertificateRecord | null>;
  /** The newest first; null: the appliance's own. */
  certificatesOf(machine: MachineId | null): Promise<CertificateRecord[]>;
  /** Valid certificates in use, of one authority or of any, that expire before `before`; the first to expire first. */
  heldCertificates(query: { authority?: Fingerprint; before?: Instant; now: Instant }): Promise<CertificateRecord[]>;
  /**
   * Its holder presented it: marks earlier certificates as replaced and revokes their recovery tokens. Does nothing the second
   * time.
   */
  confirmCertificate(serial: string, now: Instant): Promise<void>;
  /** False when there is none, or it is already revoked. */
  revokeCertificate(serial: string, now: Instant, because: string, audit: NewAuditEntry): Promise<boolean>;

  enrollmentToken(id: EnrollmentTokenId): Promise<HeldToken | null>;
  /** The newest first. */
  enrollmentTokensOf(machine: MachineId): Promise<EnrollmentToken[]>;

  /** The oldest first. */
  signingKeys(): Promise<SigningKeyRecord[]>;
  /** False when the store already has one. */
  createFirstSigningKey(key: SigningKeyRecord, audit: NewAuditEntry): Promise<boolean>;
  /** `conflict` while another one is staged. */
  stageSigningKey(key: SigningKeyRecord, audit: NewAuditEntry): Promise<void>;
  /** The staged one becomes active; the previous one is accepted until `graceUntil`. `conflict` when it is not staged. */
  activateSigningKey(id: SigningKeyId, now: Instant, graceUntil: Instant, audit: NewAuditEntry): Promise<void>;
  /** Retires the keys whose grace period is over, and returns them. */
  retireSigningKeys(now: Instant, audit: (id: SigningKeyId) => NewAuditEntry): Promise<SigningKeyId[]>;
}
