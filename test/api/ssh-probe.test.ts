import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { type KeyProbe, sshKeyProbe } from '../../appliance/allocations/key-probe.ts';
import { sshProbe } from '../../appliance/api/ssh-probe.ts';
import { freePort } from '../free-port.ts';
import { hostKey, needSshd, startSshd } from '../provisioning/installers/nixos/real-sshd.ts';

const open = new Set<Server>();
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of open) await new Promise((closed) => server.close(closed));
  open.clear();
  sockets.clear();
});

async function listen(answer: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    answer(socket);
  });
  open.add(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const nobody: KeyProbe = async () => ({ accepted: false, reason: 'not asked', hostKey: null });
const knocks = sshProbe(Date.now, nobody, 60_000);
const probe = (host: string, port: number) => knocks(host, port, null);

describe('the SSH probe', () => {
  it('reads the banner of an SSH server and disconnects', async () => {
    let hungUp: (value: unknown) => void = () => {};
    const gone = new Promise((resolve) => {
      hungUp = resolve;
    });
    const port = await listen((socket) => {
      socket.on('close', hungUp);
      socket.write('SSH-2.0-OpenSSH_9.6\r\n');
    });
    expect(await probe('127.0.0.1', port)).toEqual({
      reached: true,
      banner: 'SSH-2.0-OpenSSH_9.6',
      milliseconds: expect.any(Number),
    });
    await gone;
  });

  it('finds the banner after a greeting, and when it arrives in pieces', async () => {
    const port = await listen((socket) => {
      socket.write('Authorized use only\r\nSSH-2.0-');
      setImmediate(() => socket.write('dropbear\r\n'));
    });
    expect(await probe('127.0.0.1', port)).toMatchObject({ reached: true, banner: 'SSH-2.0-dropbear' });
  });

  it('reports a refused connection', async () => {
    const port = await listen(() => {});
    const [server] = open;
    await new Promise((closed) => server?.close(closed));
    open.clear();
    expect(await probe('127.0.0.1', port)).toEqual({
      reached: false,
      reason: `127.0.0.1 port ${port}: the connection was refused; no server listens on this port`,
    });
  });

  it('times out when the server sends nothing', async () => {
    const port = await listen(() => {});
    const impatient = sshProbe(Date.now, nobody, 2000);
    expect(await impatient('127.0.0.1', port, null)).toMatchObject({ reason: expect.stringMatching(/no SSH banner/) });
  });

  it('quotes the peer that closed the connection, without control characters', async () => {
    const port = await listen((socket) => socket.end('\u001b[31mHTTP/1.1 400\r\n'));
    expect(await probe('127.0.0.1', port)).toMatchObject({
      reason: expect.stringMatching(/closed the connection after \\u001b/),
    });
  });

  it('limits how much it reads', async () => {
    const port = await listen((socket) => {
      const talk = (): void => {
        if (!socket.destroyed) socket.write('x'.repeat(1000), () => setImmediate(talk));
      };
      talk();
    });
    expect(await probe('127.0.0.1', port)).toMatchObject({
      reason: expect.stringMatching(/the answer is not SSH/),
    });
  });
});

describe('the SSH probe with a key', () => {
  it("asks Debian's sshd whether it lets the user in, and names its host key", async () => {
    needSshd();
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-probe-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [server, known, other] = [hostKey(folder, 'host'), hostKey(folder, 'known'), hostKey(folder, 'other')];
    const port = await freePort();
    await startSshd({ folder, port, hostKeys: [server.file], authorizedKeys: [known.line] });
    const real = sshProbe(Date.now, sshKeyProbe(60_000), 60_000);
    expect(await real('127.0.0.1', port, { username: 'root', line: known.line })).toMatchObject({
      reached: true,
      banner: expect.stringContaining('OpenSSH'),
      hostKey: expect.stringMatching(/^SHA256:/),
    });
    expect(await real('127.0.0.1', port, { username: 'root', line: other.line })).toEqual({
      reached: false,
      reason: `127.0.0.1 port ${port}: root cannot log in with this key: the server does not accept this key for this user`,
    });
  });
});
