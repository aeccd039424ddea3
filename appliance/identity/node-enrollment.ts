// A node becomes one of ours, stays one, and comes back after its certificate has ended. Everything that a "yes" stands on is
// in the store before the node hears it.

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
import { standingOf } from './node-eligibility.ts';
import type { NodeIdentity } from './node-identity.ts';
import type { EnrollmentSettings } from './settings.ts';
import {
  newEnrollmentToken,
  parseEnrollmentToken,
  type TokenParts,
  type TokenStanding,
  tokenStanding,
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

/** What the node keeps. The recovery token takes the place of the one it came with. */
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
   * First enrollment and recovery alike: the token says which. `enrollment_refused`, and an audit entry with the reason;
   * `conflict` when the node's state forbids it for now, and the token stays good. A node that missed the answer may ask
   * again with the same key for some minutes, as long as it has not shown what it was given.
   */
  enroll(request: EnrollmentRequest): Promise<Enrolled>;
  /** Whether it has what `enroll` asks for. Whoever has is not made to wait for what others at its address do wrong. */
  isEntitled(request: Pick<EnrollmentRequest, 'nodeId' | 'token'>): Promise<boolean>;
  /** For a node that `identifyPeer` has let in. */
  renew(machine: MachineId, certificateRequest: string, correlationId: string | null): Promise<Enrolled>;
}

/** `not-needed`: a recovery token while the certificate is good. Stolen from a node that lives, it opens nothing. */
type Refusal = Exclude<TokenStanding, 'good'> | 'not-needed' | 'certificate-revoked' | 'bad-request' | 'state';

/** Said to whoever has the secret of the token; everybody else hears the same sentence, whatever was wrong. */
const SAID: Readonly<Record<Refusal, string>> = {
  unknown: 'the enrollment token is not accepted',
  'wrong-node': 'the enrollment token is not accepted',
  removed: 'this node was removed: it can only come back as a new one',
  revoked: 'the enrollment token was taken back: it needs a new bundle',
  consumed: 'the enrollment token was used before',
  expired: 'the enrollment token has expired',
  'not-needed': 'the certificate of this node is still good: renew it with that',
  'certificate-revoked': 'the certificate of this node was revoked: it needs a new bundle',
  'bad-request': 'the certification request is not accepted',
  state: 'not now',
};

/** Where it is not the token that is refused. */
const CODES: Readonly<Partial<Record<Refusal, ErrorCode>>> = { 'bad-request': 'invalid_request', state: 'conflict' };

/** The node's clock may be ahead of ours by this much. */
const CLOCK_SKEW = 10 * MINUTE;
/** How long after its use a token may be shown again by whoever used it. */
const REPEAT_WITHIN = 10 * MINUTE;

export function createNodeEnrollment(dependencies: NodeEnrollmentDeps): NodeEnrollment {
  const { store, authority, now, settings, identityOf } = dependencies;

  const enroll = async (request: EnrollmentRequest): Promise<Enrolled> => {
    const at = now();
    const machineId = parseMachineId(request.nodeId);
    const parts = parseEnrollmentToken(request.token);
    if (!parts.ok || !machineId.ok) throw await refused(request, null, 'unknown');

    const held = await store.enrollmentToken(parts.value.id);
    const standing = tokenStanding(held, parts.value, machineId.value, at);
    const again = standing === 'consumed';
    const machine = standing === 'good' || again ? await store.machine(machineId.value) : null;
    if (!machine || !held) throw await refused(request, parts.value, standing === 'good' ? 'unknown' : standing);
    const refusal = again ? null : await recoveryRefusal(held.token, at);
    if (refusal !== null) throw await refused(request, parts.value, refusal);
    const allowed = held.token.kind === 'enrollment' ? 'enroll' : 'renew';
    const { because, [allowed]: may } = standingOf(machine.lifecycle);
    if (!may) throw await refused(request, parts.value, 'state', because);
    const signed = await authority.signForNode(identityOf(machine), request.certificateRequest);
    if (!signed.ok) throw await refused(request, parts.value, 'bad-request', signed.reason);
    return again
      ? repeat(request, parts.value, held, machine, signed.value, at)
      : redeem(request, parts.value, held, machine, signed.value, at);
  };

  const isEntitled: NodeEnrollment['isEntitled'] = async ({ nodeId, token }) => {
    const machineId = parseMachineId(nodeId);
    const parts = parseEnrollmentToken(token);
    if (!machineId.ok || !parts.ok) return false;
    const held = await store.enrollmentToken(parts.value.id);
    const standing = tokenStanding(held, parts.value, machineId.value, now());
    const lately = (held?.token.consumedAt ?? 0) > now() - REPEAT_WITHIN;
    return standing === 'good' || (standing === 'consumed' && lately);
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
    const given = gift(machine, signed, at, request.correlationId, kind);
    const redemption = { ...given.written, token: token.id };
    if (await committed(given.change({ kind: 'redeem-token', redemption }))) return given.enrolled();
    // Somebody was faster with the same token, or it was taken back meanwhile, it or the certificate that it stands for.
    const standing = tokenStanding(await store.enrollmentToken(parts.id), parts, machine.id, at);
    throw await refused(request, parts, standing === 'good' ? 'certificate-revoked' : standing);
  };

  const repeat: typeof redeem = async (request, parts, { token }, machine, signed, at) => {
    const kind = token.kind === 'enrollment' ? 'enrolled' : 'recovered';
    const given = gift(machine, signed, at, request.correlationId, kind);
    const redemption = { ...given.written, token: token.id };
    const since = at - REPEAT_WITHIN;
    if (await committed(given.change({ kind: 'repeat-redemption', redemption, since }))) return given.enrolled();
    throw await refused(request, parts, 'consumed');
  };

  /** Null for a first enrollment, and for a certificate that can do nothing any more. */
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
    const { renew: may, because } = standingOf(machine.lifecycle);
    // Of a removed one the store itself says so, in one step with the writing.
    if (!may && machine.lifecycle.state !== 'removed') throw new ColdironError('conflict', because);
    const signed = await authority.signForNode(identityOf(machine), certificateRequest);
    if (!signed.ok) throw new ColdironError('invalid_request', `certificate_request: ${signed.reason}`);
    const given = gift(machine, signed.value, now(), correlationId, 'renewed');
    if (await committed(given.change({ kind: 'renew-certificate', renewal: given.written }))) return given.enrolled();
    throw new ColdironError('enrollment_refused', SAID.removed);
  };

  /** False: the store refused it, because the token is not good any more. */
  const committed = async (change: Change): Promise<boolean> => (await store.commit(change)).outcome === 'committed';

  /** What a node gets, and what is written down about it. */
  const gift = (
    machine: Machine,
    signed: SignedForNode,
    at: Instant,
    correlationId: string | null,
    kind: Enrolled['kind'],
  ) => {
    const onBehalf: Origin = { actor: `machine:${machine.spec.hostname}`, correlationId };
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
      actor: onBehalf.actor,
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
        events: [eventOf(`enrollment.${kind}`, machine.id, at, onBehalf, about)],
        audit: [auditOf(`node.${kind}`, `node:${machine.spec.hostname}`, at, onBehalf, about)],
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
    // Nobody has proved to be anybody, so nobody is named as the one who did it.
    await store.appendAudit([
      auditOf(
        'node.enrollment_refused',
        `node:${shown(nodeId)}`,
        now(),
        { actor: 'node-api', correlationId },
        { reason: refusal, token: parts?.id ?? null, details },
      ),
    ]);
    const said = details === null ? SAID[refusal] : `${SAID[refusal]}: ${details}`;
    return new ColdironError(CODES[refusal] ?? 'enrollment_refused', said);
  };

  return { enroll, isEntitled, renew };
}

const publicKeyOf = (pem: string): Fingerprint =>
  fingerprintOf(new X509Certificate(pem).publicKey.export({ format: 'der', type: 'spki' }));
