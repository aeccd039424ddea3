import { expect, it } from 'vitest';
import { DAY } from '../../../appliance/domain/instant.ts';
import type { SigningKeyId, SigningKeyRecord } from '../../../appliance/store/enrollment-store.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, NOW, newAudit } from '../samples.ts';
import { authorityNumber, CREATED, certificateNumber, fingerprint, withAuthority } from './enrollment-samples.ts';

const STAGED = newAudit('authority.staged');
const ACTIVATED = newAudit('authority.activated');
const RETIRED = newAudit('authority.retired');

const states = async (store: Store): Promise<string[]> => (await store.authorities()).map(({ state }) => state);
const actions = async (store: Store): Promise<string[]> =>
  (await store.auditEntries(0, 100)).map(({ action }) => action);

export function authoritiesContract(engine: Engine): void {
  const opened = useStore(engine);
  const rotated = async (): Promise<Store> => {
    const { store } = opened();
    await withAuthority(store);
    await store.stageAuthority(authorityNumber(2, { state: 'staged', crossCertificate: 'cross' }), STAGED);
    await store.activateAuthority(fingerprint(2), NOW + 5, ACTIVATED);
    return store;
  };

  it('creates one first authority for any number of concurrent processes', async () => {
    const { store, another } = opened();
    const other = await another();
    const results = await Promise.all(
      [1, 2, 3, 4].map((n) => (n % 2 ? store : other).createFirstAuthority(authorityNumber(n), CREATED)),
    );
    expect(results.filter((created) => created)).toHaveLength(1);
    expect(await store.authorities()).toHaveLength(1);
    expect(await actions(store)).toEqual(['authority.created']);
  });

  it('stores an authority unchanged', async () => {
    const { store } = opened();
    const authority = authorityNumber(1, { crossCertificate: 'cross', activatedAt: NOW });
    await store.createFirstAuthority(authority, CREATED);
    expect(await store.authorities()).toEqual([authority]);
  });

  it('passes through the states staged, active, outgoing, retired', async () => {
    const { store } = opened();
    await withAuthority(store);
    await store.stageAuthority(authorityNumber(2, { state: 'staged' }), STAGED);
    expect(await states(store)).toEqual(['active', 'staged']);
    await store.activateAuthority(fingerprint(2), NOW + 5, ACTIVATED);
    expect(await states(store)).toEqual(['outgoing', 'active']);
    await store.retireAuthority(fingerprint(1), NOW + 6, false, RETIRED);
    expect(await store.authorities()).toMatchObject([
      { state: 'retired', retiredAt: NOW + 6 },
      { state: 'active', activatedAt: NOW + 5 },
    ]);
    expect(await actions(store)).toEqual([CREATED, STAGED, ACTIVATED, RETIRED].map(({ action }) => action));
  });

  it('stages one at a time, and none during a rotation', async () => {
    const { store } = opened();
    await withAuthority(store);
    const third = authorityNumber(3, { state: 'staged' });
    await store.stageAuthority(authorityNumber(2, { state: 'staged' }), STAGED);
    await expect(store.stageAuthority(third, STAGED)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('is staged; finish it first'),
    });
    await store.activateAuthority(fingerprint(2), NOW, ACTIVATED);
    await expect(store.stageAuthority(third, STAGED)).rejects.toMatchObject({
      message: expect.stringContaining('is outgoing; finish it first'),
    });
  });

  it('changes nothing when the authority to activate is not staged', async () => {
    const store = await rotated();
    await expect(store.activateAuthority(fingerprint(1), NOW, ACTIVATED)).rejects.toMatchObject({ code: 'conflict' });
    expect(await states(store)).toEqual(['outgoing', 'active']);
    await expect(store.retireAuthority(fingerprint(2), NOW, false, RETIRED)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('is not outgoing'),
    });
  });

  it('retires no authority while its certificates are in use, except with despiteHolders', async () => {
    const store = await rotated();
    const machine = await addMachine(store, 1);
    await store.recordCertificate(certificateNumber(1, machine), newAudit('certificate.issued'));
    await expect(store.retireAuthority(fingerprint(1), NOW, false, RETIRED)).rejects.toMatchObject({
      code: 'conflict',
      details: [`node certificate abc1 of ${machine.id}`],
    });
    expect(await states(store)).toEqual(['outgoing', 'active']);
    await store.retireAuthority(fingerprint(1), NOW, true, RETIRED);
    expect(await states(store)).toEqual(['retired', 'active']);
  });

  it('retires an authority after its last certificate has expired', async () => {
    const store = await rotated();
    const machine = await addMachine(store, 1);
    await store.recordCertificate(certificateNumber(1, machine), newAudit('certificate.issued'));
    const end = NOW + 30 * DAY + 1;
    await expect(store.retireAuthority(fingerprint(1), end - 1, false, RETIRED)).rejects.toThrow(/still in use/);
    await store.retireAuthority(fingerprint(1), end, false, RETIRED);
    expect(await states(store)).toEqual(['retired', 'active']);
  });
}

const keyNumber = (n: number, changes: Partial<SigningKeyRecord> = {}): SigningKeyRecord => ({
  id: `key${n}` as SigningKeyId,
  state: 'active',
  publicKey: `public ${n}`,
  createdAt: NOW + n,
  activatedAt: null,
  graceUntil: null,
  ...changes,
});

export function signingKeysContract(engine: Engine): void {
  const opened = useStore(engine);
  const audit = newAudit('task_signing_key');

  it('creates one first key for any number of concurrent processes', async () => {
    const { store, another } = opened();
    const other = await another();
    const results = await Promise.all(
      [1, 2, 3, 4].map((n) => (n % 2 ? store : other).createFirstSigningKey(keyNumber(n), audit)),
    );
    expect(results.filter((created) => created)).toHaveLength(1);
    expect(await store.signingKeys()).toHaveLength(1);
  });

  it('passes through the states staged, active, grace, retired', async () => {
    const { store } = opened();
    await store.createFirstSigningKey(keyNumber(1), audit);
    await store.stageSigningKey(keyNumber(2, { state: 'staged' }), audit);
    await store.activateSigningKey(keyNumber(2).id, NOW + 3, NOW + DAY, audit);
    expect(await store.signingKeys()).toEqual([
      keyNumber(1, { state: 'grace', graceUntil: NOW + DAY }),
      keyNumber(2, { state: 'active', activatedAt: NOW + 3 }),
    ]);
    expect(await store.retireSigningKeys(NOW + DAY - 1, () => audit)).toEqual([]);
    expect(await store.retireSigningKeys(NOW + DAY, (id) => newAudit(`retired ${id}`))).toEqual(['key1']);
    expect((await store.signingKeys()).map(({ state }) => state)).toEqual(['retired', 'active']);
    expect((await actions(store)).at(-1)).toBe('retired key1');
  });

  it('stages one at a time, and activates only a staged key', async () => {
    const { store } = opened();
    await store.createFirstSigningKey(keyNumber(1), audit);
    await expect(store.activateSigningKey(keyNumber(1).id, NOW, NOW, audit)).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await store.signingKeys()).toEqual([keyNumber(1)]);
    await store.stageSigningKey(keyNumber(2, { state: 'staged' }), audit);
    await expect(store.stageSigningKey(keyNumber(3, { state: 'staged' }), audit)).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('may have several keys in grace', async () => {
    const { store } = opened();
    await store.createFirstSigningKey(keyNumber(1), audit);
    for (const n of [2, 3]) {
      await store.stageSigningKey(keyNumber(n, { state: 'staged' }), audit);
      await store.activateSigningKey(keyNumber(n).id, NOW, NOW + DAY, audit);
    }
    expect((await store.signingKeys()).map(({ state }) => state)).toEqual(['grace', 'grace', 'active']);
  });
}
