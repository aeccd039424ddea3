// `coldiron bmc quirks` and `scan`.

import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { ipv4FromNumber, ipv4ToNumber, parsePrefix } from '../domain/ipv4.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

export async function listQuirks(options: ConnectionOptions): Promise<void> {
  const { quirks } = await operate(await connect(options), 'listBmcQuirks', {});
  const output = standardOutput();
  if (options.json) return printJson(output, quirks);
  if (quirks.length === 0) return output.write('No network boot was set through a BMC yet.\n');
  const rows = quirks.map((quirk) => [
    quirk.vendor,
    quirk.product,
    quirk.firmware,
    quirk.method,
    String(quirk.worked),
    String(quirk.ignored),
  ]);
  output.write(table(output, ['VENDOR', 'PRODUCT', 'FIRMWARE', 'METHOD', 'WORKED', 'IGNORED'], rows));
}

/** Scans one /24 at a time, so that a large network shows progress. */
export async function scan(networks: readonly string[], options: ConnectionOptions): Promise<void> {
  const parts = networks.flatMap(partsOf);
  const connection = await connect(options);
  const output = standardOutput();
  const found: Answer<'scanForBmcs'>['found'] = [];
  for (const [at, part] of parts.entries()) {
    if (process.stderr.isTTY)
      process.stderr.write(`\r${at} of ${parts.length} subnets, ${found.length} found; ${part} …`);
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
  output.write(table(output, ['ADDRESS', 'NODE', 'IPMI', 'REDFISH', 'MODEL'], rows));
}

const PART_LENGTH = 24;
/** The largest network of one scan; a mistyped prefix length must not keep the appliance busy for days. */
const SHORTEST = 20;

function partsOf(text: string): string[] {
  const prefix = parsePrefix(text);
  if (!prefix.ok) throw new ColdironError('usage', prefix.reason);
  const { network, length } = prefix.value;
  if (length < SHORTEST)
    throw new ColdironError('usage', `${text} is larger than a /${SHORTEST}: scan it as several smaller networks`);
  if (length >= PART_LENGTH) return [text];
  const first = ipv4ToNumber(network);
  const count = 2 ** (PART_LENGTH - length);
  return Array.from({ length: count }, (_, at) => `${ipv4FromNumber(first + at * 256)}/${PART_LENGTH}`);
}
