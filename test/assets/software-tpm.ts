// A TPM 2.0 that tests can talk to, and change: swtpm on loopback ports.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../free-port.ts';

export interface SoftwareTpm {
  /** As tpm2-tools name it. */
  readonly interface: string;
  /** Runs a tool of tpm2-tools; returns what it prints. */
  tpm2(...args: readonly string[]): string;
}

/** It ends with the test. */
export async function startSoftwareTpm(): Promise<SoftwareTpm> {
  const port = await portPair();
  const state = mkdtempSync(join(tmpdir(), 'coldiron-tpm-'));
  const place = (at: number): string => `type=tcp,port=${at},bindaddr=127.0.0.1`;
  const child = spawn(
    'swtpm',
    [
      ...['socket', '--tpm2', '--tpmstate', `dir=${state}`, '--flags', 'not-need-init,startup-clear'],
      ...['--server', place(port), '--ctrl', place(port + 1)],
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(state, { recursive: true, force: true });
  });
  await expect.poll(() => accepts(port + 1), { timeout: 30_000 }).toBe(true);
  const name = `swtpm:host=127.0.0.1,port=${port}`;
  return {
    interface: name,
    tpm2: (...args) => {
      const options = { encoding: 'utf8', env: { PATH: process.env.PATH, TPM2TOOLS_TCTI: name } } as const;
      const { status, stdout, stderr } = spawnSync('tpm2', args, options);
      if (status !== 0) throw new Error(`tpm2 ${args.join(' ')}: ${stderr}`);
      return stdout;
    },
  };
}

/** tpm2-tools look for the control channel at the next port. */
async function portPair(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if ((await freePort()) === port + 1) return port;
  }
}

/** The control channel: swtpm serves one client at a time, and the other channel is for the tools. */
async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
