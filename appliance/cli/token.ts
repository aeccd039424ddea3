import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput } from './terminal.ts';

interface TokenOptions extends ConnectionOptions {
  readonly output?: string;
  readonly format: string;
  readonly show?: boolean;
}

type Handed = Answer<'issueEnrollmentBundle'>;

const FORMATS = {
  script: {
    file: (node: string) => `install-node-agent-${node}.sh`,
    mode: 0o700,
    text: (h: Handed) => h.install_script,
  },
  env: { file: (node: string) => `node-agent-${node}.env`, mode: 0o600, text: (h: Handed) => h.environment },
  json: {
    file: (node: string) => `bootstrap-bundle-${node}.json`,
    mode: 0o600,
    text: (h: Handed) => `${JSON.stringify(h.bootstrap_bundle, null, 2)}\n`,
  },
} as const;

/** The token is in a file that only its owner can read, or, when that was asked for, on the screen. */
export async function handOver(node: string, reissue: boolean, options: TokenOptions): Promise<void> {
  const format = Object.entries(FORMATS).find(([name]) => name === options.format)?.[1];
  if (!format) throw new ColdironError('usage', `--format is one of ${Object.keys(FORMATS).join(', ')}`);
  const output = standardOutput();
  const connection = await connect(options);
  // The file comes first: a bundle that cannot be written down must not be handed over.
  const file = options.show ? null : resolve(options.output ?? format.file(node.replace(/[^\w.-]/g, '-')));
  const draft = `${file}.new`;
  const handle = file === null ? null : await createPrivately(draft, format.mode);
  try {
    const handed = await operate(connection, 'issueEnrollmentBundle', { params: { node }, body: { reissue } });
    if (handle === null || file === null) return output.write(format.text(handed));
    await handle.writeFile(format.text(handed));
    await handle.sync();
    await rename(draft, file);
    const { node: hostname, node_id, bundle_id, expires_at, replaced } = handed;
    if (options.json) return printJson(output, { node: hostname, node_id, bundle_id, expires_at, replaced, file });
    output.write(`${file} holds the bundle of ${hostname}: good once, for that node, until ${expires_at}.\n`);
    if (replaced !== null) output.write('The bundle of before is worth nothing any more.\n');
  } catch (error) {
    if (file !== null) await rm(draft, { force: true });
    throw error;
  } finally {
    await handle?.close();
  }
}

async function createPrivately(file: string, mode: number) {
  try {
    const handle = await open(file, 'w', mode);
    await handle.chmod(mode);
    return handle;
  } catch (error) {
    throw new ColdironError('usage', `cannot write ${file}: ${(error as Error).message}`);
  }
}
