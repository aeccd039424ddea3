// Attacks on installations that the appliance pushes over SSH: a fake installer at the address of the machine, a hostile SSH server,
// endless output, and a host that stole the key of the session.

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { mustParse, parsed } from '../../appliance/domain/parsed.ts';
import type { PushProgress } from '../../appliance/provisioning/installers/nixos/anywhere-steps.ts';
import { makeEphemeralKey } from '../../appliance/provisioning/installers/nixos/ephemeral-key.ts';
import { PUSH_LIMITS, type Push, pushNixos } from '../../appliance/provisioning/installers/nixos/push.ts';
import { temporaryFolder } from '../assets/tiny-files.ts';
import { freePort } from '../free-port.ts';
import { fakeAnywhere, step, steps } from '../provisioning/installers/nixos/fake-anywhere.ts';
import { hostKey, needSshd, startSshd } from '../provisioning/installers/nixos/real-sshd.ts';
import { PushRig } from '../provisioning/sessions/push-rig.ts';

const TOKEN = 'enroll-4f1c9b2a77d0';

beforeAll(() => needSshd());

interface Made {
  readonly folder: string;
  readonly progress: PushProgress[];
  readonly push: Push;
}

function pushTo(port: number, hostKeys: readonly string[], script: string, key = makeEphemeralKey('test')): Made {
  const folder = temporaryFolder();
  const progress: PushProgress[] = [];
  const push: Push = {
    node: 'node05',
    flake: [{ path: 'flake.nix', text: '{ }\n', mode: 0o644, secret: false }],
    extraFiles: [{ path: 'etc/token', text: `${TOKEN}\n`, mode: 0o600, secret: true }],
    diskPassphrase: null,
    target: { host: '127.0.0.1', port },
    hostKeys,
    key,
    tools: parsed({ nixosAnywhere: fakeAnywhere(folder, script), nixVersion: '2.18.1' }),
    workFolders: join(folder, 'work'),
    environment: { PATH: process.env.PATH, HOME: folder },
    limits: { ...PUSH_LIMITS, reach: 3000, gracePeriod: 300 },
    signal: new AbortController().signal,
    say: (event) => progress.push(event),
  };
  return { folder, progress, push };
}

/** The script of nixos-anywhere prints what a hostile installer sends. */
async function printing(script: string, limits: Partial<Push['limits']> = {}): Promise<Made> {
  const folder = temporaryFolder();
  const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('test'), await freePort()];
  await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
  const made = pushTo(port, [host.line], script, key);
  return { ...made, push: { ...made.push, limits: { ...made.push.limits, reach: 20_000, ...limits } } };
}

/** A TCP server of the attacker at the address of the machine. */
async function tcpServer(greet: (socket: Socket) => void): Promise<{ port: number; received: () => Buffer }> {
  const chunks: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    greet(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, received: () => Buffer.concat(chunks) };
}

const nothingLeft = ({ folder }: Made): void => {
  expect(existsSync(join(folder, 'arguments'))).toBe(false);
  expect(existsSync(join(folder, 'work')) ? readdirSync(join(folder, 'work')) : []).toEqual([]);
};

describe('a fake installer at the address of the machine', () => {
  it.each<[what: string, greet: (socket: Socket) => void]>([
    ['accepts the connection and says nothing', () => undefined],
    ['sends a banner of a megabyte without a line end', (socket) => socket.write(Buffer.alloc(1024 * 1024, 'S'))],
    [
      'sends lines before its banner without an end',
      (socket) => {
        const more = (): void => {
          if (socket.destroyed) return;
          socket.write('\u001b[31mhello\r\n'.repeat(500));
          setImmediate(more);
        };
        more();
      },
    ],
    ['sends its banner and then garbage', (socket) => socket.write(`SSH-2.0-x\r\n${'\u0007\u001b['.repeat(40_000)}`)],
    ['speaks SSH 1', (socket) => socket.write('SSH-1.5-old\r\n')],
  ])('that %s gets no secret, and is given up in time with a plain reason', async (_what, greet) => {
    const server = await tcpServer(greet);
    const made = pushTo(server.port, [hostKey(temporaryFolder(), 'host').line], steps(0, 9));
    const result = await pushNixos(made.push);
    expect(result).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: expect.stringMatching(/^[\x20-\x7e…]{1,400}$/),
    });
    expect(server.received().toString('latin1')).not.toContain(TOKEN);
    nothingLeft(made);
  });

  it('that has other host keys gets no secret', async () => {
    const folder = temporaryFolder();
    const [reported, own] = [hostKey(folder, 'reported'), hostKey(folder, 'own')];
    const [key, port] = [makeEphemeralKey('test'), await freePort()];
    await startSshd({ folder, port, hostKeys: [own.file], authorizedKeys: [key.authorizedKey] });
    const made = pushTo(port, [reported.line], steps(0, 9), key);
    expect(await pushNixos(made.push)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('another host key'),
    });
    nothingLeft(made);
  });

  it.each<[what: string, hostKeys: readonly string[], reason: string]>([
    ['reported no host key', [], 'reported no host key'],
    ['reported a host key of a weak type', ['ssh-dss AAAAB3NzaC1kc3M='], 'not a public key of a known type'],
    ['reported a host key with escapes', ['ssh-ed25519 \u001b[31m'], 'one line of plain ASCII'],
  ])('whose session %s is not connected to at all', async (_what, hostKeys, reason) => {
    let connections = 0;
    const server = await tcpServer(() => {
      connections += 1;
    });
    const made = pushTo(server.port, hostKeys, steps(0, 9));
    expect(await pushNixos(made.push)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
    expect(connections).toBe(0);
    nothingLeft(made);
  });
});

describe('a hostile SSH server with the reported host key', () => {
  async function hostileSshd(onForward: (accept: () => ssh2.ServerChannel) => void, banner = 1000) {
    const folder = temporaryFolder();
    const host = hostKey(folder, 'host', 'rsa');
    const server = new ssh2.Server(
      { hostKeys: [readFileSync(host.file)], banner: '\u001b]0;owned\u0007'.repeat(banner) },
      (client) => {
        client.on('error', () => undefined);
        client.on('authentication', (request) => request.accept());
        client.on('ready', () => client.on('tcpip', (accept) => onForward(accept)));
      },
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return { port: (server.address() as AddressInfo).port, line: host.line };
  }

  it('that sends a login banner of 240 kB is given up', async () => {
    const { port, line } = await hostileSshd(() => undefined, 20_000);
    const made = pushTo(port, [line], steps(0, 9));
    expect(await pushNixos(made.push)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('Bad packet length'),
    });
    nothingLeft(made);
  });

  it('that never answers a request to forward is given up in time', async () => {
    const { port, line } = await hostileSshd(() => undefined);
    const made = pushTo(port, [line], steps(0, 9));
    const push = { ...made.push, limits: { ...made.push.limits, forward: 1000 } };
    expect(await pushNixos(push)).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: expect.stringContaining('does not forward to its own SSH server: no answer within 1 s'),
    });
    nothingLeft(made);
  });

  it('that never answers a request to forward does not keep a cancelled push alive', async () => {
    const controller = new AbortController();
    const { port, line } = await hostileSshd(() => controller.abort());
    const made = pushTo(port, [line], steps(0, 9));
    const push = { ...made.push, signal: controller.signal };
    expect(await pushNixos(push)).toMatchObject({ ok: false, reason: 'it was cancelled' });
    nothingLeft(made);
  });

  it.each<[what: string, send: (channel: ssh2.ServerChannel) => void, reason: RegExp]>([
    ['nothing', () => undefined, /does not forward/],
    ['escape sequences', (channel) => channel.write('\u001b]0;owned\u0007'), /is not an SSH server: \\u001b]0;owned/],
  ])('that forwards to %s is given up with a plain reason', async (_what, send, reason) => {
    const { port, line } = await hostileSshd((accept) => send(accept()));
    const made = pushTo(port, [line], steps(0, 9));
    const push = { ...made.push, limits: { ...made.push.limits, forward: 1000 } };
    expect(await pushNixos(push)).toMatchObject({ ok: false, step: 'prepare', reason: expect.stringMatching(reason) });
    nothingLeft(made);
  });
});

describe('output that a hostile installer prints', () => {
  it('without a line end does not fill the memory', async () => {
    const made = await printing(`${steps(0, 3)}\nhead -c 600000000 /dev/zero | tr '\\0' x >&2\nexit 1`);
    const result = await pushNixos(made.push);
    expect(result).toMatchObject({ ok: false, step: 'partition' });
    expect(JSON.stringify(made.progress).length).toBeLessThan(100_000);
  });

  it('in a line that is slow to search is cut before it is searched', async () => {
    const made = await printing(`${steps(0, 3)}\nperl -e 'print STDERR "a." x 200000, "\\n"'\nexit 1`);
    expect(await pushNixos(made.push)).toMatchObject({ ok: false, step: 'partition' });
  });

  it('with escapes, forged lines and invisible characters shows none of them', async () => {
    const escapes = '\\033]0;owned\\007\\033[2J\\302\\2336n\\342\\200\\256forged\\342\\200\\213\\r';
    const made = await printing(
      `${steps(0, 3)}\nprintf '${escapes}\\n### \\033[31mFormatting\\033[0m ###\\n'\nprintf '${escapes}\\n' >&2\nexit 1`,
    );
    const result = await pushNixos(made.push);
    expect(result.ok).toBe(false);
    expect(JSON.stringify([result, made.progress])).not.toMatch(/\\u001b|\\u0007|\\u009b|\u009b|\u202e|\u200b|\\r/);
  });

  it('with step lines without an end is reported a bounded number of times, and ends at its time limit', async () => {
    const made = await printing(`yes '### Installing NixOS ###'`, { all: 4000 });
    expect(await pushNixos(made.push)).toMatchObject({ ok: false, reason: 'the installation took longer than 4 s' });
    expect(made.progress.length).toBeLessThan(300);
  });

  it('that claims success does not make a failed installation successful', async () => {
    const made = await printing(`${steps(0, 5)}\n${step('Done!')}\nexit 1`);
    expect(await pushNixos(made.push)).toMatchObject({ ok: false });
  });
});

describe('a host that knows the key of an installer session', () => {
  const MACHINE = mustParse(parseMac('52:54:00:12:34:56'));
  const THIEF = mustParse(parseMac('52:54:00:66:66:66'));
  const ELSEWHERE = mustParse(parseIpv4('127.0.0.66'));

  it('and waits for the push at an address that is leased to another card gets none', async () => {
    const rig = await PushRig.open(steps(0, 9));
    const seenAt = (address: typeof ELSEWHERE | null) => ({
      address,
      mac: address === ELSEWHERE ? THIEF : MACHINE,
      neighbour: null,
      wouldBeKnown: true,
    });
    const appliance = await rig.appliance({ seenAt });
    const installer = await rig.installer(appliance);
    await rig.sshd(installer.order.authorized_keys);
    const stolen = hostKey(rig.folder, 'stolen').line;
    await expect(installer.waits([stolen], ELSEWHERE)).rejects.toThrow(/leased to 52:54:00:66:66:66/);
    expect(existsSync(join(rig.folder, 'arguments'))).toBe(false);
    expect(rig.given).toEqual([]);
    // The machine itself is installed, with the keys that it reported.
    await installer.waits();
    await expect.poll(async () => (await rig.machine()).lifecycle.state, { timeout: 20_000 }).toBe('enrolling');
  });
});
