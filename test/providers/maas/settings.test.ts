import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { authorization, parseMaasKey } from '../../../appliance/providers/maas/oauth.ts';
import { parseApi, readMaasSettings } from '../../../appliance/providers/maas/settings.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-maas-'));
  await writeFile(join(folder, 'key'), 'c:t:s3cr3t\n', { mode: 0o600 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function read(document: object | undefined, environment: Record<string, string> = {}) {
  const problems: string[] = [];
  const places = { folder, state: join(folder, 'state'), environment };
  const settings = await readMaasSettings(document, places, (at, message) => void problems.push(`${at}: ${message}`));
  return { settings, problems };
}

describe('the header of a request', () => {
  it('is OAuth 1.0 PLAINTEXT with an empty consumer secret, and every value encoded', () => {
    const key = mustParse(parseMaasKey("cons:tok:se&c'r", 'x'));
    expect(authorization(key, 'n-1', 1700000000)).toBe(
      'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="cons", oauth_token="tok", ' +
        'oauth_signature="%26se%26c%27r", oauth_nonce="n-1", oauth_timestamp="1700000000"',
    );
    expect(JSON.stringify(key)).not.toContain('se&c');
  });

  it.each(['', 'a:b', 'a:b:c:d', 'a::c', 'a:b:c d', 'a:b:c\nx:y:z'])('needs a key of three parts, not %j', (text) => {
    const result = parseMaasKey(text, '/etc/key');
    expect(result).toMatchObject({ ok: false, reason: expect.stringMatching(/^\/etc\/key does not contain/) });
  });
});

describe('where MAAS is', () => {
  it.each([
    ['http://10.0.0.5:5240', 'http://10.0.0.5:5240/MAAS/api/2.0/'],
    ['http://10.0.0.5:5240/MAAS/', 'http://10.0.0.5:5240/MAAS/api/2.0/'],
    ['https://maas.example:5443/MAAS/api/2.0/', 'https://maas.example:5443/MAAS/api/2.0/'],
    ['https://proxy.example/sub/MAAS', 'https://proxy.example/sub/MAAS/api/2.0/'],
  ])('%s', (text, api) => {
    expect(mustParse(parseApi(text)).href).toBe(api);
  });

  it.each(['maas', 'ftp://maas', 'http://user:key@maas/MAAS', 'http://maas/?op=x'])('is not %s', (text) => {
    expect(parseApi(text).ok).toBe(false);
  });
});

describe('the settings', () => {
  it('are absent when nothing names a MAAS', async () => {
    expect(await read(undefined)).toEqual({ settings: null, problems: [] });
  });

  it('are those of the site file, with the key from its file, read each time', async () => {
    const { settings, problems } = await read({ url: 'http://maas:5240/MAAS', token_file: 'key', timeout_seconds: 30 });
    expect(problems).toEqual([]);
    expect(settings).toMatchObject({ timeout: 30_000, ca: null });
    expect(await settings?.key()).toMatchObject({ ok: true, value: { consumer: 'c', token: 't' } });
    await writeFile(join(folder, 'key'), 'new:t:s');
    expect(await settings?.key()).toMatchObject({ value: { consumer: 'new' } });
  });

  it('are those of the environment where the file has none', async () => {
    const environment = {
      MAAS_API_BASE_URL: 'http://maas:5240/MAAS',
      MAAS_API_TOKEN: 'a:b:s3cr3t',
      MAAS_API_TIMEOUT_MS: '5000',
    };
    const { settings, problems } = await read(undefined, environment);
    expect([problems, settings?.timeout]).toEqual([[], 5000]);
    expect(await settings?.key()).toMatchObject({ value: { consumer: 'a' } });
    expect(JSON.stringify(settings)).not.toContain('s3cr3t');
    const both = await read({ url: 'http://other/MAAS', token_file: 'key' }, environment);
    expect(both.settings?.api.host).toBe('other');
  });

  it('name every problem, and never the key', async () => {
    const { problems } = await read({}, { MAAS_API_TOKEN: 's3cr3t-without-parts', MAAS_API_TIMEOUT_MS: 'soon' });
    expect(problems).toEqual([
      'maas.url: missing: where MAAS is, such as http://10.0.0.5:5240/MAAS',
      expect.stringContaining('MAAS_API_TIMEOUT_MS: must be from 1000 to 900000 milliseconds'),
      expect.stringContaining('MAAS_API_TOKEN: '),
    ]);
    expect(problems.join()).not.toContain('s3cr3t');
    const url = { url: 'http://maas:5240/MAAS' };
    expect((await read(url)).problems).toEqual([expect.stringContaining('maas.token_file: missing')]);
    expect((await read({ ...url, token_file: 'nothing' })).problems).toEqual([
      `maas.token_file: there is no file ${join(folder, 'nothing')}`,
    ]);
    expect((await read({ ...url, token_file: 'state/key' })).problems[0]).toMatch(/outside the state folder/);
    await chmod(join(folder, 'key'), 0o644);
    expect((await read({ ...url, token_file: 'key' })).problems[0]).toMatch(/accessible to everybody/);
    expect((await read({ ...url, token_file: 'key', ca_file: 'key' })).problems.join()).toMatch(/no PEM certificate/);
  });
});
