// `coldiron nodes list`, `show` and `add`.

import type { Answer } from '../contract/wire.ts';
import { CABLE_WORDS } from './cabling.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { type Found, factsTable } from './facts-table.ts';
import { switchOf } from './import-nodes.ts';
import { type FilterOptions, nodesMatching, type SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { cell, type Output, printable, printJson, standardOutput, styled, table } from './terminal.ts';

type NodeAnswer = Answer<'getNode'>;

interface NodeDetails extends NodeAnswer, Omit<Answer<'getNodePresence'>, 'node'> {
  /** What its last inspection found; null: it was never inspected. */
  readonly found: Answer<'listNodeFacts'>['facts'][number] | null;
  readonly cables: Answer<'getNodeCabling'>['cables'];
}

export async function listNodes(options: ConnectionOptions & FilterOptions): Promise<void> {
  const nodes = await nodesMatching(await connect(options), options);
  const output = standardOutput();
  if (options.json) return printJson(output, nodes);
  if (nodes.length === 0) return output.write(noNodes(options));
  const rows = nodes.map((node) => {
    const nic = node.interfaces[0];
    return [
      node.hostname,
      stateText(node),
      node.health,
      node.identity.level,
      nic?.mac ?? '-',
      nic?.address ?? '-',
      node.profile ?? '-',
      node.source,
    ];
  });
  output.write(table(output, ['NAME', 'STATE', 'HEALTH', 'IDENTITY', 'MAC', 'ADDRESS', 'PROFILE', 'SOURCE'], rows));
}

/** An empty fleet and a filter that nothing matches need different advice. */
function noNodes({ match, in: state, site, rack, label = [], cluster }: FilterOptions): string {
  const conditions = [
    ...(match === undefined ? [] : [`matches ${printable(match)}`]),
    ...(state === undefined ? [] : [`is in state ${state}`]),
    ...(site === undefined ? [] : [`is at site ${printable(site)}`]),
    ...(rack === undefined ? [] : [`is in rack ${printable(rack)}`]),
    ...label.map((each) => `has the label ${printable(each)}`),
    ...(cluster === undefined ? [] : [`is in cluster ${printable(cluster)}`]),
  ];
  return conditions.length === 0
    ? 'No nodes. Declare some: coldiron apply inventory/example.yaml\n'
    : `No node ${conditions.join(' and ')}. List all: coldiron nodes list\n`;
}

/** A quarantined or retired node may have failed before: its state takes precedence. */
const stateText = ({ state, failure }: NodeAnswer): string =>
  state === 'failed' && failure ? `failed(${failure.step})` : state;

export async function showNodes(
  names: readonly string[],
  options: ConnectionOptions & SelectionOptions,
): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'nodes show',
    read: (node) => nodeDetails(connection, node),
    print: printNode,
  });
}

async function nodeDetails(connection: Connection, node: string): Promise<NodeDetails> {
  const answer = await operate(connection, 'getNode', { params: { node } });
  // Uses the id from here on: the name may move to another node.
  const params = { node: answer.id };
  const { node: _name, ...presence } = await operate(connection, 'getNodePresence', { params });
  const { facts } = await operate(connection, 'listNodeFacts', { params });
  const { cables } = await operate(connection, 'getNodeCabling', { params });
  return { ...answer, ...presence, found: facts[0] ?? null, cables };
}

interface AddOptions extends ConnectionOptions {
  readonly mac: string;
  readonly network: string;
  readonly sku: string;
  readonly profile?: string;
  readonly address?: string;
  readonly interface: string;
  readonly switch?: string;
  readonly switchPort?: string;
  readonly uuid?: string;
  readonly bmc?: string;
  readonly bmcDriver: string;
  readonly bmcUsername?: string;
  readonly bmcPasswordFile?: string;
}

export async function addNode(name: string, options: AddOptions): Promise<void> {
  const { mac, network, sku, profile, address, uuid, bmc, bmcDriver, bmcUsername, bmcPasswordFile } = options;
  // Undefined members are not sent.
  const body = {
    name,
    sku,
    profile,
    uuid,
    interfaces: [
      { name: options.interface, mac, network, address, switch: switchOf(options.switch, options.switchPort) },
    ],
    bmc:
      bmc === undefined
        ? undefined
        : { address: bmc, driver: bmcDriver, username: bmcUsername, password_file: bmcPasswordFile },
  };
  const answer = await operate(await connect(options), 'createNode', { body });
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else output.write(`Added ${answer.hostname} as ${answer.state}. ${answer.waits_for}\n`);
}

type Erasure = NonNullable<NodeAnswer['erasure']>;

function erasureWords({ at, session, identity, disks }: Erasure): string {
  const each = disks.map(
    ({ name, serial, method }) => `${name}${serial === null ? '' : ` (serial ${serial})`} ${method}`,
  );
  return `${at} in session ${session}, identity ${identity ?? 'not recorded'}: ${each.join(', ')}`;
}

const RESULT_WORDS = {
  empty: 'hold only zeros',
  'not-empty': 'hold DATA',
  incomplete: 'were read, and hold only zeros',
} as const satisfies Record<NonNullable<Erasure['check']>['result'], string>;

function checkWords({ check, overwritten_at }: Erasure): string {
  if (check === null) {
    return overwritten_at === null ? 'not yet: its next session reads samples' : 'no: the disks were used before';
  }
  const { at, session, mode, identity, bytes, result, problems } = check;
  const who = `${at} in ${mode} session ${session}, identity ${identity ?? 'not recorded'}`;
  return [`${who}: ${bytes} bytes in samples ${RESULT_WORDS[result]}`, ...problems].join('; ');
}

const agentWords = ({ settings, version, problem }: NonNullable<NodeDetails['agent']>): string =>
  `settings ${settings}${problem === null ? '' : ` (${problem})`}, version ${version}`;

const clockWords = (seconds: number): string =>
  Math.abs(seconds) <= 1 ? 'right' : `${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead'}`;

function systemLines({ units, more_units: more, cloud_init: end }: NonNullable<NodeDetails['system']>): string[] {
  return [
    ...(units.length === 0 ? ['no unit has failed'] : []),
    ...units.flatMap(({ unit, result, lines }) => [`FAILED ${unit} (${result})`, ...lines.map((text) => `  ${text}`)]),
    ...(more === 0 ? [] : [`${more} more units failed`]),
    ...(end === null ? [] : [`cloud-init: ${end.status}`]),
    ...(end?.errors ?? []).map((text) => `  error: ${text}`),
    ...(end?.warnings ?? []).map((text) => `  warning: ${text}`),
  ];
}

/** Null: no port is declared. */
function cableWords(cable: NodeDetails['cables'][number] | undefined): string | null {
  if (!cable?.declared) return null;
  return `cable ${CABLE_WORDS[cable.verdict]}: belongs at ${cable.declared.name} ${cable.declared.port}; ${cable.summary}`;
}

function printNode(output: Output, node: NodeDetails): void {
  const line = (label: string, text: string | null): void => {
    if (text !== null) output.write(`${styled(output, 'grey', cell(label).padEnd(12))}${cell(text)}\n`);
  };
  line('node', `${node.hostname} (${node.id})`);
  line('state', `${node.state} since ${node.since}${node.deadline ? `, until ${node.deadline} at the latest` : ''}`);
  line('failed at', node.failure && `${node.failure.step}: ${node.failure.reason}`);
  line('note', node.note);
  line('waits for', node.waits_for);
  line('next step', node.next_step);
  line('health', node.health);
  line('last seen', node.last_seen ?? 'never');
  line('contact', node.contact_at && `last connected to the node API at ${node.contact_at}`);
  line('clock', node.clock_offset === null ? null : clockWords(node.clock_offset));
  line('agent', node.agent && agentWords(node.agent));
  if (node.system !== null) for (const words of systemLines(node.system)) line('system', words);
  line('site', node.site);
  line('sku', node.sku);
  line('profile', node.profile);
  line('cluster', node.cluster);
  line('uuid', node.uuid);
  line('serial', node.serial);
  line('identity', node.identity.summary);
  line(
    'pending',
    node.identity.pending && `${node.identity.pending}; accept it: coldiron nodes rebind ${node.hostname}`,
  );
  line('erased', node.erasure && erasureWords(node.erasure));
  line('verified', node.erasure && checkWords(node.erasure));
  line('MAAS', node.maas_system_id);
  line('NOT ERASED', node.not_erased && `since ${node.not_erased.at}: ${printable(node.not_erased.reason)}`);
  for (const nic of node.interfaces) {
    line(nic.name, [nic.mac ?? 'no MAC', nic.address ?? 'address from the pool', `on ${nic.network}`].join(', '));
    line('', cableWords(node.cables.find((cable) => cable.interface === nic.name)));
  }
  for (const { address, mac, network, held, expires_at } of node.leases) {
    line('lease', `${address} for ${mac} on ${network}, ${held ? `until ${expires_at}` : 'expired or released'}`);
  }
  line('bmc', node.bmc && `${node.bmc.address} over ${node.bmc.driver}`);
  const labels = Object.entries(node.labels).map(([key, value]) => `${key}=${value}`);
  line('labels', labels.length === 0 ? null : labels.join(' '));
  line('declared by', node.source);
  if (node.found) output.write(factsTable(output, node.found as Found));
}
