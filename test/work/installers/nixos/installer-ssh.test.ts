// Debian's sshd in the place of the installer's.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type EphemeralKey, makeEphemeralKey } from '../../../../appliance/work/installers/nixos/ephemeral-key.ts';
import { type Reaching, reachInstaller } from '../../../../appliance/work/installers/nixos/installer-ssh.ts';
import { openTunnel } from '../../../../appliance/work/installers/nixos/tunnel.ts';
import { temporaryFolder } from '../../../assets/tiny-files.ts';
import { freePort } from '../../../free-port.ts';
import { hostKey, needSshd, startSshd } from './real-sshd.ts';

const PATIENCE = 30_000;

const reaching = (
  port: number,
  key: EphemeralKey,
  hostKeys: readonly string[],
  changes: Partial<Reaching> = {},
): Reaching => ({
  target: { host: '127.0.0.1', port },
  hostKeys,
  privateKey: key.privateKey,
  patience: PATIENCE,
  signal: new AbortController().signal,
  ...changes,
});

async function reach(wanted: Reaching) {
  const reached = await reachInstaller(wanted);
  if (!reached.ok) return { reason: reached.reason };
  onTestFinished(() => {
    reached.value.destroy();
  });
  return { client: reached.value };
}

beforeAll(() => needSshd());

describe('waiting for the installer', () => {
  it.each(['ed25519', 'ecdsa', 'rsa'] as const)('is let in by a server with the reported %s key', async (type) => {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host', type), makeEphemeralKey('test'), await freePort()];
    const sshd = await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
    expect(await reach(reaching(port, key, [host.line]))).toHaveProperty('client');
    // It is let in first, and that is written down then.
    await expect.poll(sshd.log).toContain('Accepted publickey for root');
  });

  it('knows it by any of the keys that were reported', async () => {
    const folder = temporaryFolder();
    const [shown, other, key] = [hostKey(folder, 'host'), hostKey(folder, 'other', 'rsa'), makeEphemeralKey('test')];
    const port = await freePort();
    await startSshd({ folder, port, hostKeys: [shown.file, other.file], authorizedKeys: [key.authorizedKey] });
    expect(await reach(reaching(port, key, [other.line]))).toHaveProperty('client');
  });

  it('waits for a server that starts late', async () => {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('test'), await freePort()];
    // A first try has come and gone before the server starts.
    const door = createServer((socket) => socket.destroy());
    door.listen(port, '127.0.0.1');
    await once(door, 'listening');
    const knocked = once(door, 'connection');
    const waiting = reach(reaching(port, key, [host.line]));
    await knocked;
    door.close();
    await once(door, 'close');
    await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
    expect(await waiting).toHaveProperty('client');
  });

  it.each([
    ['of the same kind', 'ed25519'],
    ['of another kind', 'ecdsa'],
  ] as const)('stops at once before a server with another key %s, and sends it nothing', async (_how, type) => {
    const folder = temporaryFolder();
    const [reported, shown] = [hostKey(folder, 'reported'), hostKey(folder, 'shown', type)];
    const [key, port] = [makeEphemeralKey('test'), await freePort()];
    const sshd = await startSshd({ folder, port, hostKeys: [shown.file], authorizedKeys: [key.authorizedKey] });
    expect(await reach(reaching(port, key, [reported.line]))).toEqual({
      reason: `the SSH server at 127.0.0.1 port ${port} shows another host key than the installer reported: somebody else answers there`,
    });
    await sshd.stop();
    expect(sshd.log()).not.toContain('Accepted');
    expect(sshd.log()).not.toMatch(/Failed publickey|userauth/);
  });

  it('stops at once where its key is not accepted', async () => {
    const folder = temporaryFolder();
    const [host, port] = [hostKey(folder, 'host'), await freePort()];
    await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [makeEphemeralKey('a').authorizedKey] });
    expect(await reach(reaching(port, makeEphemeralKey('b'), [host.line]))).toEqual({
      reason: 'the installer at 127.0.0.1 does not accept the key of this deployment',
    });
  });

  it('gives up when nobody comes, and says what was in the way', async () => {
    const port = await freePort();
    const line = hostKey(temporaryFolder(), 'host').line;
    const { reason } = await reach(reaching(port, makeEphemeralKey('test'), [line], { patience: 2500 }));
    expect(reason).toMatch(/^no SSH server let us in at 127\.0\.0\.1 port \d+ within 3 s: .*ECONNREFUSED/);
  });

  it('can be cancelled while it waits', async () => {
    const folder = temporaryFolder();
    const [host, port] = [hostKey(folder, 'host'), await freePort()];
    const silent = createServer();
    silent.listen(port, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => {
      silent.close();
    });
    const controller = new AbortController();
    const knocked = once(silent, 'connection');
    const waiting = reach(reaching(port, makeEphemeralKey('test'), [host.line], { signal: controller.signal }));
    const [socket] = await knocked;
    controller.abort();
    expect(await waiting).toEqual({ reason: 'it was cancelled' });
    socket.destroy();
  });

  it.each([
    ['no key', [], 'the installer reported no host key'],
    [
      'no key that is one',
      ['ssh-ed25519 AAAA'],
      expect.stringContaining('a host key that the installer reported: the key after ssh-ed25519'),
    ],
    ['a private key', ['-----BEGIN OPENSSH PRIVATE KEY-----'], expect.stringContaining('this is a private key')],
  ])('does not even knock with %s', async (_what, hostKeys, reason) => {
    expect(await reach(reaching(1, makeEphemeralKey('test'), hostKeys))).toEqual({ reason });
  });
});

describe('the tunnel', () => {
  async function tunnelled(options: readonly string[] = []) {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('test'), await freePort()];
    const sshd = await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey], options });
    const { client } = await reach(reaching(port, key, [host.line]));
    if (!client) throw new Error('not reached');
    return { client, sshd, tunnel: await openTunnel(client, port) };
  }

  const greeting = async (port: number): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port });
    const [bytes] = await once(socket, 'data');
    socket.destroy();
    return bytes.toString('latin1');
  };

  it('leads to the SSH server of the machine that was checked, for several at once', async () => {
    const { tunnel } = await tunnelled();
    if (!tunnel.ok) throw new Error(tunnel.reason);
    const { port } = tunnel.value;
    expect(await Promise.all([1, 2, 3].map(() => greeting(port)))).toEqual(
      Array(3).fill(expect.stringMatching(/^SSH-2\.0-OpenSSH/)),
    );
    await tunnel.value.close();
    await expect(greeting(port)).rejects.toThrow('ECONNREFUSED');
  });

  it('is refused by a server that forwards nothing, with the reason', async () => {
    const { tunnel } = await tunnelled(['AllowTcpForwarding no']);
    expect(tunnel).toEqual({
      ok: false,
      reason: expect.stringMatching(/^the installer forwards nothing to its own SSH server: /),
    });
  });

  it('answers nobody any more when the machine is gone', async () => {
    const { tunnel, client } = await tunnelled();
    if (!tunnel.ok) throw new Error(tunnel.reason);
    const { port } = tunnel.value;
    const closed = once(client, 'close');
    client.destroy();
    await closed;
    await expect(greeting(port)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    await tunnel.value.close();
  });

  it('carries what OpenSSH sends through it, whole', async () => {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('test'), await freePort()];
    await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
    const { client } = await reach(reaching(port, key, [host.line]));
    if (!client) throw new Error('not reached');
    const tunnel = await openTunnel(client, port);
    if (!tunnel.ok) throw new Error(tunnel.reason);
    writeFileSync(`${folder}/key`, key.privateKey.reveal(), { mode: 0o600 });
    const options = [
      '-o',
      'StrictHostKeyChecking=no',
      '-o',
      'UserKnownHostsFile=/dev/null',
      '-o',
      'IdentitiesOnly=yes',
    ];
    const args = [
      '-T',
      '-i',
      `${folder}/key`,
      ...options,
      '-p',
      String(tunnel.value.port),
      'root@127.0.0.1',
      'sha256sum',
    ];
    const ssh = spawn('ssh', args, { stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(() => void ssh.kill('SIGKILL'));
    const bytes = Buffer.alloc(8 * 1024 * 1024, 'coldiron');
    let heard = '';
    ssh.stdout.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
    });
    const exited = once(ssh, 'close');
    ssh.stdin.end(bytes);
    await exited;
    expect(heard).toContain(createHash('sha256').update(bytes).digest('hex'));
    await tunnel.value.close();
  });
});
