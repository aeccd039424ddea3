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
const refusalOf = (place: string | undefined = undefined) => loadVaultKeys(state, place).catch((error: Error) => error);

describe('the key file', () => {
  it('is made on the first use, for its owner alone, and kept', async () => {
    const made = await loadVaultKeys(state, undefined);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(readFileSync(file(), 'utf8')).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
    expect(readdirSync(state)).toEqual(['vault-key']);
    expect((await loadVaultKeys(state, undefined)).newest.id).toBe(made.newest.id);
  });

  it('is the same for processes that make it at once', async () => {
    const keys = await Promise.all([1, 2, 3, 4].map(() => loadVaultKeys(state, undefined)));
    expect(new Set(keys.map(({ newest }) => newest.id)).size).toBe(1);
  });

  it.each([0o640, 0o604, 0o660, 0o644])('is refused when others may read or write it: mode %o', async (mode) => {
    writeFileSync(file(), `${newKeyText()}\n`);
    chmodSync(file(), mode);
    expect(await refusalOf()).toMatchObject({
      code: 'vault_unavailable',
      message: `${file()} is open to others (mode 0${mode.toString(8)}): chmod 0600 ${file()}`,
    });
  });

  it.each([
    ['is empty', '', /holds no vault key$/],
    ['has only comments', '# nothing\n\n', /holds no vault key$/],
    ['has a key that is too short', `${newKeyText()}\nc2hvcnQ\n`, /line 2 is not a vault key/],
    ['has something else', 'hunter2\n', /line 1 is not a vault key/],
  ])('is refused, and not quoted, when it %s', async (_what, content, words) => {
    writeFileSync(file(), content, { mode: 0o600 });
    const refusal = await refusalOf();
    expect(refusal).toMatchObject({ code: 'vault_unavailable', message: expect.stringMatching(words) });
    expect(String(refusal)).not.toMatch(/hunter2|c2hvcnQ/);
    expect(readFileSync(file(), 'utf8')).toBe(content);
  });

  it('that is a folder is refused', async () => {
    mkdirSync(file());
    expect(await refusalOf()).toMatchObject({ message: `${file()} is not a file` });
  });
});

describe("the service manager's credential", () => {
  it('comes before the file, and no file is made', async () => {
    const credentials = join(state, 'credentials');
    mkdirSync(credentials);
    const key = newKeyText();
    writeFileSync(join(credentials, 'coldiron-vault-key'), key, { mode: 0o440 });
    const keys = await loadVaultKeys(state, credentials);
    const told = parseVaultKeys(key, 'here');
    expect(told.ok && told.value.newest.id).toBe(keys.newest.id);
    expect(readdirSync(state)).toEqual(['credentials']);
  });

  it('is refused when everybody may read it', async () => {
    writeFileSync(join(state, 'coldiron-vault-key'), newKeyText(), { mode: 0o644 });
    expect(await refusalOf(state)).toMatchObject({ message: expect.stringContaining('is open to everybody') });
  });

  it('that is not there leaves the key to the file', async () => {
    expect((await loadVaultKeys(state, join(state, 'nowhere'))).place).toBe(file());
  });
});
