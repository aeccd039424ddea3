// Debian's sshd instead of the installer's.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  type EphemeralKey,
  makeEphemeralKey,
} from '../../../../appliance/provisioning/installers/nixos/ephemeral-key.ts';
import { type Reaching, reachInstaller } from '../../../../appliance/provisioning/installers/nixos/installer-ssh.ts';
import { openTunnel } from '../../../../appliance/provisioning/installers/nixos/tunnel.ts';
import { temporaryFolder } from '../../../assets/tiny-files.ts';
import { freePort } from '../../../free-port.ts';
import { hostKey, needSshd, startSshd } from './real-sshd.ts';

const PATIENCE = 30_000;
const TUNNEL_LIMITS = { forward: PATIENCE, signal: new AbortController().signal };

const reaching = (
  port: number,
  key: EphemeralKey,
  hostKeys: readonly string[],
  changes: Partial<Reaching> = {},
): Reaching => ({
  target: { host: '127.0.0.1', port },
  hostKeys,
  privateKey: key.privateKey,
  timeout: PATIENCE,
  signal: new AbortController().signal,
  ...changes,
});

async function reach(target: Reaching) {
  const reached = await reachInstaller(target);
  if (!reached.ok) return { reason: reached.reason };
  onTestFinished(() => {
    reached.value.destroy();
  });
  return { client: reached.value };
}

beforeAll(() => needSshd());

describe('waiting for the installer', () => {
  it.each(['ed25519', 'ecdsa', 'rsa'] as const)('logs in to a server with the reported %s key', async (type) => {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host', type), makeEphemeralKey('test'), await freePort()];
    const sshd = await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
    expect(await reach(reaching(port, key, [host.line]))).toHaveProperty('client');
    // The login succeeds before it is logged.
    await expect.poll(sshd.log).toContain('Accepted publickey for root');
  });

  it('accepts any of the reported keys', async () => {
    const folder = temporaryFolder();
    const [shown, other, key] = [hostKey(folder, 'host'), hostKey(folder, 'other', 'rsa'), makeEphemeralKey('test')];
    const port = await freePort();
    await startSshd({ folder, port, hostKeys: [shown.file, other.file], authorizedKeys: [key.authorizedKey] });
    expect(await reach(reaching(port, key, [other.line]))).toHaveProperty('client');
  });

  it('waits for a server that starts late', async () => {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('test'), await freePort()];
    // A first attempt has failed before the server starts.
    const refusing = createServer((socket) => socket.destroy());
    refusing.listen(port, '127.0.0.1');
    await once(refusing, 'listening');
    const connected = once(refusing, 'connection');
    const waiting = reach(reaching(port, key, [host.line]));
    await connected;
    refusing.close();
    await once(refusing, 'close');
    await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
    expect(await waiting).toHaveProperty('client');
  });

  it.each([
    ['of the same kind', 'ed25519'],
    ['of another kind', 'ecdsa'],
  ] as const)('fails at once at a server with another key %s, and sends it nothing', async (_how, type) => {
    const folder = temporaryFolder();
    const [reported, shown] = [hostKey(folder, 'reported'), hostKey(folder, 'shown', type)];
    const [key, port] = [makeEphemeralKey('test'), await freePort()];
    const sshd = await startSshd({ folder, port, hostKeys: [shown.file], authorizedKeys: [key.authorizedKey] });
    expect(await reach(reaching(port, key, [reported.line]))).toEqual({
      reason: `the SSH server at 127.0.0.1 port ${port} has another host key than the installer reported, so it is not the installer`,
    });
    await sshd.stop();
    expect(sshd.log()).not.toContain('Accepted');
    expect(sshd.log()).not.toMatch(/Failed publickey|userauth/);
  });

  it('fails at once where its key is not accepted', async () => {
    const folder = temporaryFolder();
    const [host, port] = [hostKey(folder, 'host'), await freePort()];
    await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [makeEphemeralKey('a').authorizedKey] });
    expect(await reach(reaching(port, makeEphemeralKey('b'), [host.line]))).toEqual({
      reason: 'the installer at 127.0.0.1 does not accept the key of this deployment',
    });
  });

  it('fails after its timeout, with the last error', async () => {
    const port = await freePort();
    const line = hostKey(temporaryFolder(), 'host').line;
    const { reason } = await reach(reaching(port, makeEphemeralKey('test'), [line], { timeout: 2500 }));
    expect(reason).toMatch(/^no SSH login at 127\.0\.0\.1 port \d+ within 3 s: .*ECONNREFUSED/);
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
    const connected = once(silent, 'connection');
    const waiting = reach(reaching(port, makeEphemeralKey('test'), [host.line], { signal: controller.signal }));
    const [socket] = await connected;
    controller.abort();
    expect(await waiting).toEqual({ reason: 'it was cancelled' });
    socket.destroy();
  });

  it.each([
    ['no key', [], 'the installer reported no host key'],
    [
      'an invalid key',
      ['ssh-ed25519 AAAA'],
      expect.stringContaining('a host key that the installer reported: the key after ssh-ed25519'),
    ],
    ['a private key', ['-----BEGIN OPENSSH PRIVATE KEY-----'], expect.stringContaining('this is a private key')],
  ])('does not connect with %s', async (_what, hostKeys, reason) => {
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
    return { client, sshd, tunnel: await openTunnel(client, port, TUNNEL_LIMITS) };
  }

  const greeting = async (port: number): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port });
    const [bytes] = await once(socket, 'data');
    socket.destroy();
    return bytes.toString('latin1');
  };

  it('forwards to the SSH server of the verified machine, for several clients at once', async () => {
    const { tunnel } = await tunnelled();
    if (!tunnel.ok) throw new Error(tunnel.reason);
    const { port } = tunnel.value;
    expect(await Promise.all([1, 2, 3].map(() => greeting(port)))).toEqual(
      Array(3).fill(expect.stringMatching(/^SSH-2\.0-OpenSSH/)),
    );
    await tunnel.value.close();
    await expect(greeting(port)).rejects.toThrow('ECONNREFUSED');
  });

  it('fails at a server that forwards nothing, with the reason', async () => {
    const { tunnel } = await tunnelled(['AllowTcpForwarding no']);
    expect(tunnel).toEqual({
      ok: false,
      reason: expect.stringMatching(/^the installer does not forward to its own SSH server: /),
    });
  });

  it('accepts no connection after the machine is gone', async () => {
    const { tunnel, client } = await tunnelled();
    if (!tunnel.ok) throw new Error(tunnel.reason);
    const { port } = tunnel.value;
    const closed = once(client, 'close');
    client.destroy();
    await closed;
    await expect(greeting(port)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    await tunnel.value.close();
  });

  it('forwards the data of OpenSSH completely', async () => {
    const folder = temporaryFolder();
    const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('test'), await freePort()];
    await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
    const { client } = await reach(reaching(port, key, [host.line]));
    if (!client) throw new Error('not reached');
    const tunnel = await openTunnel(client, port, TUNNEL_LIMITS);
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
    let output = '';
    ssh.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString('latin1');
    });
    const exited = once(ssh, 'close');
    ssh.stdin.end(bytes);
    await exited;
    expect(output).toContain(createHash('sha256').update(bytes).digest('hex'));
    await tunnel.value.close();
  });
});
