import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteOldAdminToken, ensureAdminToken } from '../../appliance/api/admin-token.ts';
import { createApiToken, hashSecret } from '../../appliance/api/api-token.ts';
import { DAY } from '../../appliance/domain/instant.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { parseTokenText } from '../../appliance/domain/token.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';

const clock = { now: () => 1_000 };
let state: string;
let store: Store;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'coldiron-admin-token-'));
  store = await openSqliteStore({ file: join(state, 'coldiron.db') });
});
afterEach(async () => {
  await store.close();
  await rm(state, { recursive: true });
});

const tokenInFile = async () => mustParse(parseTokenText((await readFile(join(state, 'admin-token'), 'utf8')).trim()));

describe('the first admin token', () => {
  it('is written to a file that only its owner can read, and its hash to the store', async () => {
    expect(await ensureAdminToken(store, state, clock)).toBe(join(state, 'admin-token'));
    expect((await stat(join(state, 'admin-token'))).mode & 0o777).toBe(0o600);
    const { id, secret } = await tokenInFile();
    expect(await store.token(id)).toMatchObject({
      token: { name: 'admin', role: 'admin', expiresAt: clock.now() + DAY },
      secretHash: hashSecret(secret),
    });
  });

  it('is created once', async () => {
    await ensureAdminToken(store, state, clock);
    const first = await tokenInFile();
    expect(await ensureAdminToken(store, state, clock)).toBe(join(state, 'admin-token'));
    expect(await tokenInFile()).toEqual(first);
    expect(await store.tokens()).toHaveLength(1);
  });

  it('is not created when the store has tokens and the file was deleted', async () => {
    const request = { name: 'ci', role: 'viewer', expiresAt: null, actor: 'local:root', correlationId: null } as const;
    await createApiToken(store, request, clock);
    expect(await ensureAdminToken(store, state, clock)).toBeNull();
    expect(await readdir(state)).not.toContain('admin-token');
  });

  it('survives a crash between the file and the store: the next start registers the token of the file', async () => {
    const failing: Pick<Store, 'tokens' | 'createToken'> = {
      tokens: () => store.tokens(),
      createToken: () => Promise.reject(new Error('power cut')),
    };
    await expect(ensureAdminToken(failing, state, clock)).rejects.toThrow('power cut');
    const written = await tokenInFile();
    await ensureAdminToken(store, state, clock);
    expect(await store.token(written.id)).toMatchObject({ secretHash: hashSecret(written.secret) });
    expect(await tokenInFile()).toEqual(written);
  });

  const later = (milliseconds: number) => ({ now: () => clock.now() + milliseconds });
  const isThere = async (): Promise<boolean> => (await readdir(state)).includes('admin-token');

  it('is deleted with its file when it expires, and no other one is written', async () => {
    await ensureAdminToken(store, state, clock);
    expect(await deleteOldAdminToken(store, state, later(DAY - 1))).toBe(false);
    expect(await isThere()).toBe(true);
    expect(await deleteOldAdminToken(store, state, later(DAY))).toBe(true);
    expect(await isThere()).toBe(false);
    expect(await ensureAdminToken(store, state, later(DAY))).toBeNull();
    expect(await isThere()).toBe(false);
  });

  it('is deleted at the start when it was revoked', async () => {
    await ensureAdminToken(store, state, clock);
    const { id } = await tokenInFile();
    const audit = { action: 'token.revoked', target: 'token:admin', before: null, after: null, correlationId: null };
    await store.revokeToken(id, clock.now(), { at: clock.now(), actor: 'local:root', ...audit });
    expect(await ensureAdminToken(store, state, clock)).toBeNull();
    expect(await isThere()).toBe(false);
  });

  it('of an earlier version, which never expires, stays valid and is no longer readable', async () => {
    const request = { name: 'admin', role: 'admin', expiresAt: null, actor: 'appliance', correlationId: null } as const;
    const { token, text } = await createApiToken(store, request, clock);
    await writeFile(join(state, 'admin-token'), `${text}\n`, { mode: 0o600 });
    expect(await ensureAdminToken(store, state, clock)).toBeNull();
    expect(await isThere()).toBe(false);
    expect(await store.token(token.id)).toMatchObject({ token: { revokedAt: null } });
  });

  it('leaves no temporary file', async () => {
    await ensureAdminToken(store, state, clock);
    expect((await readdir(state)).filter((name) => name.includes('admin-token'))).toEqual(['admin-token']);
  });

  it.each(['644', '640', '604', '610', '602'])('rejects a file that others can use: mode %s', async (mode) => {
    await writeFile(join(state, 'admin-token'), `ci_0123456789ab_${'A'.repeat(43)}\n`);
    await chmod(join(state, 'admin-token'), Number.parseInt(mode, 8));
    await expect(ensureAdminToken(store, state, clock)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/accessible to others/),
    });
    expect(await store.tokens()).toEqual([]);
  });

  it('does not overwrite a file with other content', async () => {
    await writeFile(join(state, 'admin-token'), 'my notes', { mode: 0o600 });
    await expect(ensureAdminToken(store, state, clock)).rejects.toMatchObject({
      message: expect.stringMatching(/holds no token/),
    });
    expect(await readFile(join(state, 'admin-token'), 'utf8')).toBe('my notes');
  });
});
