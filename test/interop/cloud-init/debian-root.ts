// A small Debian system with the programs that read our renderings: cloud-init, netplan, systemd, libnm, Ignition. It is
// built once with mmdebstrap and cached; programs run in it in namespaces, on an overlay, and never on the host: they are not
// even installed there, where cloud-init would configure the host at its next boot.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Finished, Running } from '../namespaces.ts';
import { needPackages } from '../packages.ts';

const PACKAGES = [
  ...['systemd-sysv', 'udev', 'systemd-timesyncd', 'iproute2', 'openssh-server', 'sudo', 'locales'],
  ...['cloud-init', 'netplan.io', 'ignition', 'gir1.2-nm-1.0', 'python3-gi', 'curl', 'wget'],
];
/** The host's own release, from the host's package source. */
const RELEASE = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';
const SOURCES = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];
const LEFT_OUT = ['doc', 'man', 'locale/*/LC_MESSAGES'].map((folder) => `path-exclude=/usr/share/${folder}/*`);

export interface Ran extends Finished {
  /** A file that was written, as text. */
  readonly read: (path: string) => string;
  readonly has: (path: string) => boolean;
}

export class DebianRoot {
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  /** Takes a minute or two the first time; concurrent callers wait for it. */
  static async prepare(): Promise<DebianRoot> {
    if (process.getuid?.() !== 0)
      throw new Error('this test runs programs in a system of its own, and that needs root');
    needPackages(['mmdebstrap']);
    const sources = SOURCES.filter((file) => existsSync(file) && statSync(file).size > 0);
    const rules = LEFT_OUT.map((rule) => `--dpkgopt=${rule}`);
    const options = ['--variant=minbase', '--mode=root', `--include=${PACKAGES.join(',')}`, ...rules];
    const recipe = createHash('sha256')
      .update(JSON.stringify([RELEASE, options, sources]))
      .digest('hex');
    const cache = join(tmpdir(), `coldiron-debian-${userInfo().uid}`);
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    const place = join(cache, recipe.slice(0, 16));
    if (!existsSync(place)) process.stderr.write('Making a small Debian system for this test (once)\n');
    const making =
      'sh "$1" "$(dirname "$0")" && shift && { test -e "$0" || { mmdebstrap "$@" && mv "$0.new" "$0"; }; }';
    const made = await run('flock', [
      join(cache, 'lock'),
      'sh',
      '-c',
      making,
      place,
      join(import.meta.dirname, 'remove-interrupted.sh'),
      ...options,
      RELEASE,
      `${place}.new`,
      ...sources,
    ]);
    if (made.status !== 0) throw new Error(`mmdebstrap: ${made.output}`);
    return new DebianRoot(place);
  }

  /** Its folder, which must not be changed. */
  get path(): string {
    return this.#root;
  }

  /** `given`: files by their path in the system; those that start with #! are executable. */
  async run(program: string, given: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-in-root-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [files, changed] = ['given', 'changed'].map((name) => join(folder, name)) as [string, string];
    for (const name of [files, changed]) mkdirSync(name);
    for (const [path, text] of Object.entries(given)) {
      const file = join(files, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
    }
    const script = join(import.meta.dirname, 'in-root.sh');
    const isolated = ['--mount', '--net', '--uts', '--ipc', '--pid', '--fork', '--kill-child'];
    const finished = await run('unshare', [...isolated, 'sh', script, this.#root, files, changed, program]);
    return {
      ...finished,
      read: (path) => readFileSync(join(changed, path), 'utf8'),
      has: (path) => existsSync(join(changed, path)),
    };
  }
}

const run = (program: string, args: readonly string[]): Promise<Finished> =>
  new Running(
    spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8' },
    }),
  ).finished();
