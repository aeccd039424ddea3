import type { LifecycleState } from '../domain/lifecycle.ts';
import { confirmed } from './confirmed.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { type FactsAnswer, factsTable } from './facts-table.ts';
import { type Output, printable, printJson, standardOutput, styled, table } from './terminal.ts';

export interface NodeAnswer {
  readonly id: string;
  readonly hostname: string;
  readonly state: LifecycleState;
  readonly since: string;
  readonly deadline: string | null;
  readonly failure: { readonly step: string; readonly reason: string } | null;
  readonly note: string | null;
  readonly waits_for: string;
  readonly next_step: string;
  readonly health: string;
  readonly sku: string | null;
  readonly profile: string | null;
  readonly cluster: string | null;
  readonly uuid: string | null;
  readonly interfaces: readonly {
    readonly name: string;
    readonly mac: string | null;
    readonly network: string;
    readonly address: string | null;
  }[];
  readonly bmc: { readonly address: string; readonly driver: string } | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly source: string;
}

interface NodePage {
  readonly nodes: readonly NodeAnswer[];
  readonly next: string | null;
}

const PAGE = '1000';

/** All pages of those that match. */
export async function nodesMatching(
  connection: Connection,
  query: { readonly state?: string | undefined; readonly q?: string | undefined } = {},
): Promise<NodeAnswer[]> {
  const nodes: NodeAnswer[] = [];
  let after: string | undefined;
  do {
    const page = await connection.get<NodePage>('/api/v1/nodes', { ...query, limit: PAGE, after });
    nodes.push(...page.nodes);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return nodes;
}

export async function listNodes(
  options: ConnectionOptions & { readonly in?: LifecycleState; readonly match?: string },
): Promise<void> {
  const nodes = await nodesMatching(await connect(options), { state: options.in, q: options.match });
  const output = standardOutput();
  if (options.json) return printJson(output, nodes);
  if (nodes.length === 0) return output.write(noNodes(options));
  const rows = nodes.map((node) => {
    const nic = node.interfaces[0];
    const state = node.failure ? `failed(${node.failure.step})` : node.state;
    return [node.hostname, state, node.health, nic?.mac ?? '-', nic?.address ?? '-', node.profile ?? '-', node.source];
  });
  output.write(table(output, ['NAME', 'STATE', 'HEALTH', 'MAC', 'ADDRESS', 'PROFILE', 'SOURCE'], rows));
}

/** An empty fleet and a filter that nothing matches need different advice. */
function noNodes(filter: { readonly in?: LifecycleState; readonly match?: string }): string {
  const asked = [
    ...(filter.match === undefined ? [] : [`matches ${printable(filter.match)}`]),
    ...(filter.in === undefined ? [] : [`is ${filter.in}`]),
  ];
  return asked.length === 0
    ? 'No nodes. Declare some: coldiron apply inventory/example.yaml\n'
    : `No node ${asked.join(' and ')}. List all: coldiron nodes list\n`;
}

export async function showNode(node: string, options: ConnectionOptions): Promise<void> {
  const connection = await connect(options);
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const answer = await connection.get<NodeAnswer>(path);
  const { facts } = await connection.get<FactsAnswer>(`${path}/facts`);
  const output = standardOutput();
  if (options.json) return printJson(output, { ...answer, found: facts[0] ?? null });
  printNode(output, answer);
  if (facts[0]) output.write(factsTable(output, facts[0]));
}

interface AddOptions extends ConnectionOptions {
  readonly mac: string;
  readonly network: string;
  readonly sku: string;
  readonly profile?: string;
  readonly address?: string;
  readonly interface: string;
  readonly uuid?: string;
  readonly bmc?: string;
  readonly bmcDriver: string;
  readonly bmcUsername?: string;
  readonly bmcPasswordFile?: string;
}

export async function addNode(name: string, options: AddOptions): Promise<void> {
  const { mac, network, sku, profile, address, uuid, bmc, bmcDriver, bmcUsername, bmcPasswordFile } = options;
  // Members that are undefined are not sent.
  const answer = await (await connect(options)).post<NodeAnswer>('/api/v1/nodes', {
    name,
    sku,
    profile,
    uuid,
    interfaces: [{ name: options.interface, mac, network, address }],
    bmc:
      bmc === undefined
        ? undefined
        : { address: bmc, driver: bmcDriver, username: bmcUsername, password_file: bmcPasswordFile },
  });
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else output.write(`Added ${answer.hostname} as ${answer.state}. ${answer.waits_for}\n`);
}

interface LifeOptions extends ConnectionOptions {
  readonly note?: string;
  readonly yes?: boolean;
}

/** `retire`, `reactivate` and the like: the verb is the route. Ending a node for good needs its name typed out, or --yes. */
export async function changeLife(action: string, node: string, options: LifeOptions): Promise<void> {
  const connection = await connect(options);
  const path = `/api/v1/nodes/${encodeURIComponent(node)}`;
  const confirm = action === 'remove' ? { confirm: await nameTyped(await connection.get(path), options) } : {};
  const answer = await connection.post<NodeAnswer>(`${path}/${action}`, { note: options.note, ...confirm });
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else output.write(`${answer.hostname} is ${answer.state}. ${answer.waits_for}\n`);
}

const nameTyped = ({ hostname }: NodeAnswer, { yes }: LifeOptions): Promise<string> =>
  confirmed(hostname, { yes, means: `this ends ${hostname} for good`, asked: 'to end it for good' });

export async function acceptNode(node: string, options: ConnectionOptions): Promise<void> {
  const answer = await (await connect(options)).post<NodeAnswer>(
    `/api/v1/nodes/${encodeURIComponent(node)}/accept`,
    {},
  );
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else output.write(`Accepted ${answer.hostname} as ${answer.state}. ${answer.waits_for}\n`);
}

function printNode(output: Output, node: NodeAnswer): void {
  const line = (label: string, text: string | null): void => {
    if (text !== null) output.write(`${styled(output, 'grey', label.padEnd(12))}${printable(text)}\n`);
  };
  line('node', `${node.hostname} (${node.id})`);
  line('state', `${node.state} since ${node.since}${node.deadline ? `, until ${node.deadline} at the latest` : ''}`);
  line('failed at', node.failure && `${node.failure.step}: ${node.failure.reason}`);
  line('note', node.note);
  line('waits for', node.waits_for);
  line('next step', node.next_step);
  line('health', node.health);
  line('sku', node.sku);
  line('profile', node.profile);
  line('cluster', node.cluster);
  line('uuid', node.uuid);
  for (const nic of node.interfaces)
    line(nic.name, [nic.mac ?? 'no MAC', nic.address ?? 'address from the pool', `on ${nic.network}`].join(', '));
  line('bmc', node.bmc && `${node.bmc.address} over ${node.bmc.driver}`);
  line('declared by', node.source);
}
