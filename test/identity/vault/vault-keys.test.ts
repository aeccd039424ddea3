import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadVaultKeys, newKeyText, parseVaultKeys } from '../../../appliance/identity/vault/vault-keys.ts';

let state: string;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'coldiron-vault-'));
});
afterEach(() => rmSync(state, { recursive: true, force: true }));

const file = () => join(state, 'vault-key');
const refusalOf = (folder: string | undefined = undefined) =>
  loadVaultKeys(state, folder).catch((error: Error) => error);

describe('the key file', () => {
  it('is created at the first use, private to its owner, and kept', async () => {
    const created = await loadVaultKeys(state, undefined);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readFileSync(file(), 'utf8')).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
    expect(readdirSync(state)).toEqual(['vault-key']);
    expect((await loadVaultKeys(state, undefined)).newest.id).toBe(created.newest.id);
  });

  it('is the same for processes that create it at the same time', async () => {
    const keys = await Promise.all([1, 2, 3, 4].map(() => loadVaultKeys(state, undefined)));
    expect(new Set(keys.map(({ newest }) => newest.id)).size).toBe(1);
  });

  it.each([0o640, 0o604, 0o660, 0o644])('is refused when others have access: mode %o', async (mode) => {
    writeFileSync(file(), `${newKeyText()}\n`);
    chmodSync(file(), mode);
    expect(await refusalOf()).toMatchObject({
      code: 'vault_unavailable',
      message: `${file()} is accessible to others (mode 0${mode.toString(8)}): chmod 0600 ${file()}`,
    });
  });

  it.each([
    ['is empty', '', /contains no vault key$/],
    ['has only comments', '# nothing\n\n', /contains no vault key$/],
    ['has a key that is too short', `${newKeyText()}\nc2hvcnQ\n`, /line 2 is not a vault key/],
    ['has something else', 'hunter2\n', /line 1 is not a vault key/],
  ])('is refused without quoting its content when it %s', async (_what, content, message) => {
    writeFileSync(file(), content, { mode: 0o600 });
    const refusal = await refusalOf();
    expect(refusal).toMatchObject({ code: 'vault_unavailable', message: expect.stringMatching(message) });
    expect(String(refusal)).not.toMatch(/hunter2|c2hvcnQ/);
    expect(readFileSync(file(), 'utf8')).toBe(content);
  });

  it('is refused when it is a folder', async () => {
    mkdirSync(file());
    expect(await refusalOf()).toMatchObject({ message: `${file()} is not a file` });
  });
});

describe("the service manager's credential", () => {
  it('takes precedence over the file, and no file is created', async () => {
    const credentials = join(state, 'credentials');
    mkdirSync(credentials);
    const key = newKeyText();
    writeFileSync(join(credentials, 'coldiron-vault-key'), key, { mode: 0o440 });
    const keys = await loadVaultKeys(state, credentials);
    const provided = parseVaultKeys(key, 'here');
    expect(provided.ok && provided.value.newest.id).toBe(keys.newest.id);
    expect(readdirSync(state)).toEqual(['credentials']);
  });

  it('is refused when everybody has access', async () => {
    writeFileSync(join(state, 'coldiron-vault-key'), newKeyText(), { mode: 0o644 });
    expect(await refusalOf(state)).toMatchObject({ message: expect.stringContaining('is accessible to everybody') });
  });

  it('falls back to the file when it is missing', async () => {
    expect((await loadVaultKeys(state, join(state, 'nowhere'))).source).toBe(file());
  });
});
