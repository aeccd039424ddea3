// Enrollment, renewal, and recovery after the certificate has expired. Everything is committed before the node gets the
// reply.

import { X509Certificate } from 'node:crypto';
import { ColdironError, type ErrorCode } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import { type Machine, type MachineId, parseMachineId } from '../domain/machine.ts';
import { shown } from '../domain/parsed.ts';
import type { Secret } from '../domain/secret.ts';
import { emptyChange } from '../machines/commands/decision.ts';
import type { Change, Write } from '../store/change.ts';
import type {
  EnrollmentToken,
  Fingerprint,
  HeldToken,
  NewCertificate,
  NewEnrollmentToken,
} from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import type { Authority, SignedForNode } from './authority.ts';
import { auditOf, certificateJson, eventOf } from './enrollment-records.ts';
import { fingerprintOf } from './fingerprint.ts';
import { eligibilityOf } from './node-eligibility.ts';
import type { NodeIdentity } from './node-identity.ts';
import type { EnrollmentSettings } from './settings.ts';
import {
  newEnrollmentToken,
  parseEnrollmentToken,
  type TokenParts,
  type TokenStatus,
  tokenStatus,
} from './token-text.ts';

export interface NodeEnrollmentDeps {
  readonly store: Pick<
    Store,
    'machine' | 'appendAudit' | 'authorities' | 'enrollmentToken' | 'commit' | 'certificatesOf'
  >;
  readonly authority: Authority;
  readonly now: () => Instant;
  readonly settings: EnrollmentSettings;
  readonly identityOf: (machine: Machine) => NodeIdentity;
}

export interface EnrollmentRequest {
  readonly nodeId: string;
  readonly token: string;
  readonly certificateRequest: string;
  readonly correlationId: string | null;
}

/** What the node stores. The recovery token replaces the token it used. */
export interface Enrolled {
  readonly machine: MachineId;
  readonly kind: 'enrolled' | 'recovered' | 'renewed';
  readonly certificatePem: string;
  readonly trustPem: string;
  readonly trustFingerprint: string;
  readonly notAfter: Instant;
  readonly recoveryToken: Secret;
}

export interface NodeEnrollment {
  /**
   * First enrollment or recovery, as the token says. Rejects with `enrollment_refused` and audits the reason; with `conflict`
   * when the node's state forbids it, and the token stays valid. A node that lost the reply may repeat the request with the
   * same key for some minutes, until it presents its new certificate.
   */
  enroll(request: EnrollmentRequest): Promise<Enrolled>;
  /** Whether the token is valid for `enroll`. Such requests are exempt from the rate limit of their address. */
  isEntitled(request: Pick<EnrollmentRequest, 'nodeId' | 'token'>): Promise<boolean>;
  /** For a node that `identifyPeer` has accepted. */
  renew(machine: MachineId, certificateRequest: string, correlationId: string | null): Promise<Enrolled>;
}

/** `not-needed`: a recovery token while the certificate is valid. A token stolen from a running node is useless. */
type Refusal = Exclude<TokenStatus, 'good'> | 'not-needed' | 'certificate-revoked' | 'bad-request' | 'state';

/** Specific messages only for holders of the token's secret; all others get the same message, whatever the reason. */
const MESSAGES: Readonly<Record<Refusal, string>> = {
  unknown: 'the enrollment token is not accepted',
  'wrong-node': 'the enrollment token is not accepted',
  removed: 'this node was removed: it can only be added again as a new node',
  revoked: 'the enrollment token was revoked: the node needs a new bundle',
  consumed: 'the enrollment token was already used',
  expired: 'the enrollment token has expired',
  'not-needed': 'the certificate of this node is still valid: use it to renew',
  'certificate-revoked': 'the certificate of this node was revoked: the node needs a new bundle',
  'bad-request': 'the certification request is not accepted',
  state: 'the state of this node does not allow it',
};

/** Refusals that are not caused by the token. */
const CODES: Readonly<Partial<Record<Refusal, ErrorCode>>> = { 'bad-request': 'invalid_request', state: 'conflict' };

/** The node's clock may be this far ahead. */
const CLOCK_SKEW = 10 * MINUTE;
/** How long the same client may repeat a redemption. */
const REPEAT_WITHIN = 10 * MINUTE;

export function createNodeEnrollment(deps: NodeEnrollmentDeps): NodeEnrollment {
  const { store, authority, now, settings, identityOf } = deps;

  const enroll = async (request: EnrollmentRequest): Promise<Enrolled> => {
    const at = now();
    const machineId = parseMachineId(request.nodeId);
    const parts = parseEnrollmentToken(request.token);
    if (!parts.ok || !machineId.ok) throw await refused(request, null, 'unknown');

    const held = await store.enrollmentToken(parts.value.id);
    const status = tokenStatus(held, parts.value, machineId.value, at);
    const isRepeat = status === 'consumed';
    const machine = status === 'good' || isRepeat ? await store.machine(machineId.value) : null;
    if (!machine || !held) throw await refused(request, parts.value, status === 'good' ? 'unknown' : status);
    const refusal = isRepeat ? null : await recoveryRefusal(held.token, at);
    if (refusal !== null) throw await refused(request, parts.value, refusal);
    const allowed = held.token.kind === 'enrollment' ? 'enroll' : 'renew';
    const { because, [allowed]: may } = eligibilityOf(machine.lifecycle);
    if (!may) throw await refused(request, parts.value, 'state', because);
    const signed = await authority.signForNode(identityOf(machine), request.certificateRequest);
    if (!signed.ok) throw await refused(request, parts.value, 'bad-request', signed.reason);
    return isRepeat
      ? repeat(request, parts.value, held, machine, signed.value, at)
      : redeem(request, parts.value, held, machine, signed.value, at);
  };

  const isEntitled: NodeEnrollment['isEntitled'] = async ({ nodeId, token }) => {
    const machineId = parseMachineId(nodeId);
    const parts = parseEnrollmentToken(token);
    if (!machineId.ok || !parts.ok) return false;
    const held = await store.enrollmentToken(parts.value.id);
    const status = tokenStatus(held, parts.value, machineId.value, now());
    const isRecent = (held?.token.consumedAt ?? 0) > now() - REPEAT_WITHIN;
    return status === 'good' || (status === 'consumed' && isRecent);
  };

  const redeem = async (
    request: EnrollmentRequest,
    parts: TokenParts,
    { token }: HeldToken,
    machine: Machine,
    signed: SignedForNode,
    at: Instant,
  ): Promise<Enrolled> => {
    const kind = token.kind === 'enrollment' ? 'enrolled' : 'recovered';
    const grant = grantOf(machine, signed, at, request.correlationId, kind);
    const redemption = { ...grant.written, token: token.id };
    if (await committed(grant.change({ kind: 'redeem-token', redemption }))) return grant.enrolled();
    // Another request used the same token first, or the token or its certificate was revoked in the meantime.
    const status = tokenStatus(await store.enrollmentToken(parts.id), parts, machine.id, at);
    throw await refused(request, parts, status === 'good' ? 'certificate-revoked' : status);
  };

  const repeat: typeof redeem = async (request, parts, { token }, machine, signed, at) => {
    const kind = token.kind === 'enrollment' ? 'enrolled' : 'recovered';
    const grant = grantOf(machine, signed, at, request.correlationId, kind);
    const redemption = { ...grant.written, token: token.id };
    const since = at - REPEAT_WITHIN;
    if (await committed(grant.change({ kind: 'repeat-redemption', redemption, since }))) return grant.enrolled();
    throw await refused(request, parts, 'consumed');
  };

  /** Null for a first enrollment, and when the certificate has expired or its authority is retired. */
  const recoveryRefusal = async ({ machine, certificate }: EnrollmentToken, at: Instant): Promise<Refusal | null> => {
    if (certificate === null) return null;
    const own = (await store.certificatesOf(machine)).find(({ serial }) => serial === certificate);
    if (own === undefined || own.revokedAt !== null) return 'certificate-revoked';
    if (own.notAfter - CLOCK_SKEW <= at) return null;
    const issuer = (await store.authorities()).find(({ id }) => id === own.authority);
    return issuer?.state === 'retired' ? null : 'not-needed';
  };

  const renew: NodeEnrollment['renew'] = async (machineId, certificateRequest, correlationId) => {
    const machine = await store.machine(machineId);
    if (!machine) throw new ColdironError('not_found', `there is no node with the id ${machineId}`);
    const { renew: may, because } = eligibilityOf(machine.lifecycle);
    // For a removed node the store refuses the write itself, atomically.
    if (!may && machine.lifecycle.state !== 'removed') throw new ColdironError('conflict', because);
    const signed = await authority.signForNode(identityOf(machine), certificateRequest);
    if (!signed.ok) throw new ColdironError('invalid_request', `certificate_request: ${signed.reason}`);
    const grant = grantOf(machine, signed.value, now(), correlationId, 'renewed');
    if (await committed(grant.change({ kind: 'renew-certificate', renewal: grant.written }))) return grant.enrolled();
    throw new ColdironError('enrollment_refused', MESSAGES.removed);
  };

  /** False: the store refused it, because the token is no longer valid. */
  const committed = async (change: Change): Promise<boolean> => (await store.commit(change)).outcome === 'committed';

  /** The reply to the node, and the change that records it. */
  const grantOf = (
    machine: Machine,
    signed: SignedForNode,
    at: Instant,
    correlationId: string | null,
    kind: Enrolled['kind'],
  ) => {
    const origin: Origin = { actor: `machine:${machine.spec.hostname}`, correlationId };
    const certificate: NewCertificate = {
      ...signed.certificate,
      authority: signed.authority,
      kind: 'node',
      machine: machine.id,
    };
    const { text, ...parts } = newEnrollmentToken();
    const recovery: NewEnrollmentToken = {
      ...parts,
      machine: machine.id,
      kind: 'recovery',
      delivery: 'node',
      actor: origin.actor,
      createdAt: at,
      expiresAt: at + settings.recoveryLifetime,
      certificate: certificate.serial,
    };
    const about = certificateJson(certificate);
    return {
      written: {
        machine: machine.id,
        now: at,
        certificate,
        publicKey: publicKeyOf(signed.certificate.pem),
        recovery,
      },
      change: (write: Write): Change => ({
        ...emptyChange(machine, at),
        version: null,
        writes: [write],
        events: [eventOf(`enrollment.${kind}`, machine.id, at, origin, about)],
        audit: [auditOf(`node.${kind}`, `node:${machine.spec.hostname}`, at, origin, about)],
      }),
      enrolled: async (): Promise<Enrolled> => {
        const trust = await authority.trust();
        return {
          machine: machine.id,
          kind,
          certificatePem: signed.chainPem,
          trustPem: trust.pem,
          trustFingerprint: trust.shown,
          notAfter: certificate.notAfter,
          recoveryToken: text,
        };
      },
    };
  };

  const refused = async (
    { nodeId, correlationId }: EnrollmentRequest,
    parts: TokenParts | null,
    refusal: Refusal,
    details: string | null = null,
  ): Promise<ColdironError> => {
    // The client is not authenticated, so it is not named as the actor.
    await store.appendAudit([
      auditOf(
        'node.enrollment_refused',
        `node:${shown(nodeId)}`,
        now(),
        { actor: 'node-api', correlationId },
        { reason: refusal, token: parts?.id ?? null, details },
      ),
    ]);
    const message = details === null ? MESSAGES[refusal] : `${MESSAGES[refusal]}: ${details}`;
    return new ColdironError(CODES[refusal] ?? 'enrollment_refused', message);
  };

  return { enroll, isEntitled, renew };
}

const publicKeyOf = (pem: string): Fingerprint =>
  fingerprintOf(new X509Certificate(pem).publicKey.export({ format: 'der', type: 'spki' }));
