import { expect, it } from 'vitest';
import { DAY } from '../../../appliance/domain/instant.ts';
import type { ApiToken, TokenId } from '../../../appliance/domain/token.ts';
import { type Engine, useStore } from '../engines.ts';
import { NOW, newAudit } from '../samples.ts';

const TOKEN: ApiToken = {
  id: '0123456789ab' as TokenId,
  name: 'ci-runner',
  role: 'operator',
  createdAt: NOW,
  expiresAt: NOW + DAY,
  revokedAt: null,
};
const HASH = 'f'.repeat(64);
const CREATED = newAudit('token.create', { target: 'token:ci-runner' });
const REVOKED = newAudit('token.revoke', { target: 'token:ci-runner' });

export function tokensContract(engine: Engine): void {
  const opened = useStore(engine);

  it('stores a token with the hash of its secret, and an audit entry', async () => {
    const { store } = opened();
    await store.createToken(TOKEN, HASH, CREATED);
    expect(await store.token(TOKEN.id)).toEqual({ token: TOKEN, secretHash: HASH });
    expect(await store.tokens()).toEqual([TOKEN]);
    expect(await store.auditEntries(0, 10)).toMatchObject([{ action: 'token.create', target: 'token:ci-runner' }]);
  });

  it('returns no token for an unknown id', async () => {
    const { store } = opened();
    expect(await store.token(TOKEN.id)).toBeNull();
    expect(await store.tokens()).toEqual([]);
  });

  it('rejects a second token with the same id, and keeps the first', async () => {
    const { store } = opened();
    await store.createToken(TOKEN, HASH, CREATED);
    const second = { ...TOKEN, name: 'other', role: 'admin' } as const;
    await expect(store.createToken(second, '0'.repeat(64), CREATED)).rejects.toMatchObject({
      code: 'conflict',
      message: 'the token 0123456789ab already exists',
    });
    expect(await store.token(TOKEN.id)).toEqual({ token: TOKEN, secretHash: HASH });
    expect(await store.auditEntries(0, 10)).toHaveLength(1);
  });

  it('lists tokens in the order of creation', async () => {
    const { store } = opened();
    const later: ApiToken = { ...TOKEN, id: 'aaaaaaaaaaaa' as TokenId, createdAt: NOW + 1, expiresAt: null };
    await store.createToken(later, HASH, CREATED);
    await store.createToken(TOKEN, HASH, CREATED);
    expect(await store.tokens()).toEqual([TOKEN, later]);
  });

  it('revokes once', async () => {
    const { store } = opened();
    await store.createToken(TOKEN, HASH, CREATED);
    expect(await store.revokeToken(TOKEN.id, NOW + 1, REVOKED)).toBe(true);
    expect(await store.revokeToken(TOKEN.id, NOW + 2, REVOKED)).toBe(false);
    expect((await store.token(TOKEN.id))?.token).toEqual({ ...TOKEN, revokedAt: NOW + 1 });
    expect((await store.auditEntries(0, 10)).map(({ action }) => action)).toEqual(['token.create', 'token.revoke']);
  });

  it('returns false when the token to revoke is unknown', async () => {
    const { store } = opened();
    expect(await store.revokeToken(TOKEN.id, NOW, REVOKED)).toBe(false);
    expect(await store.auditEntries(0, 10)).toEqual([]);
  });
}
