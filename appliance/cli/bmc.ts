import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { ipv4FromNumber, ipv4ToNumber, parsePrefix } from '../domain/ipv4.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { readSecret, readSecretFile } from './read-secret.ts';
import { printJson, standardOutput, table } from './terminal.ts';

interface CredentialsOptions extends ConnectionOptions {
  readonly username: string;
  readonly passwordFile?: string;
  readonly keyFile?: string;
  readonly check: boolean;
}

export async function setCredentials(node: string, options: CredentialsOptions): Promise<void> {
  const { username, check } = options;
  const password = await readSecret(options.passwordFile, `password of ${username}`);
  const key = options.keyFile === undefined ? {} : { key: readSecretFile(options.keyFile, 'the BMC key') };
  const answer = await operate(await connect(options), 'setBmcCredentials', {
    params: { node },
    body: { username, password, ...key, check },
  });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  const found = answer.checked ? 'they let us in' : 'they were not tried';
  output.write(`The credentials of ${answer.node}'s BMC are in the vault; ${found}.\n`);
}

export async function rotate(node: string, options: ConnectionOptions): Promise<void> {
  const answer = await operate(await connect(options), 'rotateBmcPassword', { params: { node }, body: {} });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  if (answer.mode === 'recorder') return output.write(`${answer.node}: only written down; its site records.\n`);
  output.write(`${answer.username} of ${answer.node}'s BMC has a new password, which only the vault knows.\n`);
}

export async function forgetCertificate(node: string, options: ConnectionOptions): Promise<void> {
  const answer = await operate(await connect(options), 'forgetBmcCertificate', { params: { node } });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(`The next certificate that ${answer.node}'s BMC shows is the one to trust.\n`);
}

export async function listQuirks(options: ConnectionOptions): Promise<void> {
  const { quirks } = await operate(await connect(options), 'listBmcQuirks', {});
  const output = standardOutput();
  if (options.json) return printJson(output, quirks);
  if (quirks.length === 0) return output.write('No machine was made to boot from the network yet.\n');
  const rows = quirks.map((quirk) => [
    quirk.vendor,
    quirk.product,
    quirk.firmware,
    quirk.method,
    String(quirk.worked),
    String(quirk.ignored),
  ]);
  output.write(table(output, ['VENDOR', 'PRODUCT', 'FIRMWARE', 'METHOD', 'OBEYED', 'IGNORED'], rows));
}

/** Part by part, so that a large network shows how far it is. */
export async function scan(networks: readonly string[], options: ConnectionOptions): Promise<void> {
  const parts = networks.flatMap(partsOf);
  const connection = await connect(options);
  const output = standardOutput();
  const found: Answer<'scanForBmcs'>['found'] = [];
  for (const [at, part] of parts.entries()) {
    if (process.stderr.isTTY)
      process.stderr.write(`\r${at} of ${parts.length} parts, ${found.length} found; ${part} …`);
    const answer = await operate(connection, 'scanForBmcs', { body: { networks: [part] } });
    found.push(...answer.found);
  }
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[2K');
  if (options.json) return printJson(output, found);
  if (found.length === 0) return output.write(`No BMC answers in ${networks.join(', ')}.\n`);
  const rows = found.map(({ address, node, ipmi, redfish }) => [
    address,
    node ?? '-',
    ipmi === null ? '-' : ipmi.ipmi2 === false ? '1.5 only' : '2.0',
    redfish?.version ?? '-',
    [redfish?.vendor, redfish?.product].flatMap((word) => word ?? []).join(' '),
  ]);
  output.write(table(output, ['ADDRESS', 'NODE', 'IPMI', 'REDFISH', 'SAYS IT IS'], rows));
}

const PART_LENGTH = 24;
/** What the appliance looks through at once; a mistyped length must not keep it busy for days. */
const SHORTEST = 20;

function partsOf(text: string): string[] {
  const prefix = parsePrefix(text);
  if (!prefix.ok) throw new ColdironError('usage', prefix.reason);
  const { network, length } = prefix.value;
  if (length < SHORTEST) throw new ColdironError('usage', `${text} is more than a /${SHORTEST}: search it in parts`);
  if (length >= PART_LENGTH) return [text];
  const first = ipv4ToNumber(network);
  const count = 2 ** (PART_LENGTH - length);
  return Array.from({ length: count }, (_, at) => `${ipv4FromNumber(first + at * 256)}/${PART_LENGTH}`);
}
