// One fetch before the measurement: checks that the server is up, and that it sends the file.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import type { RackNetwork } from '../../appliance/lab/rack/network.ts';

const exec = promisify(execFile);
const UP_WITHIN_MS = 20_000;

/** Retries until the server is up; rejects when it does not start, or sends something else. */
export async function provesItself(client: RackNetwork, url: string, file: Uint8Array): Promise<void> {
  const [command, ...args] = client.command('curl', '-sSf', '--tftp-blksize', '1468', '--max-time', '10', url);
  const options = { encoding: 'buffer', maxBuffer: file.length + 1 } as const;
  for (const deadline = performance.now() + UP_WITHIN_MS; ; ) {
    try {
      const { stdout } = await exec(command, args, options);
      if (sha256(stdout) !== sha256(file)) throw new Error(`${url} is not the file that was put there`);
      return;
    } catch (error) {
      // curl's own exit status; our error above has none.
      const stillStarting = typeof (error as { code?: unknown }).code === 'number';
      if (!stillStarting || performance.now() > deadline) throw error;
    }
  }
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
