// A key is replaced on Debian's sshd: ssh-keygen reads our keys, the OpenSSH client logs in with the old and the new one, and the
// probe says which of them the server accepts.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sshKeyProbe } from '../../appliance/allocations/key-probe.ts';
import { parseSshPublicKey, type SshPublicKey } from '../../appliance/allocations/ssh-public-key.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { freePort } from '../free-port.ts';
import { hostKey, needSshd, startSshd } from '../provisioning/installers/nixos/real-sshd.ts';

const folder = mkdtempSync(join(tmpdir(), 'coldiron-keys-'));
const publicKey = (file: string): SshPublicKey => mustParse(parseSshPublicKey(readFileSync(`${file}.pub`, 'utf8')));
const probe = sshKeyProbe();

function login(port: number, identity: string): string {
  const options = ['BatchMode=yes', 'IdentitiesOnly=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null'];
  const { stdout } = spawnSync(
    '/usr/bin/ssh',
    [
      ...['-F', 'none', '-q', '-i', identity, '-p', String(port)],
      ...options.flatMap((option) => ['-o', option]),
      ...['root@127.0.0.1', 'echo', 'logged in'],
    ],
    { encoding: 'utf8', timeout: 20_000, env: { PATH: process.env.PATH } },
  );
  return stdout.trim();
}

describe('a key on a real SSH server', () => {
  beforeAll(needSshd);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(['ed25519', 'ecdsa', 'rsa'] as const)(
    'of the type %s has the fingerprint and comment of ssh-keygen',
    (type) => {
      const { file } = hostKey(folder, `print-${type}`, type);
      const { stdout } = spawnSync('/usr/bin/ssh-keygen', ['-lf', `${file}.pub`], { encoding: 'utf8' });
      const { fingerprint, comment } = publicKey(file);
      expect(stdout).toContain(` ${fingerprint} ${comment} (`);
    },
  );

  it('is replaced without a moment in which nobody can log in', async () => {
    const [old, fresh, host] = ['old', 'fresh', 'host'].map((name) => hostKey(folder, name).file) as [
      string,
      string,
      string,
    ];
    const port = await freePort();
    const server = { folder, port, hostKeys: [host], authorizedKeys: [publicKey(old).line] };
    const where = { host: '127.0.0.1', port, username: 'root' };
    const ask = (file: string) => probe({ ...where, line: publicKey(file).line });
    const { stop } = await startSshd(server);
    expect(login(port, old)).toBe('logged in');
    expect(await ask(old)).toEqual({ accepted: true, hostKey: publicKey(host).fingerprint });
    // Added to the set, but not yet on the server: the validation says so.
    expect(await ask(fresh)).toEqual({
      accepted: false,
      reason: 'the server does not accept this key for this user',
      hostKey: publicKey(host).fingerprint,
    });
    expect(login(port, fresh)).toBe('');

    const keys = join(folder, 'authorized_keys');
    writeFileSync(keys, `${publicKey(old).line}\n${publicKey(fresh).line}\n`);
    expect(await ask(fresh)).toMatchObject({ accepted: true });
    expect([login(port, old), login(port, fresh)]).toEqual(['logged in', 'logged in']);

    writeFileSync(keys, `${publicKey(fresh).line}\n`);
    expect([login(port, old), login(port, fresh)]).toEqual(['', 'logged in']);
    expect(await ask(old)).toMatchObject({ accepted: false });
    // The rollback.
    writeFileSync(keys, `${publicKey(old).line}\n`);
    expect([login(port, old), login(port, fresh)]).toEqual(['logged in', '']);
    await stop();
    expect(await ask(old)).toMatchObject({ accepted: false, hostKey: null });
  });

  it.each(['ecdsa', 'rsa'] as const)('of the type %s can be probed', async (type) => {
    const [key, host] = [hostKey(folder, `key-${type}`, type).file, hostKey(folder, `host-${type}`).file];
    const port = await freePort();
    await startSshd({ folder, port, hostKeys: [host], authorizedKeys: [publicKey(key).line] });
    const { line } = publicKey(key);
    expect(await probe({ host: '127.0.0.1', port, username: 'root', line })).toMatchObject({ accepted: true });
  });

  it('that no server answers for is not accepted, within the time limit', async () => {
    const { file } = hostKey(folder, 'lonely');
    const port = await freePort();
    const { line } = publicKey(file);
    const answer = await sshKeyProbe(500)({ host: '127.0.0.1', port, username: 'root', line });
    expect(answer).toMatchObject({ accepted: false, reason: expect.stringMatching(/ECONNREFUSED|timeout/) });
  });
});
