import { expect, it } from 'vitest';
import { DAY } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, NOW, newAudit, newEvent, transitionOf } from '../samples.ts';
import { writesTo } from '../writes.ts';
import {
  certificateNumber,
  fingerprint,
  issue,
  recoveryFor,
  redemptionOf,
  tokenFor,
  withAuthority,
} from './enrollment-samples.ts';

const ISSUED = newAudit('certificate.issued');
const REVOKED = newAudit('certificate.revoked');

export function certificatesContract(engine: Engine): void {
  const opened = useStore(engine);
  const prepared = async () => {
    const { store } = opened();
    await withAuthority(store);
    return { store, machine: await addMachine(store, 1) };
  };
  /** A renewal with certificate `n`. */
  const renewalOf = (machine: Machine, n: number) => ({
    machine: machine.id,
    certificate: certificateNumber(n, machine),
    recovery: recoveryFor(machine, `abc${n}`),
    event: newEvent('enrollment.renewed'),
    audit: newAudit('node.renewed'),
  });
  const enrolled = async () => {
    const { store, machine } = await prepared();
    const token = tokenFor(machine);
    await issue(store, token);
    const first = redemptionOf(machine, token, 1);
    await writesTo(store).redeemToken(first);
    return { store, machine, first };
  };

  it('stores a certificate, found by its fingerprint and by its machine', async () => {
    const { store, machine } = await prepared();
    const certificate = certificateNumber(1, machine);
    await store.recordCertificate(certificate, ISSUED);
    const stored = { ...certificate, confirmedAt: null, revokedAt: null, revokedBecause: null, replacedBy: null };
    expect(await store.certificate(certificate.fingerprint)).toEqual(stored);
    expect(await store.certificatesOf(machine.id)).toEqual([stored]);
    expect(await store.certificatesOf(null)).toEqual([]);
    expect(await store.certificate(fingerprint(9))).toBeNull();
    expect((await store.auditEntries(0, 10)).at(-1)).toMatchObject({ action: 'certificate.issued' });
  });

  it('replaces earlier certificates of the same kind and machine only', async () => {
    const { store, machine } = await prepared();
    const other = await addMachine(store, 2);
    await store.recordCertificate(certificateNumber(1, machine, { kind: 'service' }), ISSUED);
    await store.recordCertificate(certificateNumber(2, machine), ISSUED);
    await store.recordCertificate(certificateNumber(3, other, { kind: 'service' }), ISSUED);
    await store.recordCertificate(certificateNumber(4, null), ISSUED);
    await store.recordCertificate(certificateNumber(5, null), ISSUED);
    await store.recordCertificate(certificateNumber(6, machine, { kind: 'service' }), ISSUED);
    const held = await store.heldCertificates({ now: NOW });
    expect(held.map(({ serial }) => serial)).toEqual(['abc2', 'abc3', 'abc5', 'abc6']);
    expect(await store.certificatesOf(null)).toMatchObject([
      { serial: 'abc5' },
      { serial: 'abc4', replacedBy: 'abc5' },
    ]);
  });

  it('refuses removed and unknown machines', async () => {
    const { store, machine } = await prepared();
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    await expect(store.recordCertificate(certificateNumber(1, machine), ISSUED)).rejects.toMatchObject({
      code: 'conflict',
      message: 'node1 is removed: it cannot get a certificate',
    });
    expect(await store.certificatesOf(machine.id)).toEqual([]);
  });

  it('lists certificates in use by expiry, of one authority, and before a time', async () => {
    const { store, machine } = await prepared();
    const other = await addMachine(store, 2);
    await store.recordCertificate(certificateNumber(1, machine, { notAfter: NOW + 9 * DAY }), ISSUED);
    await store.recordCertificate(certificateNumber(2, other, { notAfter: NOW + 3 * DAY }), ISSUED);
    const serials = async (query: { before?: number; now?: number; authority?: ReturnType<typeof fingerprint> }) =>
      (await store.heldCertificates({ now: NOW, ...query })).map(({ serial }) => serial);
    expect(await serials({})).toEqual(['abc2', 'abc1']);
    expect(await serials({ before: NOW + 5 * DAY })).toEqual(['abc2']);
    expect(await serials({ before: NOW + 3 * DAY })).toEqual([]);
    expect(await serials({ now: NOW + 3 * DAY })).toEqual(['abc1']);
    expect(await serials({ authority: fingerprint(1) })).toEqual(['abc2', 'abc1']);
    expect(await serials({ authority: fingerprint(2) })).toEqual([]);
  });

  it('revokes once, with a reason', async () => {
    const { store, machine } = await prepared();
    await store.recordCertificate(certificateNumber(1, machine), ISSUED);
    expect(await store.revokeCertificate('abc1', NOW + 1, 'key stolen', REVOKED)).toBe(true);
    expect(await store.revokeCertificate('abc1', NOW + 2, 'again', REVOKED)).toBe(false);
    expect(await store.revokeCertificate('nobody', NOW + 2, 'again', REVOKED)).toBe(false);
    expect(await store.certificatesOf(machine.id)).toMatchObject([
      { revokedAt: NOW + 1, revokedBecause: 'key stolen' },
    ]);
    expect(await store.heldCertificates({ now: NOW })).toEqual([]);
  });

  it('keeps the old certificate until the node presents the new one: the reply may be lost', async () => {
    const { store, machine, first } = await enrolled();
    const second = renewalOf(machine, 2);
    expect(await writesTo(store).renewCertificate(second)).toBe(true);
    expect((await store.heldCertificates({ now: NOW })).map(({ serial }) => serial)).toEqual(['abc1', 'abc2']);
    expect((await store.enrollmentToken(first.recovery.id))?.token.revokedAt).toBeNull();

    await store.confirmCertificate('abc2', NOW + 7);
    expect(await store.certificatesOf(machine.id)).toMatchObject([
      { serial: 'abc2', confirmedAt: NOW + 7, replacedBy: null },
      { serial: 'abc1', replacedBy: 'abc2' },
    ]);
    expect((await store.enrollmentToken(first.recovery.id))?.token.revokedAt).toBe(NOW + 7);
    expect((await store.enrollmentToken(second.recovery.id))?.token.revokedAt).toBeNull();
  });

  it('confirms once, and an older certificate that is presented again replaces no newer one', async () => {
    const { store, machine } = await enrolled();
    await writesTo(store).renewCertificate(renewalOf(machine, 2));
    await store.confirmCertificate('abc1', NOW + 5);
    await store.confirmCertificate('abc1', NOW + 6);
    expect(await store.certificatesOf(machine.id)).toMatchObject([
      { serial: 'abc2', replacedBy: null, confirmedAt: null },
      { serial: 'abc1', replacedBy: null, confirmedAt: NOW + 5 },
    ]);
  });

  it('refuses to renew for a removed machine', async () => {
    const { store, machine } = await enrolled();
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    expect(await writesTo(store).renewCertificate(renewalOf(machine, 2))).toBe(false);
    expect(await store.certificatesOf(machine.id)).toHaveLength(1);
  });
}
