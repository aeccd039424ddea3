import { randomUUID } from 'node:crypto';
import { explainNode } from '../api/explain-node.ts';
import { BootResolver } from '../boot/boot-resolver.ts';
import { type Explanation, renderExplanation } from '../boot/explain.ts';
import { parseClientArchCode } from '../domain/architecture.ts';
import { ColdironError } from '../domain/errors.ts';
import { parseIpv4 } from '../domain/ipv4.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import type { Parsed } from '../domain/parsed.ts';
import { declaredInventory } from '../inventory/declared-inventory.ts';
import { Fleet } from '../inventory/fleet.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { checkedSources } from './inventory-files.ts';
import { isSelecting, requireNodes, type SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes, showNodes } from './read-nodes.ts';
import type { Output } from './terminal.ts';

interface ExplainOptions extends ConnectionOptions, SelectionOptions {
  readonly inventory?: string[];
  readonly arch?: string;
  readonly via?: string;
  readonly as?: LifecycleState;
  readonly armed?: boolean;
}

/** The port of the runbooks; for a site file with another port, ask its appliance. */
const BOOT_PORT = 8080;

/** Only an appliance knows its boot files. */
const OFFLINE = 'Offline: assumes that every loader and image is present and that every order is possible.';

const print = (output: Output, explanation: Explanation): void => output.write(renderExplanation(explanation));

export async function explain(machines: readonly string[], options: ExplainOptions): Promise<void> {
  if (options.inventory) return explainOffline(machines, options, options.inventory);
  const { arch, via, as, armed } = options;
  const query = { arch, via, as, armed: armed === undefined ? undefined : String(armed) };
  const connection = await connect(options);
  await readNodes(connection, machines, options, {
    verb: 'explain',
    read: async (node) =>
      (await operate(connection, 'explainNode', { params: { node }, query })) as unknown as Explanation,
    print,
  });
}

async function explainOffline(machines: readonly string[], options: ExplainOptions, files: string[]): Promise<void> {
  if (isSelecting(options) || options.dryRun) {
    throw new ColdironError('usage', 'selectors and --dry-run need an appliance; offline, name the machines');
  }
  requireNodes(machines, options);
  const explained = await offlineExplainer(options, files);
  const read = async (machine: string): Promise<Explanation> => explained(machine);
  await showNodes(machines, machines.length === 1, options, { read, print });
}

async function offlineExplainer(options: ExplainOptions, files: string[]): Promise<(machine: string) => Explanation> {
  const now = Date.now();
  const fleet = new Fleet();
  fleet.replace(declaredInventory(await checkedSources(files), now, randomUUID));
  const resolver = new BootResolver(fleet, () => now);
  const supposed = {
    arch: options.arch === undefined ? null : parsedOption('--arch', parseClientArchCode(Number(options.arch))),
    via: options.via === undefined ? null : parsedOption('--via', parseIpv4(options.via)),
    state: options.as ?? null,
    armed: options.armed ?? null,
  };
  const edge = { fleet, bootPort: BOOT_PORT, now, resolver, assumed: [OFFLINE] };
  return (machine) => explainNode(edge, machine, supposed);
}

function parsedOption<T>(option: string, result: Parsed<T>): T {
  if (result.ok) return result.value;
  throw new ColdironError('usage', `${option}: ${result.reason}`);
}
