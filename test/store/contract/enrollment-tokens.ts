import { expect, it } from 'vitest';
import { DAY } from '../../../appliance/domain/instant.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, eventKinds, NOW, newAudit, newEvent, newMachineId, transitionOf } from '../samples.ts';
import { writesTo } from '../writes.ts';
import { certificateNumber, issue, recoveryFor, redemptionOf, tokenFor, withAuthority } from './enrollment-samples.ts';

export function enrollmentTokensContract(engine: Engine): void {
  const opened = useStore(engine);
  const prepared = async () => {
    const { store } = opened();
    await withAuthority(store);
    return { store, machine: await addMachine(store, 1) };
  };

  it('stores a token with the hash of its secret, its event and its audit entry', async () => {
    const { store, machine } = await prepared();
    const { secretHash, ...token } = tokenFor(machine);
    expect(await issue(store, { ...token, secretHash })).toEqual({ issued: true, replaced: null });
    const stored = { ...token, consumedAt: null, revokedAt: null };
    expect(await store.enrollmentToken(token.id)).toEqual({ token: stored, secretHash, machineRemoved: false });
    expect(await store.enrollmentTokensOf(machine.id)).toEqual([stored]);
    expect(await store.enrollmentToken('nothing' as typeof token.id)).toBeNull();
    expect(await eventKinds(store)).toEqual(['bundle']);
    expect((await store.auditEntries(0, 10)).at(-1)).toMatchObject({ action: 'bundle' });
  });

  it('refuses a second token while the first is open', async () => {
    const { store, machine } = await prepared();
    const first = tokenFor(machine, { actor: 'token:bob' });
    await issue(store, first);
    const second = await issue(store, tokenFor(machine, { createdAt: NOW + 1 }));
    expect(second).toMatchObject({ issued: false, open: { id: first.id, actor: 'token:bob' } });
    expect(await store.enrollmentTokensOf(machine.id)).toHaveLength(1);
    expect(await eventKinds(store)).toEqual(['bundle']);
  });

  it('reissues: revokes the previous token in the same commit, with an audit entry', async () => {
    const { store, machine } = await prepared();
    const first = tokenFor(machine);
    await issue(store, first);
    const second = tokenFor(machine, { createdAt: NOW + 5 });
    const issued = await writesTo(store).issueToken(second, true, newEvent('again'), (replaced) =>
      newAudit('reissued', { before: replaced?.id ?? null }),
    );
    expect(issued).toMatchObject({ issued: true, replaced: { id: first.id } });
    expect((await store.enrollmentToken(first.id))?.token.revokedAt).toBe(NOW + 5);
    expect((await store.auditEntries(0, 10)).at(-1)).toMatchObject({ action: 'reissued', before: first.id });
    expect(await writesTo(store).redeemToken(redemptionOf(machine, first, 6))).toBe(false);
    expect(await writesTo(store).redeemToken(redemptionOf(machine, second, 6))).toBe(true);
  });

  it('issues to exactly one of many concurrent callers', async () => {
    const { store, machine } = await prepared();
    const other = await opened().another();
    const issues = await Promise.all(
      Array.from({ length: 10 }, (_, n) => issue(n % 2 ? store : other, tokenFor(machine))),
    );
    expect(issues.filter(({ issued }) => issued)).toHaveLength(1);
  });

  it('issues a new token when the first has expired', async () => {
    const { store, machine } = await prepared();
    const first = tokenFor(machine);
    await issue(store, first);
    const later = tokenFor(machine, { createdAt: NOW + DAY, expiresAt: NOW + 2 * DAY });
    expect(await issue(store, later)).toMatchObject({ issued: true, replaced: { id: first.id } });
  });

  it('is redeemed once: consumed, with a certificate and a recovery token, in one commit', async () => {
    const { store, machine } = await prepared();
    const token = tokenFor(machine);
    await issue(store, token);
    const redemption = redemptionOf(machine, token, 3);
    expect(await writesTo(store).redeemToken(redemption)).toBe(true);
    expect((await store.enrollmentToken(token.id))?.token).toMatchObject({ consumedAt: NOW + 3, revokedAt: null });
    expect(await store.certificatesOf(machine.id)).toMatchObject([{ serial: 'abc3', confirmedAt: null }]);
    expect((await store.enrollmentToken(redemption.recovery.id))?.token).toMatchObject({
      kind: 'recovery',
      certificate: 'abc3',
    });
    expect(await eventKinds(store)).toEqual(['bundle', 'enrollment.enrolled']);

    expect(await writesTo(store).redeemToken(redemptionOf(machine, token, 4))).toBe(false);
    expect(await store.certificatesOf(machine.id)).toHaveLength(1);
  });

  it('is redeemed by exactly one of many concurrent callers', async () => {
    const { store, machine } = await prepared();
    const other = await opened().another();
    const token = tokenFor(machine);
    await issue(store, token);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        writesTo(n % 2 ? store : other).redeemToken(redemptionOf(machine, token, n)),
      ),
    );
    expect(answers.filter((redeemed) => redeemed)).toHaveLength(1);
    expect(await store.certificatesOf(machine.id)).toHaveLength(1);
    expect(await store.enrollmentTokensOf(machine.id)).toHaveLength(2);
  });

  it('is refused from its expiry on, and for another machine', async () => {
    const { store, machine } = await prepared();
    const other = await addMachine(store, 2);
    const token = tokenFor(machine);
    await issue(store, token);
    expect(await writesTo(store).redeemToken({ ...redemptionOf(machine, token, 1), now: token.expiresAt })).toBe(false);
    expect(await writesTo(store).redeemToken(redemptionOf(other, token, 1))).toBe(false);
    expect(await writesTo(store).redeemToken({ ...redemptionOf(machine, token, 1), now: token.expiresAt - 1 })).toBe(
      true,
    );
  });

  it('is invalid after its machine is removed', async () => {
    const { store, machine } = await prepared();
    const token = tokenFor(machine);
    await issue(store, token);
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    expect(await store.enrollmentToken(token.id)).toMatchObject({ machineRemoved: true });
    expect((await store.enrollmentToken(token.id))?.token.revokedAt).not.toBeNull();
    expect(await writesTo(store).redeemToken(redemptionOf(machine, token, 1))).toBe(false);
    await expect(issue(store, tokenFor(machine), true)).rejects.toMatchObject({
      code: 'conflict',
      message: 'node1 is removed: it cannot get a token',
    });
    const unknown = tokenFor({ ...machine, id: newMachineId() });
    await expect(issue(store, unknown)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('revokes earlier node certificates when a node enrolls again, but not those of its services', async () => {
    const { store, machine } = await prepared();
    await store.recordCertificate(certificateNumber(1, machine), newAudit('issued'));
    await store.recordCertificate(certificateNumber(2, machine, { kind: 'service' }), newAudit('issued'));
    const token = tokenFor(machine);
    await issue(store, token, true);
    await writesTo(store).redeemToken(redemptionOf(machine, token, 5));
    expect(await store.certificatesOf(machine.id)).toMatchObject([
      { serial: 'abc5', revokedAt: null },
      { serial: 'abc2', revokedAt: null },
      { serial: 'abc1', revokedAt: NOW + 5, revokedBecause: 'enrolled again' },
    ]);
  });

  it('keeps the earlier certificates when a node recovers', async () => {
    const { store, machine } = await prepared();
    await store.recordCertificate(certificateNumber(1, machine), newAudit('issued'));
    const recovery = recoveryFor(machine, 'abc1');
    await issue(store, recovery);
    await writesTo(store).redeemToken(redemptionOf(machine, recovery, 5));
    expect(await store.certificatesOf(machine.id)).toMatchObject([
      { serial: 'abc5' },
      { serial: 'abc1', revokedAt: null },
    ]);
  });

  it('refuses to recover a node whose certificate was revoked', async () => {
    const { store, machine } = await prepared();
    await store.recordCertificate(certificateNumber(1, machine), newAudit('issued'));
    const recovery = recoveryFor(machine, 'abc1');
    await issue(store, recovery);
    await store.revokeCertificate('abc1', NOW, 'stolen', newAudit('revoked'));
    expect(await writesTo(store).redeemToken(redemptionOf(machine, recovery, 5))).toBe(false);
    expect((await store.enrollmentToken(recovery.id))?.token.consumedAt).toBeNull();
  });

  it('refuses to issue beside an open recovery token, except to replace it', async () => {
    const { store, machine } = await prepared();
    const token = tokenFor(machine);
    await issue(store, token);
    const redemption = redemptionOf(machine, token, 1);
    await writesTo(store).redeemToken(redemption);
    expect(await issue(store, tokenFor(machine))).toMatchObject({ issued: false, open: { kind: 'recovery' } });
    expect(await issue(store, tokenFor(machine), true)).toMatchObject({ issued: true, replaced: { kind: 'recovery' } });
    expect((await store.enrollmentToken(redemption.recovery.id))?.token.revokedAt).toBe(NOW);
  });

  it('revokes all tokens and certificates of an identity, once', async () => {
    const { store, machine } = await prepared();
    const token = tokenFor(machine);
    await issue(store, token);
    await writesTo(store).redeemToken(redemptionOf(machine, token, 1));
    await store.recordCertificate(certificateNumber(2, machine, { kind: 'service' }), newAudit('issued'));
    const revoked = newEvent('identity.revoked');
    await writesTo(store).revokeIdentity(machine.id, NOW + 9, 'removed', revoked);
    await writesTo(store).revokeIdentity(machine.id, NOW + 10, 'removed', revoked);
    expect((await eventKinds(store)).filter((kind) => kind === 'identity.revoked')).toHaveLength(1);
    expect(await store.heldCertificates({ now: NOW })).toEqual([]);
  });
}
