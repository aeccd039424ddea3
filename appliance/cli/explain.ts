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
import { operate } from './operate.ts';
import { printJson, standardOutput } from './terminal.ts';

interface ExplainOptions extends ConnectionOptions {
  readonly inventory?: string[];
  readonly arch?: string;
  readonly via?: string;
  readonly as?: LifecycleState;
  readonly armed?: boolean;
}

/** The port that the runbooks name; a site file that says otherwise is asked through its appliance. */
const BOOT_PORT = 8080;

/** Only an appliance knows what it has. */
const OFFLINE = 'No appliance was asked: every loader and image is taken to be there, and every order to be possible.';

export async function explain(machine: string, options: ExplainOptions): Promise<void> {
  const explanation = options.inventory
    ? await offline(machine, options, options.inventory)
    : await online(machine, options);
  const output = standardOutput();
  if (options.json) printJson(output, explanation);
  else output.write(renderExplanation(explanation));
}

async function online(machine: string, { arch, via, as, armed, ...connection }: ExplainOptions): Promise<Explanation> {
  const query = { arch, via, as, armed: armed === undefined ? undefined : String(armed) };
  return (await operate(await connect(connection), 'explainNode', {
    params: { node: machine },
    query,
  })) as unknown as Explanation;
}

async function offline(machine: string, options: ExplainOptions, files: string[]): Promise<Explanation> {
  const now = Date.now();
  const fleet = new Fleet();
  fleet.replace(declaredInventory(await checkedSources(files), now, randomUUID));
  const resolver = new BootResolver(fleet, () => now);
  return explainNode({ fleet, bootPort: BOOT_PORT, now, resolver, assumed: [OFFLINE] }, machine, {
    arch: options.arch === undefined ? null : understood('--arch', parseClientArchCode(Number(options.arch))),
    via: options.via === undefined ? null : understood('--via', parseIpv4(options.via)),
    state: options.as ?? null,
    armed: options.armed ?? null,
  });
}

function understood<T>(option: string, result: Parsed<T>): T {
  if (result.ok) return result.value;
  throw new ColdironError('usage', `${option}: ${result.reason}`);
}
