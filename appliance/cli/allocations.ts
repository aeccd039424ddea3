// The verbs of allocations, as calls of the API.

import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printable, printJson, standardOutput, table } from './terminal.ts';

type Allocation = Answer<'getAllocation'>;

interface ListOptions extends ConnectionOptions {
  readonly user?: string;
  readonly node?: string;
  readonly all?: boolean;
}

export async function listAllocations(options: ListOptions): Promise<void> {
  const query = {
    ...(options.user !== undefined && { user: options.user }),
    ...(options.node !== undefined && { node: options.node }),
    ...(!options.all && { open: 'true' }),
  };
  const { allocations } = await operate(await connect(options), 'listAllocations', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, allocations);
  const rows = allocations.map(({ id, user, node, state, since, reason }) => [
    id,
    user,
    node,
    state,
    since,
    reason ?? '',
  ]);
  output.write(table(output, ['ID', 'USER', 'NODE', 'STATE', 'SINCE', 'REASON'], rows));
}

export async function showAllocation(allocation: string, options: ConnectionOptions): Promise<void> {
  print(await operate(await connect(options), 'getAllocation', { params: { allocation } }), options);
}

interface RequestOptions extends ConnectionOptions {
  readonly node?: string;
  readonly sku?: string;
  readonly keySet?: string;
  readonly sudoPolicy?: string;
  readonly wait?: boolean;
}

export async function requestAllocation(user: string, options: RequestOptions): Promise<void> {
  const { node, sku, keySet } = options;
  if ((node === undefined) === (sku === undefined)) throw new ColdironError('usage', 'give one of --node and --sku');
  const connection = await connect(options);
  const body = {
    user,
    ...(node !== undefined && { node }),
    ...(sku !== undefined && { sku }),
    ...(keySet !== undefined && { key_set: keySet }),
    ...(options.sudoPolicy !== undefined && { sudo_policy: options.sudoPolicy }),
  };
  const requested = await operate(connection, 'requestAllocation', { body });
  await finish(connection, requested, 'active', options);
}

export async function releaseAllocation(
  allocation: string,
  options: ConnectionOptions & { readonly wait?: boolean },
): Promise<void> {
  const connection = await connect(options);
  const released = await operate(connection, 'releaseAllocation', { params: { allocation } });
  await finish(connection, released, 'released', options);
}

export async function cleanUpAllocation(
  allocation: string,
  options: ConnectionOptions & { readonly note: string },
): Promise<void> {
  const body = { note: options.note };
  print(await operate(await connect(options), 'cleanUpAllocation', { params: { allocation }, body }), options);
}

export async function setAllocationKeys(
  allocation: string,
  set: string | undefined,
  options: ConnectionOptions & { readonly default?: boolean },
): Promise<void> {
  if ((set === undefined) !== (options.default === true)) {
    throw new ColdironError('usage', 'give a key set, or --default');
  }
  const body = { key_set: set ?? null };
  print(await operate(await connect(options), 'setAllocationKeySet', { params: { allocation }, body }), options);
}

const PAUSE_MS = 1000;
const ENDED: readonly Allocation['state'][] = ['active', 'released', 'release_failed'];

async function finish(
  connection: Connection,
  begun: Allocation,
  wanted: Allocation['state'],
  options: ConnectionOptions & { readonly wait?: boolean },
): Promise<void> {
  let allocation = begun;
  while (options.wait && !ENDED.includes(allocation.state)) {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    allocation = await operate(connection, 'getAllocation', { params: { allocation: begun.id } });
  }
  print(allocation, options);
  if (options.wait && allocation.state !== wanted) {
    throw new ColdironError(
      'work_failed',
      `the allocation is ${allocation.state}: ${allocation.reason ?? 'no reason'}`,
    );
  }
}

function print(allocation: Allocation, options: ConnectionOptions): void {
  const output = standardOutput();
  const { id, user, node, state, means, reason } = allocation;
  if (options.json) {
    printJson(output, allocation);
    return;
  }
  output.write(`${printable(id)}: ${printable(user)} on ${printable(node)}, ${state}: ${printable(means)}\n`);
  if (reason !== null) output.write(`    ${printable(reason)}\n`);
}
