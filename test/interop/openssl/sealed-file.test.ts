// Sealed files, opened with the tools that the service OS has: openssl and sha256sum.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealFile, sessionKeyOf } from '../../../appliance/provisioning/sessions/sealed-file.ts';
import { needPackages } from '../packages.ts';

const NAME = 'user-data';
const seed = randomBytes(32);
const s = seed.toString('hex');

describe('the tools of the service OS', () => {
  let folder = '';
  beforeAll(() => {
    needPackages(['openssl', 'coreutils']);
    folder = mkdtempSync(join(tmpdir(), 'coldiron-sealed-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const shell = (script: string): string => {
    const { status, stdout, stderr } = spawnSync('sh', ['-euc', script], { cwd: folder, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return stdout.trim();
  };

  it.each([
    ['text', Buffer.from('#cloud-config\npassword: größe\n')],
    ['nothing', Buffer.alloc(0)],
    ['binary data', randomBytes(100_001)],
  ])('authenticate and decrypt %s', (_what, content) => {
    const file = sealFile(seed, NAME, content, randomBytes);
    writeFileSync(join(folder, 's'), s, { mode: 0o600 });
    writeFileSync(join(folder, 'data'), Buffer.from(file.data, 'base64'));
    const mac = shell(`
      key=$(printf 'coldiron authenticate ${NAME} %s' "$(cat s)" | sha256sum | cut -d' ' -f1)
      { printf '${NAME}\\0'; cat data; } | openssl dgst -sha256 -mac HMAC -macopt hexkey:$key -r | cut -d' ' -f1
    `);
    expect(mac).toBe(file.mac);
    shell(`
      printf 'coldiron encrypt ${NAME} %s' "$(cat s)" | sha256sum | cut -d' ' -f1 > pass
      openssl enc -d -aes-256-ctr -pbkdf2 -iter 1000 -md sha256 -pass file:pass -in data -out plain
    `);
    expect(readFileSync(join(folder, 'plain')).equals(content)).toBe(true);
  });

  it('derive the session key', () => {
    const key = shell(`
      printf 'coldiron session ${s}' | openssl dgst -sha256 -binary | base64 -w0 | tr '+/' '-_' | tr -d =
    `);
    expect(key).toBe(sessionKeyOf(seed));
  });
});
