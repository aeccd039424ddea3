import { expect, it } from 'vitest';
import type { TokenId } from '../../../appliance/domain/token.ts';
import type { WebSession, WebSessionId } from '../../../appliance/domain/web-session.ts';
import { type Engine, useStore } from '../engines.ts';
import { NOW, newAudit } from '../samples.ts';

const session = (id: string, changes: Partial<WebSession> = {}): WebSession => ({
  ...{ id: id as WebSessionId, token: null, actor: 'local:ada', role: 'admin' },
  ...{ createdAt: NOW, usedAt: NOW, expiresAt: NOW + 1000 },
  ...changes,
});

export function webSessionsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('stores a session with the hash of its secret and an audit entry', async () => {
    const { store } = opened();
    await store.createToken(
      { id: 'abc' as TokenId, name: 'ada', role: 'viewer', createdAt: NOW, expiresAt: null, revokedAt: null },
      'hash-of-token',
      newAudit('token.created'),
    );
    const one = session('s1', { token: 'abc' as TokenId, role: 'viewer' });
    await store.createWebSession(one, 'hash-1', newAudit('session.opened'));
    expect(await store.webSession(one.id)).toEqual({ session: one, secretHash: 'hash-1' });
    expect(await store.webSession('s2' as WebSessionId)).toBeNull();
    const [entry] = await store.auditEntries(0, 1, true);
    expect(entry).toMatchObject({ action: 'session.opened' });
  });

  it('refuses a session of a token that does not exist', async () => {
    const { store } = opened();
    const orphan = session('s1', { token: 'nobody' as TokenId });
    await expect(store.createWebSession(orphan, 'hash', newAudit('session.opened'))).rejects.toThrow();
    expect(await store.webSession(orphan.id)).toBeNull();
  });

  it('moves the time of use forward only', async () => {
    const { store } = opened();
    await store.createWebSession(session('s1'), 'hash', newAudit('session.opened'));
    await store.touchWebSession('s1' as WebSessionId, NOW + 60);
    await store.touchWebSession('s1' as WebSessionId, NOW + 30);
    await store.touchWebSession('s2' as WebSessionId, NOW + 30);
    expect((await store.webSession('s1' as WebSessionId))?.session.usedAt).toBe(NOW + 60);
  });

  it('ends a session once', async () => {
    const { store } = opened();
    await store.createWebSession(session('s1'), 'hash', newAudit('session.opened'));
    expect(await store.endWebSession('s1' as WebSessionId, newAudit('session.ended'))).toBe(true);
    expect(await store.endWebSession('s1' as WebSessionId, newAudit('session.ended'))).toBe(false);
    expect(await store.webSession('s1' as WebSessionId)).toBeNull();
  });

  it('deletes sessions that are over by age or by disuse', async () => {
    const { store } = opened();
    await store.createWebSession(session('old', { expiresAt: NOW - 1 }), 'hash', newAudit('session.opened'));
    await store.createWebSession(session('idle', { usedAt: NOW - 100 }), 'hash', newAudit('session.opened'));
    await store.createWebSession(session('used'), 'hash', newAudit('session.opened'));
    expect(await store.trimWebSessions(NOW, NOW - 50)).toBe(2);
    expect(await store.webSession('used' as WebSessionId)).not.toBeNull();
  });
}
