import { join, resolve } from 'node:path';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';
import { createFolder, issuedTo } from './secret-file.ts';
import { printJson, standardOutput } from './terminal.ts';

interface TokenOptions extends ConnectionOptions, SelectionOptions {
  readonly output?: string;
  readonly format: string;
  readonly show?: boolean;
}

type IssuedBundle = Answer<'issueEnrollmentBundle'>;

const FORMATS = {
  script: {
    file: (node: string) => `install-node-agent-${node}.sh`,
    mode: 0o700,
    text: (issued: IssuedBundle) => issued.install_script,
  },
  env: {
    file: (node: string) => `node-agent-${node}.env`,
    mode: 0o600,
    text: (issued: IssuedBundle) => issued.environment,
  },
  json: {
    file: (node: string) => `bootstrap-bundle-${node}.json`,
    mode: 0o600,
    text: (issued: IssuedBundle) => `${JSON.stringify(issued.bootstrap_bundle, null, 2)}\n`,
  },
} as const;
type Format = (typeof FORMATS)[keyof typeof FORMATS];

/** Writes the tokens to files that only their owner can read, or prints one with --show. */
export async function issueBundles(names: readonly string[], reissue: boolean, options: TokenOptions): Promise<void> {
  const format = Object.entries(FORMATS).find(([name]) => name === options.format)?.[1];
  if (!format) throw new ColdironError('usage', `--format is one of ${Object.keys(FORMATS).join(', ')}`);
  const alone = names.length === 1 && !isSelecting(options);
  if (options.show && !alone) throw new ColdironError('usage', '--show prints the bundle of one node: name that node');
  const connection = await connect(options);
  const undertaking = {
    verb: reissue ? 'token reissue' : 'token issue',
    destroys: reissue && !alone ? 'revokes the previous bundle' : null,
  };
  const nodes = alone && !options.dryRun ? names : await chosenNodes(connection, names, options, undertaking);
  if (nodes === null) return;
  const issue = (node: string, file: string | null): Promise<IssuedBundle> =>
    issuedTo(file, format, () => operate(connection, 'issueEnrollmentBundle', { params: { node }, body: { reissue } }));
  const [only] = nodes;
  if (alone && only !== undefined) return issueOne(only, format, options, issue);
  const folder = resolve(options.output ?? '.');
  await createFolder(folder);
  const fileOf = (node: string): string => join(folder, format.file(node));
  await runOnMany(nodes, options, {
    work: (node) => issue(node, fileOf(node)),
    doing: `${undertaking.verb} …`,
    done: ({ node, expires_at }) => `${fileOf(node)}, until ${expires_at}`,
    json: (issued) => publicPart(issued, fileOf(issued.node)),
  });
}

async function issueOne(
  node: string,
  format: Format,
  options: TokenOptions,
  issue: (node: string, file: string | null) => Promise<IssuedBundle>,
): Promise<void> {
  const output = standardOutput();
  const file = options.show ? null : resolve(options.output ?? format.file(node.replace(/[^\w.-]/g, '-')));
  const issued = await issue(node, file);
  if (file === null) return output.write(format.text(issued));
  if (options.json) return printJson(output, publicPart(issued, file));
  const { node: hostname, expires_at, replaced } = issued;
  output.write(`${file} contains the bundle of ${hostname}. It works once, for that node, until ${expires_at}.\n`);
  if (replaced !== null) output.write('The previous bundle is revoked.\n');
}

/** Without the token. */
const publicPart = ({ node, node_id, bundle_id, expires_at, replaced }: IssuedBundle, file: string) => ({
  node,
  node_id,
  bundle_id,
  expires_at,
  replaced,
  file,
});
