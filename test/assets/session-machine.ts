// A machine that runs the functions of the service OS under dash: with files that replace /sys and /dev, and with programs that record their
// arguments before they run.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished } from 'vitest';
import { needPackages } from '../interop/packages.ts';
import { FakeSession, type FakeSessionOptions } from './fake-session.ts';

const SCRIPTS = join(import.meta.dirname, '../../boot-assets/service-os');
const FILES = ['common', 'network', 'seal', 'tpm', 'media', 'session', 'facts', 'disks'];
const RECORDED = [
  ...['awk', 'base64', 'cat', 'curl', 'cut', 'head', 'jq', 'od', 'openssl', 'sed', 'sha256sum', 'tail', 'timeout'],
  ...['tpm2', 'tr', 'wc'],
];
const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  /** What it printed on its screen, which is also its log. */
  readonly screen: string;
}

export interface SessionMachine {
  /** A file of this machine. */
  file(path: string): string;
  put(path: string, content: string): void;
  /**
   * Runs shell lines with the functions of the service OS. `give_up` exits with 7, because a machine would wait for ever. `within`: a command that
   * runs the shell.
   */
  run(lines: string, environment?: Readonly<Record<string, string>>, within?: readonly string[]): Promise<Ran>;
  /** An appliance whose authority is in this machine's initrd. */
  session(options: FakeSessionOptions): Promise<FakeSession>;
  /** The programs that it ran, with their arguments. */
  calls(): string;
  /** Neither the secret nor a key made from it is in an argument of a process or on the screen. */
  expectNoSecretShown(session: FakeSession, ran: Ran): void;
}

export const openingLines = (session: FakeSession): string =>
  `session=${session.url()}\nstart_tpm\nstart_medium\nopen_session\ncat "$KEY"\n`;

export const bearer = ({ key }: FakeSession): string => `Authorization: Bearer ${key}\n`;

/** A new machine for each test of the file. */
export function useSessionMachine(packages: readonly string[] = []): SessionMachine {
  const top = mkdtempSync(join(tmpdir(), 'coldiron-session-'));
  let folder = top;
  const file = (path: string): string => join(folder, path);
  const put = (path: string, content: string): void => {
    mkdirSync(dirname(file(path)), { recursive: true });
    writeFileSync(file(path), content);
  };
  const calls = (): string => readFileSync(join(top, 'calls'), 'utf8');

  beforeAll(() => {
    needPackages(['curl', 'dash', 'jq', 'openssl', ...packages]);
    mkdirSync(join(top, 'bin'));
    for (const name of RECORDED) writeRecorder(join(top, 'bin', name), name, join(top, 'calls'));
  });
  afterAll(() => rmSync(top, { recursive: true, force: true }));
  beforeEach(() => {
    folder = mkdtempSync(join(top, 'machine-'));
    writeFileSync(join(top, 'calls'), '');
    for (const name of ['run', 'dev', 'sys']) mkdirSync(file(name));
    put('run/log', '');
    put('sys/class/net/eth0/address', '52:54:00:AB:CD:EF\n');
    put('sys/class/net/eth0/device/vendor', '');
    put('sys/class/net/lo/address', '00:00:00:00:00:00\n');
  });

  return {
    ...{ file, put, calls },
    async run(lines, environment = {}, within = []) {
      const sources = FILES.map((name) => `. ${SCRIPTS}/${name}.sh`).join('\n');
      const stop = 'give_up() { say "STOPPED: $1"; exit 7; }';
      const env = {
        ...{ PATH: `${join(top, 'bin')}:${SYSTEM_PATH}`, LC_ALL: 'C', LIB: SCRIPTS, CONSOLE: '/dev/null' },
        ...{ RUN: file('run'), SYS: file('sys'), DEV: file('dev'), AUTHORITY: file('authority.pem') },
        ...{ DELIVERY_SECONDS: '0', ...environment },
      };
      const ended = await runShell(`${sources}\n${stop}\ncard=eth0\n${lines}`, env, within);
      expect(ended.stderr).toBe('');
      return { status: ended.status, stdout: ended.stdout, screen: readFileSync(file('run/log'), 'utf8') };
    },
    async session(options) {
      const opened = new FakeSession(options);
      await opened.listen();
      onTestFinished(() => opened.close());
      if (options.authority) put('authority.pem', options.authority.pem);
      return opened;
    },
    expectNoSecretShown({ secret, key }, { screen }) {
      const s = secret.toString('hex');
      const derived = ['session', 'encrypt user-data', 'authenticate user-data'].map((use) =>
        createHash('sha256').update(`coldiron ${use} ${s}`).digest('hex'),
      );
      expect(calls()).toContain('curl ');
      for (const shown of [calls(), screen])
        for (const hidden of [s, key, ...derived]) expect(shown).not.toContain(hidden);
    },
  };
}

/** Ends with the shell, although a program in the background may still run: it is killed with the shell's process group. */
async function runShell(
  script: string,
  env: Readonly<Record<string, string>>,
  within: readonly string[],
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const [program = 'dash', ...args] = [...within, 'dash', '-u', '-c', script];
  const shell = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = Promise.all([text(shell.stdout), text(shell.stderr)]);
  const [status] = (await once(shell, 'exit')) as [number | null];
  try {
    process.kill(-(shell.pid ?? Number.NaN), 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
  const [stdout, stderr] = await output;
  return { status, stdout, stderr };
}

function writeRecorder(file: string, name: string, calls: string): void {
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "${name} $*" >> ${calls}\nPATH=${SYSTEM_PATH} exec ${name} "$@"\n`);
  chmodSync(file, 0o755);
}
