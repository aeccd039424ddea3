// `coldiron bmc set-credentials`, `rotate` and `forget-certificate`: what the appliance needs to log in to BMCs.

import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { runOnMany } from './on-many.ts';
import { operate } from './operate.ts';
import { readSecret, readSecretFile } from './read-secret.ts';
import { printJson, standardOutput } from './terminal.ts';

interface AccessOptions extends ConnectionOptions, SelectionOptions {}

interface CredentialsOptions extends AccessOptions {
  readonly username: string;
  readonly passwordFile?: string;
  readonly keyFile?: string;
  readonly check: boolean;
}

/** The nodes are confirmed before the password is asked for. */
export async function setCredentials(names: readonly string[], options: CredentialsOptions): Promise<void> {
  const { username, check } = options;
  const connection = await connect(options);
  const nodes = await accessedNodes(connection, names, options, {
    verb: 'bmc set-credentials',
    replaces: 'replaces the BMC credentials in the vault',
  });
  if (nodes === null) return;
  const password = await readSecret(options.passwordFile, `password of ${username}`);
  const key = options.keyFile === undefined ? {} : { key: readSecretFile(options.keyFile, 'the BMC key') };
  await onBmcs(nodes, isAlone(names, options), options, {
    work: (node) =>
      operate(connection, 'setBmcCredentials', { params: { node }, body: { username, password, ...key, check } }),
    doing: 'set-credentials …',
    done: ({ checked }) => (checked ? 'stored; the login works' : 'stored, not tested'),
    sentence: ({ node, checked }) =>
      `The credentials of ${node}'s BMC are in the vault; ${checked ? 'the login works' : 'they were not tested'}.`,
  });
}

export async function rotate(names: readonly string[], options: AccessOptions): Promise<void> {
  const connection = await connect(options);
  const nodes = await accessedNodes(connection, names, options, {
    verb: 'bmc rotate',
    replaces: 'replaces the BMC password',
  });
  if (nodes === null) return;
  await onBmcs(nodes, isAlone(names, options), options, {
    work: (node) => operate(connection, 'rotateBmcPassword', { params: { node }, body: {} }),
    doing: 'rotate …',
    done: ({ mode, username }) => (mode === 'recorder' ? 'recorded only' : `${username} has a new password`),
    sentence: ({ mode, node, username }) =>
      mode === 'recorder'
        ? `${node}: recorded only, because the bmc_mode of its site is recorder.`
        : `The user ${username} of ${node}'s BMC has a new password. Only the vault stores it.`,
  });
}

export async function forgetCertificate(names: readonly string[], options: AccessOptions): Promise<void> {
  const connection = await connect(options);
  const nodes = await accessedNodes(connection, names, options, {
    verb: 'bmc forget-certificate',
    replaces: 'forgets the trusted BMC certificate',
  });
  if (nodes === null) return;
  await onBmcs(nodes, isAlone(names, options), options, {
    work: (node) => operate(connection, 'forgetBmcCertificate', { params: { node } }),
    doing: 'forget-certificate …',
    done: () => 'trusts the next certificate',
    sentence: ({ node }) => `The next certificate that ${node}'s BMC presents will be trusted.`,
  });
}

const isAlone = (names: readonly string[], options: SelectionOptions): boolean =>
  names.length === 1 && !isSelecting(options);

/** A single node that was named needs no confirmation. */
const accessedNodes = (
  connection: Connection,
  names: readonly string[],
  options: AccessOptions,
  { verb, replaces }: { readonly verb: string; readonly replaces: string },
): Promise<string[] | null> =>
  chosenNodes(connection, names, options, {
    verb,
    destroys: isAlone(names, options) ? null : replaces,
    needsBmc: true,
  });

/** One node that was named gets a sentence, or one JSON object. */
async function onBmcs<T extends object>(
  nodes: readonly string[],
  alone: boolean,
  options: AccessOptions,
  verb: {
    readonly work: (node: string) => Promise<T>;
    readonly doing: string;
    readonly done: (answer: T) => string;
    readonly sentence: (answer: T) => string;
  },
): Promise<void> {
  const [only] = nodes;
  if (!alone || only === undefined) return runOnMany(nodes, options, { ...verb, json: (answer) => answer });
  const answer = await verb.work(only);
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else output.write(`${verb.sentence(answer)}\n`);
}
