import { join, resolve } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';
import { createFolder, issuedTo } from './secret-file.ts';
import { printJson, standardOutput } from './terminal.ts';

interface RecoveryOptions extends ConnectionOptions, SelectionOptions {
  readonly output?: string;
  readonly show?: boolean;
}

/** Without the secret, except for `text`. */
interface Issued {
  readonly node: string;
  readonly node_id: string;
  readonly bundle_id: string;
  readonly expires_at: string;
  readonly replaced: string | null;
  readonly usable: string;
  readonly text: string;
}

interface Form {
  readonly verb: string;
  readonly file: (node: string) => string;
  readonly todo: string;
  readonly issue: (connection: Connection, node: string) => Promise<Issued>;
}

const FORMS = {
  command: {
    verb: 'agent recover',
    file: (node) => `restart-node-agent-${node}.sh`,
    todo: 'Run it on the node as root: it repairs the files of the agent and restarts it.',
    issue: async (connection, node) => {
      const { recovery_bundle: bundle, ...rest } = await operate(connection, 'reissueEnrollment', { params: { node } });
      return { ...rest, text: bundle.restart_command };
    },
  },
  script: {
    verb: 'agent script',
    file: (node) => `install-node-agent-${node}.sh`,
    todo: 'Run it on the node as root: it installs the agent again.',
    issue: async (connection, node) => {
      const { bootstrap_script: text, ...rest } = await operate(connection, 'issueBootstrapScript', {
        params: { node },
      });
      return { ...rest, text };
    },
  },
} as const satisfies Readonly<Record<string, Form>>;

const MODE = 0o700;

export async function recoverAgents(
  names: readonly string[],
  kind: keyof typeof FORMS,
  options: RecoveryOptions,
): Promise<void> {
  const form: Form = FORMS[kind];
  const alone = names.length === 1 && !isSelecting(options);
  if (options.show && !alone) throw new ColdironError('usage', '--show prints the secret of one node: name that node');
  const connection = await connect(options);
  const undertaking = { verb: form.verb, destroys: alone ? null : 'revokes the previous token' };
  const nodes = alone && !options.dryRun ? names : await chosenNodes(connection, names, options, undertaking);
  if (nodes === null) return;
  const issue = (node: string, file: string | null): Promise<Issued> =>
    issuedTo(file, { mode: MODE, text: ({ text }: Issued) => text }, () => form.issue(connection, node));
  const [only] = nodes;
  if (alone && only !== undefined) return recoverOne(only, form, options, issue);
  const folder = resolve(options.output ?? '.');
  await createFolder(folder);
  const fileOf = (node: string): string => join(folder, form.file(node));
  await runOnMany(nodes, options, {
    work: (node) => issue(node, fileOf(node)),
    doing: `${form.verb} …`,
    done: ({ node, expires_at }) => `${fileOf(node)}, until ${expires_at}`,
    json: (issued) => publicPart(issued, fileOf(issued.node)),
  });
}

async function recoverOne(
  node: string,
  { file: nameOf, todo }: Form,
  options: RecoveryOptions,
  issue: (node: string, file: string | null) => Promise<Issued>,
): Promise<void> {
  const output = standardOutput();
  const file = options.show ? null : resolve(options.output ?? nameOf(node.replace(/[^\w.-]/g, '-')));
  const issued = await issue(node, file);
  if (file === null) return output.write(issued.text);
  if (options.json) return printJson(output, publicPart(issued, file));
  output.write(`${file} contains a token for ${issued.node}, which works once, until ${issued.expires_at}. ${todo}\n`);
  if (issued.usable !== 'now')
    output.write(`The node can use it after its quarantine is cleared: coldiron clear-quarantine ${issued.node}\n`);
}

const publicPart = ({ text: _secret, ...issued }: Issued, file: string) => ({ ...issued, file });
