// The scripts inside the installer, against a fake session server.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { nixosOrder, ONCE_FILES } from '../../../../appliance/provisioning/installers/nixos/order.ts';
import { ustarArchive } from '../../../../appliance/provisioning/installers/nixos/ustar.ts';
import { readFacts, readOpening, readOutcome, readStep } from '../../../../appliance/provisioning/sessions/reports.ts';
import type { RenderedFile } from '../../../../appliance/render/rendered-file.ts';
import { FakeSession, fakeAuthority } from '../../../assets/fake-session.ts';
import { startSoftwareTpm } from '../../../assets/software-tpm.ts';
import { put, temporaryFolder } from '../../../assets/tiny-files.ts';
import { needPackages } from '../../../interop/packages.ts';
import { mustEvaluate, nixInstantiate, REPOSITORY } from '../../../render/nixos/nix-evaluation.ts';
import { SAMPLE_PLANS } from '../../../render/plans.ts';
import { isAlive } from './fake-anywhere.ts';
import { HOST_KEY, type InstallerRig, startInstaller, TOPLEVEL } from './installer-rig.ts';
import { playSession, SESSION_KEY, type SessionServer } from './session-server.ts';

const SECRET = 'MC4CAQAwBQYDK2VwBCIEI-private';
const AUTHORIZED = 'ssh-ed25519 AAAAB coldiron-node01';
const plan = SAMPLE_PLANS.controlPlane;

const file = (path: string, text: string, mode: number): RenderedFile => ({ path, text, mode, secret: mode === 0o600 });
const FILES = new Map([
  ['flake.tar', ustarArchive([file('flake.nix', '{ }\n', 0o644), file('nodes/n/disko.nix', '{ }\n', 0o644)])],
  [
    'secrets.tar',
    ustarArchive([
      file('etc/nixos/secrets/node01-key.pem', `${SECRET}\n`, 0o640),
      file('etc/coldiron/node-agent.env', 'T=1\n', 0o600),
    ]),
  ],
  ['disk-key', Buffer.from('correct horse')],
]);

const pull = (changes: object = {}) =>
  playSession({
    order: { ...(nixosOrder(plan, { way: 'pull' }) as object), ...changes },
    files: FILES,
    once: ONCE_FILES,
  });

const stepsOf = ({ received }: SessionServer): string[] =>
  received.steps.filter(({ status }) => status !== 'progress').map(({ step, status }) => `${step} ${status}`);

/** Only in its own file, which only root can read. */
function expectNoLeak(rig: InstallerRig, session: SessionServer): void {
  const seen = [rig.said(), rig.calls().join('\n'), JSON.stringify(session.received.steps)].join('\n');
  for (const secret of [SESSION_KEY, SECRET, 'correct horse']) expect(seen).not.toContain(secret);
  expect(statSync(join(rig.folder, 'run')).mode & 0o777).toBe(0o700);
  expect(session.received.unauthenticated).toEqual([]);
}

beforeAll(() => needPackages(['curl', 'jq', 'shellcheck', 'nix-bin']));

describe('an installer that pulls', () => {
  it('installs step by step, reports to the session, keeps secrets for root only, and restarts', async () => {
    const session = await pull();
    const rig = startInstaller(session);
    expect(await rig.ended, rig.said()).toBe(0);
    expect(stepsOf(session)).toEqual(
      ['inspect', 'prepare', 'partition', 'copy-system', 'secrets', 'install']
        .flatMap((step) => [`${step} started`, `${step} done`])
        .concat('reboot started'),
    );
    expect(session.received.outcome).toMatchObject({ ok: true, reason: null });
    expect(session.received.fetched).toEqual(['flake.tar', 'secrets.tar']);
    const calls = rig.calls();
    const at = (start: string): number => calls.findIndex((call) => call.startsWith(start));
    const order = [
      'nix --extra',
      'disko',
      'mountpoint',
      'nixos-install',
      'umount -R',
      'zpool export -a',
      'systemctl reboot',
    ].map(at);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
    expect(calls[at('nixos-install')]).toBe(
      `nixos-install --root ${rig.folder}/mnt --system ${TOPLEVEL} --no-root-passwd --no-channel-copy`,
    );
    expect(calls.filter((call) => call.startsWith('nix ')).at(-1)).toContain(`--store ${rig.folder}/mnt`);
    expectNoLeak(rig, session);
    expectValidReports(session);
    expectSecretsInPlace(rig);
  });

  const expectValidReports = ({ received }: SessionServer): void => {
    expect(readOpening(received.opening)).toMatchObject({
      mac: '52:54:00:12:34:56',
      uuid: '4c4c4544-0051-3010-8057-b4c04f4a4a32',
      serial: 'SN0005',
    });
    expect(readFacts(received.facts)).toMatchObject({
      disks: [{ name: 'vda', bytes: 21474836480 }],
      nics: [{ name: 'eth0' }],
    });
    expect(received.facts).toMatchObject({ ssh_host_keys: [HOST_KEY] });
    for (const step of received.steps) expect(() => readStep(step)).not.toThrow();
    expect(() => readOutcome(received.outcome)).not.toThrow();
    const numbers = received.steps.map(({ sequence }) => sequence);
    expect(new Set(numbers).size).toBe(numbers.length);
  };

  const expectSecretsInPlace = (rig: InstallerRig): void => {
    const secrets = join(rig.folder, 'mnt/etc/nixos/secrets');
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    expect(statSync(join(secrets, 'node01-key.pem')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(secrets, 'node01-key.pem'), 'utf8')).toBe(`${SECRET}\n`);
    expect(statSync(join(rig.folder, 'mnt/etc')).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(rig.folder, 'mnt')).sort()).toEqual(['.here', 'etc']);
    const kept = spawnSync('grep', ['-rl', SECRET, join(rig.folder, 'run')], { encoding: 'utf8' });
    expect(kept.stdout).toBe('');
  };

  it('has the passphrase of the disks only while they are partitioned', async () => {
    const session = await pull({ disk_key: 'disk-key' });
    const rig = startInstaller(session, {
      disko:
        'stat -c %a "$record/disk-encryption.key" > "$record/mode"; cat "$record/disk-encryption.key" > "$record/passphrase"',
    });
    expect(await rig.ended, rig.said()).toBe(0);
    expect(readFileSync(join(rig.folder, 'mode'), 'utf8').trim()).toBe('600');
    expect(readFileSync(join(rig.folder, 'passphrase'), 'utf8')).toBe('correct horse');
    expect(rig.has('disk-encryption.key')).toBe(false);
    expectNoLeak(rig, session);
  });

  it.each<[what: string, programs: Readonly<Record<string, string>>, step: string, reason: RegExp]>([
    [
      'the configuration does not build',
      { nix: 'echo "error: undefined variable" >&2; exit 1' },
      'prepare',
      /^nix failed: error: undefined variable$/,
    ],
    ['Nix builds nothing', { nix: 'echo /nix/store/nothing' }, 'prepare', /no program that divides the disks/],
    [
      'the disks cannot be partitioned',
      { disko: 'echo "device is busy" >&2; exit 3' },
      'partition',
      /^disko failed: device is busy$/,
    ],
    ['nothing is mounted afterwards', { mountpoint: 'exit 1' }, 'partition', /nothing is mounted at/],
    [
      'the system cannot be installed',
      { 'nixos-install': 'echo "no space left" >&2; exit 1' },
      'install',
      /^nixos-install failed: no space left$/,
    ],
  ])('fails with the step and the reason when %s', async (_what, programs, step, reason) => {
    const session = await pull({ disk_key: 'disk-key' });
    const rig = startInstaller(session, programs);
    expect(await rig.ended, rig.said()).toBe(1);
    expect(session.received.outcome).toMatchObject({ ok: false, step, reason: expect.stringMatching(reason) });
    expect(session.received.steps.at(-1)).toMatchObject({ step, status: 'failed' });
    expect(rig.said()).toContain(`${step}: FAILED`);
    expect(rig.calls()).not.toContain('systemctl reboot');
    expect(rig.has('disk-encryption.key')).toBe(false);
    expectNoLeak(rig, session);
  });

  it('partitions no disk when the configuration cannot be fetched, and requests no secret', async () => {
    const session = await pull({ flake: { file: 'other.tar', attribute: 'node01' } });
    const rig = startInstaller(session);
    expect(await rig.ended).toBe(1);
    expect(session.received.outcome).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: 'the configuration cannot be fetched: 404 there is no file other.tar',
    });
    expect(rig.calls()).not.toContain('disko ');
    expect(session.received.fetched).toEqual([]);
  });

  it.each([{ attribute: 'a"; rm -rf /' }, { attribute: null }])('rejects an order whose node is %j', async (flake) => {
    const session = await pull({ flake: { file: 'flake.tar', ...flake } });
    const rig = startInstaller(session);
    expect(await rig.ended).toBe(1);
    expect(session.received.outcome).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: 'the order names no node of its flake',
    });
    expect(rig.calls().filter((call) => call.startsWith('nix'))).toEqual([]);
  });

  it('ends its program, with all child processes, when the session is cancelled', async () => {
    const session = await pull();
    const hang = 'sleep 1000 & echo "$$ $!" > "$record/pids"; wait';
    const rig = startInstaller(session, { 'nixos-install': hang }, 0);
    await session.stepReported('install', 'progress');
    // Progress is reported as soon as the step begins, possibly before the program has started.
    const pids = () => (rig.has('pids') ? readFileSync(join(rig.folder, 'pids'), 'utf8').trim().split(' ') : []);
    await expect.poll(pids).toHaveLength(2);
    session.cancel();
    expect(await rig.ended, rig.said()).toBe(1);
    expect(pids().map(Number).filter(isAlive)).toEqual([]);
    expect(rig.calls()).not.toContain('systemctl reboot');
  });

  it('fails where the ticket was already used', async () => {
    const session = await pull();
    await fetch(session.url, { method: 'POST', body: '{}' });
    const rig = startInstaller(session);
    expect(await rig.ended).toBe(1);
    expect(rig.said()).toContain('the appliance refused the session: 409 refused: the ticket was used already');
    expect(rig.calls()).not.toContain('disko ');
  });

  it('does nothing with an order for another kind of system', async () => {
    const session = await pull({ kind: 'debian' });
    const rig = startInstaller(session);
    expect(await rig.ended).toBe(1);
    expect(session.received.outcome).toMatchObject({
      ok: false,
      reason: 'this installer installs NixOS, and the order is for debian',
    });
  });
});

describe('an installer with the authority of its appliance', () => {
  const authority = fakeAuthority();
  const trusting = (folder: string) => ({ AUTHORITY: put(folder, 'authority.pem', authority.pem) });

  it('installs in a session over TLS that its TPM opened, with sealed files', async () => {
    needPackages(['swtpm', 'tpm2-tools', 'openssl']);
    const tpm = await startSoftwareTpm();
    const folder = temporaryFolder();
    put(folder, 'dev/tpmrm0', '');
    const order = { mode: 'install', ...(nixosOrder(plan, { way: 'pull' }) as object) };
    const session = new FakeSession({
      authority,
      identity: 'tpm',
      order,
      files: Object.fromEntries(FILES),
      next: 'reboot',
    });
    await session.listen();
    onTestFinished(() => session.close());
    const environment = { ...trusting(folder), DEV: join(folder, 'dev'), TPM_INTERFACE: tpm.interface };
    const rig = startInstaller({ url: session.url() }, {}, 60, environment);
    expect(await rig.ended, rig.said()).toBe(0);
    expect(rig.said()).toContain('identity: the TPM of this machine opened the session');
    expect(session.outcome).toMatchObject({ ok: true });
    expect(readFileSync(join(rig.folder, 'mnt/etc/nixos/secrets/node01-key.pem'), 'utf8')).toBe(`${SECRET}\n`);
    expect(rig.calls().join('\n')).not.toContain(session.key);
  });

  it('tells an appliance over plain HTTP nothing', async () => {
    const session = await pull();
    const rig = startInstaller(session, {}, 60, trusting(temporaryFolder()));
    expect(await rig.ended).toBe(1);
    expect(rig.said()).toContain('STOPPED: coldiron.session is not an https URL');
    expect(session.received.opening).toBeNull();
  });
});

describe('an installer that is pushed to', () => {
  const push = () =>
    playSession({
      order: nixosOrder(plan, { way: 'push', authorizedKey: AUTHORIZED }) as object,
      files: FILES,
      once: ONCE_FILES,
    });

  it('authorizes the key of the deployment, and removes it afterwards', async () => {
    const session = await push();
    const waits = session.stepReported('await-push', 'started');
    const rig = startInstaller(session);
    await waits;
    const keys = join(rig.folder, 'root/.ssh/authorized_keys');
    expect(readFileSync(keys, 'utf8')).toBe(`ssh-ed25519 AAAA somebody\n${AUTHORIZED}\n`);
    expect(session.received.facts).toMatchObject({ ssh_host_keys: [HOST_KEY] });
    session.cancel();
    expect(await rig.ended).toBe(1);
    expect(readFileSync(keys, 'utf8')).toBe('ssh-ed25519 AAAA somebody\n');
    expect(session.received.fetched).toEqual([]);
    expect(rig.calls().filter((call) => /^(?:nix|disko|nixos-install)/.test(call))).toEqual([]);
    expectNoLeak(rig, session);
  });
});

describe('the scripts and the module', () => {
  it('pass shellcheck', () => {
    const folder = join(REPOSITORY, 'nixos/installer');
    const scripts = readdirSync(folder).filter((name) => name.endsWith('.sh'));
    expect(scripts.sort()).toEqual(['main.sh', 'pull.sh', 'push.sh']);
    const { status, stdout } = spawnSync('shellcheck', scripts, { cwd: folder, encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it('evaluate in Nix, and include the scripts that the unit starts', () => {
    const module = join(REPOSITORY, 'nixos/installer/netboot.nix');
    expect(nixInstantiate(['--parse', module])).toMatchObject({ ok: true });
    const text = readFileSync(module, 'utf8');
    expect(text).toContain('/main.sh');
    const library = /LIB = "\$\{([^}]+)\}"/.exec(text)?.[1] ?? '';
    expect(mustEvaluate(`builtins.pathExists (${join(REPOSITORY, 'nixos/installer', library)} + "/session.sh")`)).toBe(
      true,
    );
  });
});
