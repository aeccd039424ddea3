// The appliance's side of a push: Debian's sshd replaces the installer, a script replaces nixos-anywhere.

import { existsSync, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parsed, unparsable } from '../../../../appliance/domain/parsed.ts';
import { Secret } from '../../../../appliance/domain/secret.ts';
import type { PushProgress } from '../../../../appliance/provisioning/installers/nixos/anywhere-steps.ts';
import { makeEphemeralKey } from '../../../../appliance/provisioning/installers/nixos/ephemeral-key.ts';
import { PUSH_LIMITS, type Push, pushNixos } from '../../../../appliance/provisioning/installers/nixos/push.ts';
import type { RenderedFile } from '../../../../appliance/render/rendered-file.ts';
import { temporaryFolder } from '../../../assets/tiny-files.ts';
import { freePort } from '../../../free-port.ts';
import { fakeAnywhere, isAlive, pidsOf, step, steps } from './fake-anywhere.ts';
import { hostKey, needSshd, startSshd } from './real-sshd.ts';

const TOKEN = 'enroll-4f1c9b2a77d0';
const PASSPHRASE = 'correct horse battery';

const file = (path: string, text: string, mode = 0o644, secret = false): RenderedFile => ({ path, text, mode, secret });

interface Rig {
  readonly folder: string;
  readonly progress: PushProgress[];
  readonly push: Push;
}

async function rig(script: string, changes: Partial<Push> = {}): Promise<Rig> {
  const folder = temporaryFolder();
  const [host, key, port] = [hostKey(folder, 'host'), makeEphemeralKey('coldiron-node05'), await freePort()];
  await startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [key.authorizedKey] });
  const progress: PushProgress[] = [];
  const push: Push = {
    node: 'node05',
    flake: [file('flake.nix', '{ }\n'), file('nodes/node05/disko.nix', '{ }\n')],
    extraFiles: [
      file('etc/nixos/secrets/node05-key.pem', `${TOKEN}\n`, 0o600, true),
      file('etc/nixos/secrets/ca-cert.pem', 'public\n', 0o600),
    ],
    diskPassphrase: null,
    target: { host: '127.0.0.1', port },
    hostKeys: [host.line],
    key,
    tools: parsed({ nixosAnywhere: fakeAnywhere(folder, script), nixVersion: '2.18.1' }),
    workFolders: join(folder, 'work'),
    environment: { PATH: process.env.PATH, HOME: folder, SSH_AUTH_SOCK: '/agent', COLDIRON_ADMIN_TOKEN: 'no' },
    limits: { ...PUSH_LIMITS, reach: 20_000, gracePeriod: 300 },
    signal: new AbortController().signal,
    say: (event) => progress.push(event),
    ...changes,
  };
  return { folder, progress, push };
}

/** However it ended, nothing of the deployment is left on this machine. */
function expectNothingLeft({ folder }: Rig): void {
  expect(existsSync(join(folder, 'work')) ? readdirSync(join(folder, 'work')) : []).toEqual([]);
  if (existsSync(join(folder, 'pids'))) expect(pidsOf(folder).filter(isAlive)).toEqual([]);
}

/** Resolves when the fake has made this file. */
const appears = (folder: string, name: string): Promise<void> =>
  new Promise((resolve) => {
    const watcher = watch(folder, () => {
      if (!existsSync(join(folder, name))) return;
      watcher.close();
      resolve();
    });
    if (existsSync(join(folder, name))) {
      watcher.close();
      resolve();
    }
  });

const HANG = `(pid; trap '' TERM; while :; do sleep 1000 & pid2=$!; echo $pid2 >> "$record/pids"; touch "$record/hanging"; wait $pid2; done) &
trap '' TERM
while :; do sleep 1000; done`;

beforeAll(() => needSshd());

describe('pushing NixOS', () => {
  it('succeeds when nixos-anywhere exits with 0 and reports success, and reports each step', async () => {
    const made = await rig(steps(0, 9));
    expect(await pushNixos(made.push)).toEqual({ ok: true });
    expect(made.progress.map(({ step, status, percent }) => [step, status, percent])).toEqual([
      ['prepare', 'started', 0],
      ['prepare', 'done', 100],
      ['connect', 'started', 0],
      ['connect', 'progress', 50],
      ['connect', 'done', 100],
      ['partition', 'started', 40],
      ['partition', 'done', 100],
      ['copy-system', 'started', 0],
      ['copy-system', 'done', 100],
      ['secrets', 'started', 0],
      ['secrets', 'done', 100],
      ['install', 'started', 0],
      ['install', 'done', 100],
      ['reboot', 'started', 0],
      ['reboot', 'progress', 50],
      ['reboot', 'done', 100],
    ]);
    expectNothingLeft(made);
  });

  it('passes everything in private files, and nothing secret in arguments or environment', async () => {
    const script = `stat -c '%a' "$(dirname "$key")" "$key" "$disk" > "$record/modes"
(cd "$extra" && find . -printf '%P %m\\n' | sort) > "$record/extra"
(cd "$(echo "$flake" | sed 's/^path://; s/#.*//')" && find . -type f -printf '%P\\n' | sort) > "$record/flake"
cat "$disk" > "$record/disk-key"
${steps(0, 9)}`;
    const made = await rig(script, { diskPassphrase: new Secret(PASSPHRASE) });
    expect(await pushNixos(made.push)).toEqual({ ok: true });
    const said = (name: string) => readFileSync(join(made.folder, name), 'utf8').trim().split('\n');
    expect(said('modes')).toEqual(['700', '600', '600']);
    expect(said('extra')).toEqual([
      '755',
      'etc 755',
      'etc/nixos 755',
      'etc/nixos/secrets 700',
      'etc/nixos/secrets/ca-cert.pem 600',
      'etc/nixos/secrets/node05-key.pem 600',
    ]);
    expect(said('flake')).toEqual(['flake.nix', 'nodes/node05/disko.nix']);
    expect(said('disk-key')).toEqual([PASSPHRASE]);
    const args = said('arguments');
    expect(args.slice(0, 4)).toEqual([
      '--flake',
      expect.stringMatching(/^path:\/.*\/flake#node05$/),
      '--phases',
      'disko,install,reboot',
    ]);
    expect(args.at(-1)).toBe('root@127.0.0.1');
    const environment = said('environment');
    for (const secret of [TOKEN, PASSPHRASE, 'PRIVATE KEY'])
      expect([...args, ...environment].join('\n')).not.toContain(secret);
    const names = environment.map((line) => line.split('=', 1)[0]).sort();
    expect(names).toEqual(expect.arrayContaining(['HOME', 'PATH', 'TERM', 'TMPDIR']));
    expect(names).not.toContain('SSH_AUTH_SOCK');
    expect(names).not.toContain('COLDIRON_ADMIN_TOKEN');
    expectNothingLeft(made);
  });

  it('lets it reach the verified machine, with the key of the deployment', async () => {
    const options = '-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes';
    const made = await rig(
      `ssh -T -i "$key" -p "$port" ${options} root@127.0.0.1 'echo $SSH_CONNECTION' > "$record/inside"\n${steps(0, 9)}`,
    );
    expect(await pushNixos(made.push)).toEqual({ ok: true });
    expect(readFileSync(join(made.folder, 'inside'), 'utf8').trim()).toMatch(
      new RegExp(` 127.0.0.1 ${made.push.target.port}$`),
    );
    expect(readFileSync(join(made.folder, 'arguments'), 'utf8')).not.toContain(`\n${made.push.target.port}\n`);
    expectNothingLeft(made);
  });

  it.each<[what: string, script: string, at: string, reason: string | RegExp]>([
    [
      'ends early with exit code 0',
      steps(0, 6),
      'install',
      'nixos-anywhere ended during "Installing NixOS" without reporting success',
    ],
    [
      'reports success and exits with 1',
      `${steps(0, 9)}\nexit 1`,
      'reboot',
      /exit code 1 during "Waiting for the machine/,
    ],
    [
      'fails in the middle',
      `${steps(0, 3)}\necho 'disk is on fire' >&2\nexit 4`,
      'partition',
      'nixos-anywhere failed with exit code 4 during "Formatting hard drive with disko": disk is on fire',
    ],
    [
      'aborts',
      `${steps(0, 2)}\necho 'aborted: no cpio command found, but required to build the new initrd' >&2\nexit 1`,
      'connect',
      'nixos-anywhere aborted: no cpio command found, but required to build the new initrd',
    ],
    [
      'is killed',
      `${steps(0, 6)}\nkill -KILL $$`,
      'install',
      'nixos-anywhere was killed by SIGKILL during "Installing NixOS"',
    ],
    [
      'fails before its first line',
      "echo 'error: attribute missing' >&2; exit 1",
      'prepare',
      'nixos-anywhere failed with exit code 1 during "Building": error: attribute missing',
    ],
    [
      'prints the last line to standard error',
      `${steps(0, 8)}\n${step('Done!')} >&2`,
      'reboot',
      /without reporting success/,
    ],
  ])('fails with the step and the reason when it %s', async (_what, script, at, reason) => {
    const made = await rig(script);
    const expected = typeof reason === 'string' ? reason : expect.stringMatching(reason);
    expect(await pushNixos(made.push)).toMatchObject({ ok: false, step: at, reason: expected });
    expect(made.progress.at(-1)).toMatchObject({ step: at, status: 'failed', message: expected });
    expectNothingLeft(made);
  });

  it('ends a step that takes too long, with all its processes, also those that ignore SIGTERM', async () => {
    const made = await rig(`${steps(0, 3)}\n${HANG}`, { limits: { ...PUSH_LIMITS, step: 3000, gracePeriod: 300 } });
    const pushing = pushNixos(made.push);
    await appears(made.folder, 'hanging');
    const running = pidsOf(made.folder);
    expect(running.filter(isAlive).length).toBeGreaterThanOrEqual(3);
    expect(await pushing).toMatchObject({
      ok: false,
      step: 'partition',
      reason: '"Formatting hard drive with disko" took longer than 3 s',
    });
    expectNothingLeft(made);
  });

  it('ends all of it when the whole takes too long, even while it prints', async () => {
    const script = `while :; do ${step('Gathering machine facts')}; sleep 0.2; done`;
    const made = await rig(script, { limits: { ...PUSH_LIMITS, all: 3000, gracePeriod: 300 } });
    expect(await pushNixos(made.push)).toMatchObject({
      ok: false,
      step: 'connect',
      reason: 'the installation took longer than 3 s',
    });
    expectNothingLeft(made);
  });

  it('ends at once when it is cancelled', async () => {
    const controller = new AbortController();
    const made = await rig(`${steps(0, 6)}\n${HANG}`, { signal: controller.signal });
    const pushing = pushNixos(made.push);
    await appears(made.folder, 'hanging');
    controller.abort();
    expect(await pushing).toMatchObject({ ok: false, step: 'install', reason: 'it was cancelled' });
    expectNothingLeft(made);
  });

  it('does not wait for processes that nixos-anywhere left running, and ends them', async () => {
    const made = await rig(`(pid; exec sleep 1000) &\n${steps(0, 9)}`);
    expect(await pushNixos(made.push)).toEqual({ ok: true });
    expectNothingLeft(made);
  });

  it('keeps the tail of the output, bounded, without secrets and control characters', async () => {
    const script = `for n in $(seq 500); do echo "line $n"; done
printf 'colour \\033[31mred\\033[0m \\007 %s\\n' '${TOKEN}'
cat "$key"
echo 'fetching http://user:hunter22@cache.example.com/x with Authorization: Bearer abcdefghijklmnop'
exit 1`;
    const made = await rig(script);
    const result = await pushNixos(made.push);
    if (result.ok || result.log === null) throw new Error('it must fail with a log');
    expect(result.log.split('\n').length).toBeLessThanOrEqual(60);
    expect(result.log).toContain('line 500');
    expect(result.log).not.toContain('line 1\n');
    expect(result.log).toContain('colour red  [secret]');
    expect(result.log).toContain('http://[secret]@cache.example.com/x with Authorization: Bearer [secret]');
    for (const secret of [TOKEN, 'hunter22', 'abcdefghijklmnop', 'PRIVATE KEY'])
      expect(JSON.stringify(made.progress)).not.toContain(secret);
    const body = Buffer.from(made.push.key.privateKey.reveal()).toString('utf8').split('\n').slice(1, 3);
    for (const line of body) expect(result.log).not.toContain(line);
    expectNothingLeft(made);
  });

  it('reports an unknown step as progress of the one before', async () => {
    const made = await rig([steps(0, 3), step('Polishing the platters'), steps(3, 9)].join('\n'));
    expect(await pushNixos(made.push)).toEqual({ ok: true });
    expect(made.progress).toContainEqual(
      expect.objectContaining({ step: 'partition', status: 'progress', message: 'Polishing the platters' }),
    );
  });

  it('starts nothing at a server with another host key', async () => {
    const stranger = hostKey(temporaryFolder(), 'other').line;
    const made = await rig(steps(0, 9), { hostKeys: [stranger] });
    expect(await pushNixos(made.push)).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: expect.stringContaining('another host key'),
    });
    expect(existsSync(join(made.folder, 'arguments'))).toBe(false);
    expectNothingLeft(made);
  });

  it('fails with the missing tools where the appliance has no Nix', async () => {
    const made = await rig(steps(0, 9), {
      tools: unparsable('this appliance cannot push NixOS: nix is not on its PATH'),
    });
    expect(await pushNixos(made.push)).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: expect.stringContaining('nix is not on its PATH'),
    });
    expectNothingLeft(made);
  });

  it('fails, and leaves nothing, when nixos-anywhere cannot be started or a file cannot be written', async () => {
    const absent = await rig('', {
      tools: parsed({ nixosAnywhere: '/nonexistent/nixos-anywhere', nixVersion: '2.18.1' }),
    });
    expect(await pushNixos(absent.push)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('cannot be started'),
    });
    expectNothingLeft(absent);
    const twice = [file('a', '1'), file('a', '2')];
    const unwritable = await rig('', { flake: twice });
    expect(await pushNixos(unwritable.push)).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: expect.stringContaining('EEXIST'),
    });
    expectNothingLeft(unwritable);
    expect(statSync(join(unwritable.folder, 'work')).mode & 0o777).toBe(0o700);
  });
});
