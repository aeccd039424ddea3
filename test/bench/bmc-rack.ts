// Simulated BMCs for the benchmark, each at its own loopback address, in a separate process.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PER_NETWORK = 250;

/** 127.1.0.1 to 127.1.0.250, 127.1.1.1 and so on. */
export const bmcAddress = (index: number): string =>
  `127.1.${Math.floor(index / PER_NETWORK)}.${1 + (index % PER_NETWORK)}`;

export const bmcAddresses = (count: number): string[] => Array.from({ length: count }, (_, index) => bmcAddress(index));

/** The same addresses in FreeIPMI's notation. */
export const bmcHostRange = (count: number): string =>
  Array.from({ length: Math.ceil(count / PER_NETWORK) }, (_, network) => {
    const last = Math.min(PER_NETWORK, count - network * PER_NETWORK);
    return `127.1.${network}.[1-${last}]`;
  }).join(',');

/** Runs until `work` ends. `bytesPerSecond`: what each machine says on its console. */
export async function withSimulators<Result>(
  count: number,
  suite: number,
  work: () => Promise<Result>,
  bytesPerSecond = 0,
): Promise<Result> {
  const program = fileURLToPath(import.meta.resolve('./bmc-simulators.ts'));
  const child: ChildProcess = spawn(process.execPath, [program, ...[count, suite, bytesPerSecond].map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    const ready = child.stdout ? once(child.stdout, 'data') : exited;
    const [said] = await Promise.race([ready, exited]);
    if (String(said).trim() !== 'ready') throw new Error('the simulated BMCs did not start; is port 623 in use?');
    return await work();
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}
