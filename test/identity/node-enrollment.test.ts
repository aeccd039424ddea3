import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { identifyPeer } from '../../appliance/identity/node-peer.ts';
import { derOf } from '../../appliance/identity/sign-certificate.ts';
import { secretText } from '../../appliance/render/bundle/bundle.ts';
import type { Store } from '../../appliance/store/store.ts';
import { machineIn, newAudit, newEvent, newMachineId, transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { ALICE, identityOf, useEnrollment } from './enrollment-rig.ts';
import { newKeyPem, newRequest } from './openssl.ts';

const REQUEST = (): string => newRequest(newKeyPem('ed25519'), '/');

async function lastRefusal(store: Store): Promise<unknown> {
  const last = (await store.auditEntries(0, 1000)).at(-1);
  return last?.action === 'node.enrollment_refused' ? last.after : last?.action;
}

const leafOf = (chain: string): Uint8Array =>
  derOf(`${chain.split('-----END CERTIFICATE-----')[0]}-----END CERTIFICATE-----\n`);

describe('a first enrollment', () => {
  const rig = useEnrollment();
  const attempt = (nodeId: string, token: string, certificateRequest = REQUEST()) =>
    rig().enrollment.enroll({ nodeId, token, certificateRequest, correlationId: 'c-9' });

  it('issues a certificate, the authorities and a recovery token, all on disk before the reply', async () => {
    const { machine, token, enroll, store, authority, clock } = rig();
    const node = await machine(1);
    const enrolled = await enroll(node, await token(node));
    expect(new X509Certificate(enrolled.certificatePem).subject).toContain(node.id);
    expect(enrolled.trustPem).toBe((await authority.trust()).pem);
    expect(enrolled.notAfter).toBe(clock.at + 30 * DAY);
    expect(await store.certificatesOf(node.id)).toMatchObject([{ kind: 'node', machine: node.id }]);
    const [recovery, first] = sorted(await store.enrollmentTokensOf(node.id));
    expect(first).toMatchObject({ kind: 'enrollment', consumedAt: clock.at });
    expect(recovery).toMatchObject({ kind: 'recovery', consumedAt: null, expiresAt: clock.at + 365 * DAY });
    expect((await store.auditEntries(0, 100)).at(-1)).toMatchObject({
      action: 'node.enrolled',
      actor: 'machine:node1',
      target: 'node:node1',
    });
  });

  it('stores no secret: neither the token nor the recovery token', async () => {
    const { machine, token, enroll, store } = rig();
    const node = await machine(1);
    const text = await token(node);
    const { recoveryToken } = await enroll(node, text);
    const stored = JSON.stringify([
      await store.enrollmentTokensOf(node.id),
      await store.auditEntries(0, 100),
      await store.events({ limit: 100 }),
    ]);
    for (const secret of [text, recoveryToken]) expect(stored).not.toContain(secret.slice(16));
  });

  it('is refused when the token was already used', async () => {
    const { machine, token, enroll, store } = rig();
    const node = await machine(1);
    const text = await token(node);
    await enroll(node, text);
    await expect(attempt(node.id, text)).rejects.toMatchObject({
      code: 'enrollment_refused',
      message: 'the enrollment token was already used',
    });
    expect(await lastRefusal(store)).toMatchObject({ reason: 'consumed', token: text.slice(3, 15) });
  });

  it('succeeds for exactly one of many concurrent requests with the same token', async () => {
    const { machine, token, store } = rig();
    const node = await machine(1);
    const text = await token(node);
    const request = REQUEST();
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => attempt(node.id, text, request)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.message] : []));
    expect(new Set(refusals)).toEqual(new Set(['the enrollment token was already used']));
    expect(await store.certificatesOf(node.id)).toHaveLength(1);
  });

  it('is refused with an expired token', async () => {
    const { machine, token, clock, store } = rig();
    const node = await machine(1);
    const text = await token(node);
    clock.at += DAY;
    await expect(attempt(node.id, text)).rejects.toThrow('the enrollment token has expired');
    expect(await lastRefusal(store)).toMatchObject({ reason: 'expired' });
    clock.at -= 1;
    await expect(attempt(node.id, text)).resolves.toMatchObject({ kind: 'enrolled' });
  });

  it('is refused with the old token after a reissue, and accepted with the new one', async () => {
    const { machine, token, store } = rig();
    const node = await machine(1);
    const former = await token(node);
    const latter = await token(node);
    await expect(attempt(node.id, former)).rejects.toThrow('token was revoked');
    expect(await lastRefusal(store)).toMatchObject({ reason: 'revoked' });
    await expect(attempt(node.id, latter)).resolves.toMatchObject({ machine: node.id });
  });

  it('gives the same message to every client without a token for this node; the audit has the reason', async () => {
    const { machine, token, store } = rig();
    const [node, other] = [await machine(1), await machine(2)];
    const text = await token(node);
    const cases: [string, string, string][] = [
      [other.id, text, 'wrong-node'],
      [newMachineId(), text, 'wrong-node'],
      [node.id, `${text.slice(0, -1)}${text.endsWith('A') ? 'B' : 'A'}`, 'unknown'],
      [node.id, text.replace(/^ce_.{12}/, 'ce_000000000000'), 'unknown'],
      [node.id, 'hunter2', 'unknown'],
      ['node1', text, 'unknown'],
      ['../../etc\n', text, 'unknown'],
    ];
    for (const [nodeId, token, reason] of cases) {
      await expect(attempt(nodeId, token), reason).rejects.toMatchObject({
        code: 'enrollment_refused',
        message: 'the enrollment token is not accepted',
      });
      expect(await lastRefusal(store)).toMatchObject({ reason });
    }
    expect(JSON.stringify(await store.auditEntries(0, 100))).not.toContain('hunter2');
    await expect(attempt(node.id, text)).resolves.toMatchObject({ kind: 'enrolled' });
  });

  it('keeps the token valid when the request is invalid, and gives the reason', async () => {
    const { machine, token, store } = rig();
    const node = await machine(1);
    const text = await token(node);
    const foreign = newRequest(newKeyPem('ed25519'), '/CN=node2');
    await expect(attempt(node.id, text, foreign)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'the certification request is not accepted: it names a host other than node1: CN=node2',
    });
    expect(await lastRefusal(store)).toMatchObject({ reason: 'bad-request' });
    await expect(attempt(node.id, text)).resolves.toMatchObject({ kind: 'enrolled' });
  });

  it('is refused for a removed node with any token', async () => {
    const { machine, token, store } = rig();
    const node = await machine(1);
    const text = await token(node);
    await writesTo(store).transition(transitionOf(node, 'removed'));
    await expect(attempt(node.id, text)).rejects.toThrow('this node was removed');
    expect(await lastRefusal(store)).toMatchObject({ reason: 'removed' });
  });

  it('revokes all earlier credentials of a node that enrolls again after a reissue', async () => {
    const { machine, token, enroll, store, clock } = rig();
    const node = await machine(1);
    const first = await enroll(node, await token(node));
    const second = await enroll(node, await token(node));
    const verdict = async (pem: string) => identifyPeer(store, leafOf(pem), clock.at);
    expect(await verdict(first.certificatePem)).toMatchObject({ ok: false, reason: 'revoked' });
    expect(await verdict(second.certificatePem)).toMatchObject({ ok: true, machine: node.id });
    clock.at += 40 * DAY;
    await expect(attempt(node.id, first.recoveryToken)).rejects.toThrow('token was revoked');
  });
});

describe('the recovery of a node whose certificate has expired', () => {
  const rig = useEnrollment();
  const enrolledNode = async (): Promise<{ node: Machine; recovery: string; certificatePem: string }> => {
    const { machine, token, enroll } = rig();
    const node = await machine(1);
    const { recoveryToken, certificatePem } = await enroll(node, await token(node));
    return { node, recovery: recoveryToken, certificatePem };
  };
  const attempt = (node: Machine, token: string) =>
    rig().enrollment.enroll({ nodeId: node.id, token, certificateRequest: REQUEST(), correlationId: null });

  it('succeeds once with its recovery token, and issues the next one', async () => {
    const { clock, store } = rig();
    const { node, recovery } = await enrolledNode();
    clock.at += 31 * DAY;
    const recovered = await attempt(node, recovery);
    expect(recovered.kind).toBe('recovered');
    await expect(attempt(node, recovery)).rejects.toThrow('was already used');
    clock.at += 31 * DAY;
    await expect(attempt(node, secretText(recovered.recoveryToken))).resolves.toMatchObject({ kind: 'recovered' });
    expect((await store.auditEntries(0, 100)).filter(({ action }) => action === 'node.recovered')).toHaveLength(2);
  });

  it('is refused while the certificate is valid: a stolen token is useless while the node runs', async () => {
    const { clock, store } = rig();
    const { node, recovery } = await enrolledNode();
    clock.at += 29 * DAY;
    await expect(attempt(node, recovery)).rejects.toThrow('still valid');
    expect(await lastRefusal(store)).toMatchObject({ reason: 'not-needed' });
    clock.at += DAY - 10 * MINUTE;
    await expect(attempt(node, recovery)).resolves.toMatchObject({ kind: 'recovered' });
  });

  it('is refused for another node', async () => {
    const { clock, machine } = rig();
    const { recovery } = await enrolledNode();
    const other = await machine(2);
    clock.at += 31 * DAY;
    await expect(attempt(other, recovery)).rejects.toThrow('not accepted');
  });

  it('is refused when the certificate was revoked', async () => {
    const { clock, store } = rig();
    const { node, recovery } = await enrolledNode();
    const [certificate] = await store.certificatesOf(node.id);
    await store.revokeCertificate(certificate?.serial ?? '', clock.at, 'stolen', newAudit('certificate.revoked'));
    clock.at += 31 * DAY;
    await expect(attempt(node, recovery)).rejects.toThrow('certificate of this node was revoked');
  });

  it('is refused when the identity was revoked, and when the node was removed', async () => {
    const { clock, store } = rig();
    const { node, recovery } = await enrolledNode();
    await writesTo(store).revokeIdentity(node.id, clock.at, 'released', newEvent('identity.revoked'));
    clock.at += 31 * DAY;
    await expect(attempt(node, recovery)).rejects.toThrow('token was revoked');
    await writesTo(store).transition(transitionOf(await machineIn(store, node.id), 'removed'));
    await expect(attempt(node, recovery)).rejects.toThrow('was removed');
  });

  it('succeeds after a renewal whose reply was lost, and is refused after one that arrived', async () => {
    const { clock, store, enrollment } = rig();
    const { node, recovery } = await enrolledNode();
    clock.at += 20 * DAY;
    const lost = await enrollment.renew(node.id, REQUEST(), null);
    clock.at += 11 * DAY;
    const recovered = await attempt(node, recovery);
    expect(recovered.kind).toBe('recovered');
    await identifyPeer(store, leafOf(recovered.certificatePem), clock.at);
    clock.at += 60 * DAY;
    await expect(attempt(node, secretText(lost.recoveryToken))).rejects.toThrow('token was revoked');
  });

  it('is refused when the recovery token has expired', async () => {
    const { clock } = rig();
    const { node, recovery } = await enrolledNode();
    clock.at += 365 * DAY;
    await expect(attempt(node, recovery)).rejects.toThrow('has expired');
  });
});

describe('a renewal', () => {
  const rig = useEnrollment();

  it('issues a new certificate and recovery token; the old ones are replaced when the new one is presented', async () => {
    const { machine, token, enroll, enrollment, store, clock } = rig();
    const node = await machine(1);
    const first = await enroll(node, await token(node));
    clock.at += 20 * DAY;
    const renewed = await enrollment.renew(node.id, REQUEST(), 'c-2');
    expect(renewed).toMatchObject({ kind: 'renewed', notAfter: clock.at + 30 * DAY });
    const verdict = async (pem: string) => (await identifyPeer(store, leafOf(pem), clock.at)).ok;
    expect(await verdict(first.certificatePem)).toBe(true);
    expect(await verdict(renewed.certificatePem)).toBe(true);
    expect(await store.heldCertificates({ now: clock.at })).toMatchObject([{ notAfter: renewed.notAfter }]);
    const open = (await store.enrollmentTokensOf(node.id)).filter(
      ({ consumedAt, revokedAt }) => consumedAt === null && revokedAt === null,
    );
    expect(open).toMatchObject([{ kind: 'recovery', createdAt: clock.at }]);
  });

  it('is refused for a removed node and with an invalid request', async () => {
    const { machine, enrollment, store } = rig();
    const node = await machine(1);
    await expect(enrollment.renew(node.id, 'nonsense', null)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'certificate_request: has no CERTIFICATE REQUEST in PEM',
    });
    await expect(enrollment.renew(newMachineId(), REQUEST(), null)).rejects.toMatchObject({ code: 'not_found' });
    await writesTo(store).transition(transitionOf(node, 'removed'));
    await expect(enrollment.renew(node.id, REQUEST(), null)).rejects.toMatchObject({ code: 'enrollment_refused' });
  });
});

describe('a peer', () => {
  const rig = useEnrollment();

  it('is identified only by a valid node certificate', async () => {
    const { machine, token, enroll, store, clock, authority } = rig();
    const node = await machine(1);
    const { certificatePem } = await enroll(node, await token(node));
    const der = leafOf(certificatePem);
    const verdict = (at: number, shown = der) => identifyPeer(store, shown, at);
    expect(await verdict(clock.at)).toMatchObject({ ok: true, machine: node.id });
    expect(await verdict(clock.at - DAY - HOUR)).toMatchObject({ ok: false, reason: 'not-yet-valid' });
    expect(await verdict(clock.at + 30 * DAY)).toMatchObject({ ok: false, reason: 'expired', machine: node.id });
    expect(await verdict(clock.at, der.subarray(1))).toMatchObject({ ok: false, reason: 'unknown-certificate' });
    const [service] = await authority.serviceFiles(identityOf(node), ALICE);
    expect(await verdict(clock.at, leafOf(service?.text ?? ''))).toMatchObject({ reason: 'not-a-node-certificate' });
    await writesTo(store).transition(transitionOf(node, 'removed'));
    expect(await verdict(clock.at)).toMatchObject({ ok: false, reason: 'removed', machine: node.id });
  });

  it('is rejected after a certificate that it has used is revoked', async () => {
    const { machine, token, enroll, store, clock } = rig();
    const node = await machine(1);
    const { certificatePem } = await enroll(node, await token(node));
    const verdict = () => identifyPeer(store, leafOf(certificatePem), clock.at);
    expect(await verdict()).toMatchObject({ ok: true });
    const [certificate] = await store.certificatesOf(node.id);
    await store.revokeCertificate(certificate?.serial ?? '', clock.at, 'stolen', newAudit('certificate.revoked'));
    expect(await verdict()).toMatchObject({ ok: false, reason: 'revoked', machine: node.id });
  });
});

const sorted = <T extends { kind: string }>(tokens: T[]): T[] =>
  tokens.toSorted((a, b) => b.kind.localeCompare(a.kind));
