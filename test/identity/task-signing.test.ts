import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY, MINUTE } from '../../appliance/domain/instant.ts';
import { openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { openTaskSigner, type SignedTask, type TaskToSign } from '../../appliance/identity/task-signing.ts';
import type { TaskVerifier } from '../../appliance/render/bundle/bundle.ts';
import { needPackages } from '../interop/packages.ts';
import { newMachineId } from '../store/samples.ts';
import { ALICE, auditActions, useEnrollment } from './enrollment-rig.ts';
import { openssl, withFile } from './openssl.ts';

beforeAll(() => needPackages(['openssl']));

const TASK: TaskToSign = {
  taskId: 't-1',
  nodeId: newMachineId(),
  kind: 'rotate-ssh-keys',
  parameters: { users: ['alice', 'bob'], note: 'Grüße "quoted" $HOME' },
  issuedAt: Date.UTC(2026, 0, 1),
  expiresAt: Date.UTC(2026, 0, 1) + 5 * MINUTE,
};

/** Verifies as the agent does: builds a PEM file from the base64 key and runs OpenSSL. */
function verifies({ payload, signature }: SignedTask, { publicKey }: TaskVerifier): boolean {
  const pem = `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`;
  return withFile(pem, (key) =>
    withFile(payload, (text) =>
      withFile(Buffer.from(signature, 'base64'), (signed) => {
        const args = ['pkeyutl', '-verify', '-rawin', '-pubin', '-inkey', key, '-in', text, '-sigfile', signed];
        return openssl(args).status === 0;
      }),
    ),
  );
}

describe('a signed task', () => {
  const rig = useEnrollment();
  const open = async () => {
    const { store, clock, file, deps } = rig();
    return openTaskSigner({
      store,
      keys: await openKeyFolder(join(file('state'), 'task-signing'), null),
      now: () => clock.at,
      settings: deps.settings,
    });
  };

  it('is verified by OpenSSL with the key in the bundle', async () => {
    const signer = await open();
    const signed = await signer.sign(TASK);
    const [active, ...others] = await signer.verifiers();
    if (!active) throw new Error('there is no key');
    expect(others).toEqual([]);
    expect(active).toMatchObject({ state: 'active', id: signed.keyId });
    expect(verifies(signed, active)).toBe(true);
    expect(verifies({ ...signed, payload: signed.payload.replace('alice', 'mallory') }, active)).toBe(false);
    expect(JSON.parse(signed.payload)).toEqual({
      task_id: 't-1',
      node_id: TASK.nodeId,
      kind: 'rotate-ssh-keys',
      parameters: TASK.parameters,
      issued_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2026-01-01T00:05:00.000Z',
    });
  });

  it('is signed with a key that is created once, in a private file', async () => {
    const first = await open();
    const { keyId } = await first.sign(TASK);
    const again = await open();
    expect((await again.sign(TASK)).keyId).toBe(keyId);
    expect(statSync(join(rig().file('state'), 'task-signing', `${keyId}.key`)).mode & 0o777).toBe(0o600);
  });

  it('verifies during a rotation: the next key is known before it signs, the last one during its grace period', async () => {
    const { clock, store } = rig();
    const signer = await open();
    const before = await signer.sign(TASK);
    const next = await signer.stage(ALICE);
    expect((await signer.verifiers()).map(({ state }) => state)).toEqual(['active', 'staged']);
    expect((await signer.sign(TASK)).keyId).toBe(before.keyId);
    expect(await signer.activate(ALICE)).toBe(next);
    const after = await signer.sign(TASK);
    expect(after.keyId).toBe(next);

    const known = await signer.verifiers();
    expect(known.map(({ state, id }) => [state, id])).toEqual([
      ['active', next],
      ['grace', before.keyId],
    ]);
    for (const signed of [before, after]) {
      const key = known.find(({ id }) => id === signed.keyId);
      expect(key && verifies(signed, key)).toBe(true);
    }
    clock.at += 7 * DAY;
    expect((await signer.verifiers()).map(({ id }) => id)).toEqual([next]);
    expect(await signer.retireOld()).toEqual([before.keyId]);
    expect(await signer.retireOld()).toEqual([]);
    expect((await auditActions(store)).slice(-4)).toEqual([
      'task_signing_key.created',
      'task_signing_key.staged',
      'task_signing_key.activated',
      'task_signing_key.retired',
    ]);
  });

  it('refuses to activate without a staged key, and to stage twice', async () => {
    const signer = await open();
    await expect(signer.activate(ALICE)).rejects.toMatchObject({
      code: 'conflict',
      message: 'no task-signing key is staged',
    });
    await signer.stage(ALICE);
    await expect(signer.stage(ALICE)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('fails the start when the key is missing', async () => {
    const { store, clock, deps, file } = rig();
    await open();
    const keys = await openKeyFolder(file('elsewhere'), null);
    const options = { store, keys, now: () => clock.at, settings: deps.settings };
    await expect(openTaskSigner(options)).rejects.toMatchObject({ code: 'authority_unavailable' });
  });
});
