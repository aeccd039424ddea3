// Runs system programs that the rack needs to completion.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ColdironError } from '../../domain/errors.ts';

const exec = promisify(execFile);

/** Returns standard output. `service_unavailable` with the program's error output when it fails. */
export async function runCommand(command: string, ...args: readonly string[]): Promise<string> {
  try {
    return (await exec(command, args, { env: { ...process.env, LC_ALL: 'C' } })).stdout;
  } catch (error) {
    const { code, stderr, message } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === 'ENOENT')
      throw new ColdironError('service_unavailable', `the virtual rack needs the program ${command}`);
    throw new ColdironError('service_unavailable', `${command} ${args.join(' ')}: ${stderr?.trim() || message}`);
  }
}
