// Runs the installer: below its own root folder, and once in a system with its own /etc and /opt.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../../appliance/domain/secret.ts';
import type { BootstrapBundle } from '../../../appliance/render/bundle/bundle.ts';
import { bundleEnvironment } from '../../../appliance/render/bundle/bundle-env.ts';
import { renderInstallScript } from '../../../appliance/render/bundle/install-script.ts';
import { fakeAuthority } from '../../assets/fake-session.ts';
import { needPackages } from '../../interop/packages.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { AGENT_TEXT, bundleTemplates, sampleBundle, TOKEN_TEXT } from './sample-bundle.ts';

const ask = (command: string, args: readonly string[]) => spawnSync(command, args, { encoding: 'utf8' });
const TEMPLATES = bundleTemplates();
const script = (bundle: BootstrapBundle = sampleBundle(), agent = AGENT_TEXT): string =>
  renderInstallScript(bundle, agent, TEMPLATES);
const ENV_FILE = 'etc/coldiron/node-agent.env';

beforeAll(() => needPackages(['shellcheck', 'dash', 'bash', 'strace', 'systemd', 'util-linux']));

/** Two authorities, as a rotation leaves them. */
const certificates = [fakeAuthority().pem, fakeAuthority().pem].join('');

describe('install-node-agent.sh', () => {
  const scratch = useScratchFolder();
  const run = (text: string, args: readonly string[], shell = 'dash') => {
    const file = scratch('install-node-agent.sh');
    writeFileSync(file, text, { mode: 0o700 });
    const { status, stdout, stderr } = ask(shell, [file, ...args]);
    return { status, output: stdout + stderr };
  };
  const root = (): string => {
    const folder = scratch('root');
    mkdirSync(folder, { recursive: true });
    return folder;
  };
  const install = (text = script(), ...args: string[]) => run(text, ['--root', root(), ...args]);
  const read = (path: string): string => readFileSync(join(root(), path), 'utf8');
  const mode = (path: string): number => statSync(join(root(), path)).mode & 0o777;

  it('passes shellcheck, dash and bash', () => {
    const file = scratch('install-node-agent.sh');
    writeFileSync(file, script());
    // Besides style rules, SC2016: the agent's text is in single quotes, including dollar signs.
    const options = ['--shell=sh', '--enable=all', '--exclude=SC2250,SC2312,SC2310,SC2016'];
    const checked = ask('shellcheck', [...options, file]);
    expect(checked.stdout).toBe('');
    for (const shell of ['dash', 'bash']) expect(ask(shell, ['-n', file]).stderr).toBe('');
  });

  it.each(['dash', 'bash'])('installs every file (%s)', (shell) => {
    const bundle = sampleBundle();
    const { status, output } = run(script(bundle), ['--root', root()], shell);
    expect(output).toContain('written: /etc/coldiron/node-agent.env\n');
    expect(status).toBe(0);
    expect(read('opt/coldiron/node-agent/node-agent')).toBe(AGENT_TEXT);
    expect(mode('opt/coldiron/node-agent/node-agent')).toBe(0o755);
    expect(read(ENV_FILE)).toBe(bundleEnvironment(bundle));
    expect(mode(ENV_FILE)).toBe(0o600);
    expect(read('etc/coldiron/ca-bundle.crt')).toBe(bundle.ca.pem);
    expect(read('etc/coldiron/node-cert-ca-bundle.crt')).toBe(bundle.nodeCertificateCa.pem);
    expect(mode('etc/coldiron/ca-bundle.crt')).toBe(0o644);
    expect(mode('etc')).toBe(0o755);
    expect(readlinkSync(join(root(), 'etc/systemd/system/multi-user.target.wants/coldiron-node-agent.service'))).toBe(
      '../coldiron-node-agent.service',
    );
  });

  it('writes a unit that systemd accepts', () => {
    install();
    const unit = join(root(), 'etc/systemd/system/coldiron-node-agent.service');
    expect(read('etc/systemd/system/coldiron-node-agent.service')).toContain(
      'EnvironmentFile=/etc/coldiron/node-agent.env\nExecStart=/opt/coldiron/node-agent/node-agent\n',
    );
    // The program that the unit starts is not on this machine; only the unit's own lines are checked.
    const { stderr, stdout } = ask('systemd-analyze', ['verify', '--man=no', unit]);
    const said = (stdout + stderr).split('\n').filter((line) => line.includes('coldiron-node-agent'));
    expect(said.filter((line) => !/is not executable|No such file/.test(line))).toEqual([]);
  });

  it('changes nothing when it runs again', () => {
    install();
    const before = snapshot(root());
    const { status, output } = install();
    expect(status).toBe(0);
    expect(output).toContain('nothing had to change\n');
    expect(output).not.toMatch(/written|set aside|enabled/);
    expect(snapshot(root())).toEqual(before);
  });

  it('keeps what the agent has replaced: the recovery token, its certificate, newer CA certificates', () => {
    install();
    const own = {
      [ENV_FILE]: bundleEnvironment(sampleBundle({ enrollmentToken: new Secret('ce_recovery') })).replace(
        'https://api.internal:8444',
        'https://moved.internal:8444',
      ),
      'etc/coldiron/cert.pem': 'certificate',
      'etc/coldiron/key.pem': 'key',
      'etc/coldiron/ca-bundle.crt': certificates,
    };
    for (const [path, text] of Object.entries(own)) writeFileSync(join(root(), path), text);
    expect(install().status).toBe(0);
    for (const [path, text] of Object.entries(own)) expect(read(path)).toBe(text);
  });

  it('restores missing and damaged files', () => {
    install();
    rmSync(join(root(), 'etc/coldiron/ca-bundle.crt'));
    writeFileSync(join(root(), 'opt/coldiron/node-agent/node-agent'), 'damaged');
    rmSync(join(root(), ENV_FILE));
    const { output } = install();
    expect(output).toContain('written: /etc/coldiron/ca-bundle.crt\n');
    expect(read('opt/coldiron/node-agent/node-agent')).toBe(AGENT_TEXT);
    expect(read(ENV_FILE)).toBe(bundleEnvironment(sampleBundle()));
  });

  it.each([
    ['an empty file', () => ''],
    ['a line that is not a variable', (text: string) => `${text}\0\0garbage\n`],
    ['a lost line', (text: string) => text.replace(/^COLDIRON_CERT_PATH=.*\n/m, '')],
    ['a wrong URL', (text: string) => text.replace('https://api.internal:8444', 'api.internal')],
    ['the id of another node', (text: string) => text.replace('11111111', '99999999')],
    ['a file that ends early', (text: string) => text.slice(0, 90)],
  ])('repairs a damaged env file with the same bundle, and keeps a token that can be read: %s', (_, damage) => {
    install();
    const whole = bundleEnvironment(sampleBundle({ enrollmentToken: new Secret('ce_recovery') }));
    const damaged = damage(whole);
    writeFileSync(join(root(), ENV_FILE), damaged);
    const { status, output } = install();
    expect(status, output).toBe(0);
    expect(output).toContain('written: /etc/coldiron/node-agent.env\n');
    const token = damaged.includes('ENROLLMENT_TOKEN="ce_recovery"') ? 'ce_recovery' : TOKEN_TEXT;
    const wanted = bundleEnvironment(sampleBundle({ enrollmentToken: new Secret(token) }));
    expect(read(ENV_FILE).split('\n').toSorted()).toEqual(wanted.split('\n').toSorted());
    expect(install().output).toContain('nothing had to change\n');
  });

  it('replaces authorities that cannot be read', () => {
    install();
    writeFileSync(join(root(), 'etc/coldiron/ca-bundle.crt'), '-----BEGIN CERTIFICATE-----\nAA');
    expect(install().output).toContain('written: /etc/coldiron/ca-bundle.crt\n');
  });

  it('makes the node enroll again with a newer bundle: new token and CA certificates, the old certificate set aside', () => {
    install();
    writeFileSync(join(root(), 'etc/coldiron/cert.pem'), 'old certificate');
    writeFileSync(join(root(), 'etc/coldiron/key.pem'), 'old key');
    const newer = sampleBundle({ id: 'ffffffffffff', enrollmentToken: new Secret('ce_ffffffffffff_new') });
    const { output } = install(script(newer));
    expect(output).toContain('set aside: /etc/coldiron/cert.pem\n');
    expect(read(ENV_FILE)).toBe(bundleEnvironment(newer));
    expect(existsSync(join(root(), 'etc/coldiron/cert.pem'))).toBe(false);
    expect(read('etc/coldiron/key.pem.before-ffffffffffff')).toBe('old key');
  });

  it('completes an interrupted installation', () => {
    install();
    rmSync(join(root(), 'opt/coldiron/node-agent/bundle-id'));
    writeFileSync(join(root(), ENV_FILE), '');
    install();
    expect(read(ENV_FILE)).toBe(bundleEnvironment(sampleBundle()));
  });

  it('prints with --dry-run what it would do, and changes nothing', () => {
    const before = snapshot(root());
    const { status, output } = install(script(), '--dry-run');
    expect(status).toBe(0);
    expect(output).toContain('would write: /etc/coldiron/node-agent.env\n');
    expect(output).toContain('would enable: coldiron-node-agent.service\n');
    expect(snapshot(root())).toEqual(before);
    install();
    expect(install(script(), '--dry-run').output).toContain('nothing had to change');
  });

  it('never prints the token, and leaves no copy of it', () => {
    const outputs = [install(), install(), install(script(), '--dry-run'), run(script(), ['--help'])];
    for (const { output } of outputs) expect(output).not.toContain(TOKEN_TEXT);
    const holders = Object.entries(snapshot(root())).filter(([, entry]) => entry.includes(TOKEN_TEXT));
    expect(holders.map(([path]) => path)).toEqual([ENV_FILE]);
    // A shell trace would print values, so it must be off.
    expect(script()).not.toMatch(/set -[a-z]*x/);
  });

  it('passes the token to no other program as an argument', () => {
    const file = scratch('install-node-agent.sh');
    writeFileSync(file, script());
    const trace = scratch('trace');
    const { status } = ask('strace', [
      '-f',
      '-s',
      '4096',
      '-e',
      'trace=execve',
      '-o',
      trace,
      'dash',
      file,
      '--root',
      root(),
    ]);
    expect(status).toBe(0);
    const calls = readFileSync(trace, 'utf8');
    expect(calls).toContain('execve("/usr/bin/mv"');
    expect(calls).not.toContain(TOKEN_TEXT);
  });

  it('rejects an agent that is not the one in the bundle', () => {
    const { status, output } = install(script(sampleBundle(), `${AGENT_TEXT}changed\n`));
    expect(status).toBe(1);
    expect(output).toContain('the agent in this file is not the one the bundle names');
    expect(readdirSync(root())).toEqual([]);
  });

  it('accepts any agent when the package comes another way', () => {
    const bundle = sampleBundle({ package: { ...sampleBundle().package, pull: { mode: 'anonymous' } } });
    expect(install(script(bundle, 'another agent\n')).status).toBe(0);
  });

  it.each([
    [['--root'], '--root needs a folder', 1],
    [['--root', '/nowhere/at/all'], 'there is no folder /nowhere/at/all', 1],
    [['--force'], 'install-node-agent.sh [--dry-run] [--no-start] [--root DIR]', 2],
  ])('rejects %j', (args, said, status) => {
    const refused = run(script(), args);
    expect(refused.output).toContain(said);
    expect(refused.status).toBe(status);
  });

  it('does not write through an existing link', () => {
    const elsewhere = scratch('elsewhere');
    writeFileSync(elsewhere, 'untouched');
    mkdirSync(join(root(), 'etc/coldiron'), { recursive: true });
    symlinkSync(elsewhere, join(root(), ENV_FILE));
    symlinkSync(elsewhere, join(root(), `${ENV_FILE}.new`));
    install();
    expect(readFileSync(elsewhere, 'utf8')).toBe('untouched');
    expect(read(ENV_FILE)).toBe(bundleEnvironment(sampleBundle()));
  });

  it('installs any agent text byte by byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
        fc.pre(!text.includes('\0') && text.isWellFormed());
        rmSync(root(), { recursive: true });
        const bundle = sampleBundle({ package: { ...sampleBundle().package, pull: { mode: 'anonymous' } } });
        expect(install(script(bundle, text)).status).toBe(0);
        expect(read('opt/coldiron/node-agent/node-agent')).toBe(text);
      }),
      { numRuns: 15 },
    );
  });

  it('installs into the running system without systemd', () => {
    const file = scratch('install-node-agent.sh');
    writeFileSync(file, script());
    const inside = [
      'set -eu',
      'mount -t tmpfs none /etc',
      'mount -t tmpfs none /opt',
      'mkdir -p /run/systemd; mount -t tmpfs none /run/systemd',
      `sh ${file}`,
      `sh ${file}`,
      'test -x /opt/coldiron/node-agent/node-agent',
      'stat -c "%a %n" /etc/coldiron/node-agent.env',
    ].join('\n');
    const { status, stdout, stderr } = ask('unshare', ['--mount', 'sh', '-c', inside]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(stdout).toContain('the agent starts with the next boot\n');
    expect(stdout).toContain('nothing had to change\n');
    expect(stdout).toContain('600 /etc/coldiron/node-agent.env\n');
  });

  it('starts the agent where systemd runs, and restarts it after a change', () => {
    const file = scratch('install-node-agent.sh');
    const log = scratch('systemctl.log');
    writeFileSync(file, script());
    const inside = [
      'set -eu',
      'mount -t tmpfs none /etc',
      'mount -t tmpfs none /opt',
      'mkdir -p /run/systemd; mount -t tmpfs none /run/systemd; mkdir /run/systemd/system',
      'mkdir /opt/bin',
      `printf '#!/bin/sh\\necho "$@" >>${log}\\n' >/opt/bin/systemctl; chmod 755 /opt/bin/systemctl`,
      'PATH=/opt/bin:$PATH; export PATH',
      `sh ${file}; sh ${file}; sh ${file} --no-start`,
    ].join('\n');
    const { status, stderr } = ask('unshare', ['--mount', 'sh', '-c', inside]);
    expect(stderr).toBe('');
    expect(status).toBe(0);
    expect(readFileSync(log, 'utf8')).toBe(
      'daemon-reload\nrestart coldiron-node-agent.service\ndaemon-reload\nstart coldiron-node-agent.service\n',
    );
  });
});

/** Every file below a folder: mode, mtime and content. */
function snapshot(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const { mode, mtimeMs, ino } = statSync(file);
      return [file.slice(folder.length + 1), `${mode} ${mtimeMs} ${ino} ${readFileSync(file, 'utf8')}`];
    }),
  );
}
