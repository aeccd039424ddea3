import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { useEnrollment } from './enrollment-rig.ts';
import { newKeyPem, newRequest } from './openssl.ts';

describe('a used token whose reply was lost', () => {
  const rig = useEnrollment();
  const request = (machine: Machine, token: string, key: string) =>
    rig().enrollment.enroll({
      nodeId: machine.id,
      token,
      certificateRequest: newRequest(key, `/CN=${machine.id}`),
      correlationId: null,
    });
  const used = async () => {
    const machine = await rig().machine(1);
    const token = await rig().token(machine);
    const key = newKeyPem('P-256');
    await request(machine, token, key);
    return { machine, token, key };
  };
  const refusal = { code: 'enrollment_refused', message: 'the enrollment token was already used' };

  it('is redeemed again for the same key, and the lost credentials are revoked', async () => {
    const { machine, token, key } = await used();
    await request(machine, token, key);
    const certificates = await rig().store.certificatesOf(machine.id);
    expect(certificates.filter(({ revokedAt }) => revokedAt === null)).toHaveLength(1);
    const recovery = (await rig().store.enrollmentTokensOf(machine.id)).filter(({ kind }) => kind === 'recovery');
    expect(recovery.filter(({ revokedAt }) => revokedAt === null)).toHaveLength(1);
    await request(machine, token, key);
  });

  it('is refused for any other key', async () => {
    const { machine, token } = await used();
    await expect(request(machine, token, newKeyPem('P-256'))).rejects.toMatchObject(refusal);
  });

  it('is refused after the certificate was presented', async () => {
    const { machine, token, key } = await used();
    const [certificate] = await rig().store.certificatesOf(machine.id);
    await rig().store.confirmCertificate(certificate?.serial ?? '', rig().clock.at);
    await expect(request(machine, token, key)).rejects.toMatchObject(refusal);
  });

  it('is refused ten minutes later', async () => {
    const { machine, token, key } = await used();
    rig().clock.at += 10 * MINUTE;
    await expect(request(machine, token, key)).rejects.toMatchObject(refusal);
  });
});

describe('a state that does not allow enrollment', () => {
  const rig = useEnrollment();

  it.each(['deploying', 'quarantined', 'releasing', 'registered'] as const)(
    'refuses to enroll a node that is %s, audits the reason, and keeps the token valid',
    async (state) => {
      const { store, machine, token, enroll } = rig();
      const node = await machine(1);
      const text = await token(node);
      const there = await writesTo(store).transition(transitionOf(node, state));
      await expect(enroll(node, text)).rejects.toMatchObject({ code: 'conflict' });
      expect((await store.auditEntries(0, 1, true)).at(-1)).toMatchObject({ after: { reason: 'state' } });
      await writesTo(store).transition(transitionOf(there, 'enrolling'));
      await enroll(node, text);
    },
  );
});
