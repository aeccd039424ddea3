// What follows for an open allocation, decided from the tasks in the store: which task to create, or which event has happened. A
// killed process loses no step, and a repeated decision creates nothing twice.

import type { Allocation } from '../domain/allocation.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import { isOver, type Task, type TaskKind, type TaskParameters } from '../domain/task.ts';
import type { AllocationEvent } from './transitions.ts';

export interface NodeOfAllocation {
  readonly allocation: Allocation;
  /** Null: the node may be given tasks; otherwise why not. */
  readonly noTasks: string | null;
  readonly isOnline: boolean;
  /** The newest first. */
  readonly tasks: readonly Task[];
  /** The lines for authorized_keys. */
  readonly keys: readonly string[];
  /** Since when the node is in its state: a check from before a person cleared a quarantine does not count. */
  readonly stateSince: Instant;
  readonly now: Instant;
}

export type NextStep =
  | { readonly do: 'wait' }
  /** Nothing follows until the allocation or the keys change. */
  | { readonly do: 'rest' }
  | { readonly do: 'move'; readonly event: AllocationEvent; readonly reason: string | null }
  | { readonly do: 'run'; readonly kind: TaskKind; readonly parameters: TaskParameters; readonly within: Instant }
  /** The node gives its user other rights than it was told to. */
  | { readonly do: 'quarantine'; readonly reason: string }
  | { readonly do: 'warn-keys'; readonly task: Task; readonly reason: string };

const WAIT: NextStep = { do: 'wait' };
const REST: NextStep = { do: 'rest' };
/** An update of the keys that failed is tried again after this time. */
export const RETRY_KEYS_AFTER = 10 * MINUTE;
const KEYS_WITHIN = 30 * MINUTE;

/** How often the root rights of an account are compared. */
export const CHECK_EVERY = 10 * MINUTE;

export function nextStep(node: NodeOfAllocation): NextStep {
  const { allocation, now } = node;
  const drift = node.noTasks === null ? driftIn(node) : null;
  if (drift !== null) return { do: 'quarantine', reason: drift };
  if (allocation.deadline !== null && now >= allocation.deadline) {
    const reason = node.noTasks ?? (node.isOnline ? 'the node did not finish in time' : 'the node is silent');
    return { do: 'move', event: 'deadline', reason };
  }
  switch (allocation.state) {
    case 'requested':
      return node.noTasks === null && node.isOnline ? { do: 'move', event: 'provision', reason: null } : WAIT;
    case 'provisioning':
      return whileProvisioning(node);
    case 'active':
      return whileActive(node);
    case 'releasing':
      return whileReleasing(node);
    case 'release_failed':
    case 'released':
      return REST;
  }
}

function whileProvisioning(node: NodeOfAllocation): NextStep {
  const failed = (reason: string): NextStep => ({ do: 'move', event: 'provision-failed', reason });
  const task = taskOf(node, 'provision-account');
  if (!task) {
    if (node.noTasks !== null) return failed(node.noTasks);
    if (node.keys.length === 0) return failed(NO_KEYS);
    if (encodedKeys(node.keys).length > MAX_ENCODED_KEYS) return failed(TOO_MANY_KEYS);
    return provision(node);
  }
  if (!isOver(task.state)) return WAIT;
  return task.state === 'succeeded' ? { do: 'move', event: 'provisioned', reason: null } : failed(failureOf(task));
}

/** The keys of the account follow the key set. */
function whileActive(node: NodeOfAllocation): NextStep {
  const wanted = encodedKeys(node.keys);
  const [newest] = node.tasks.filter((task) => isFor(task, node.allocation, 'provision-account'));
  if (newest && !isOver(newest.state)) return WAIT;
  if (newest?.state === 'succeeded' && newest.parameters.keys === wanted) return checkRights(node, newest);
  // Without a key nobody can log in. That is right: the last key may have been removed because it was stolen.
  if (wanted.length > MAX_ENCODED_KEYS) return REST;
  if (newest && newest.state !== 'succeeded' && newest.parameters.keys === wanted) {
    const since = newest.finishedAt ?? newest.createdAt;
    if (node.now < since + RETRY_KEYS_AFTER) return { do: 'warn-keys', task: newest, reason: failureOf(newest) };
  }
  return node.noTasks === null ? provision(node) : WAIT;
}

function checkRights(node: NodeOfAllocation, provisioned: Task): NextStep {
  const { allocation, tasks, now } = node;
  const rules = /^sudo rules ([0-9a-f]{64})$/m.exec(provisioned.result?.output ?? '')?.[1];
  if (rules === undefined) return REST;
  const last = tasks.find((task) => isFor(task, allocation, 'check-account'));
  if (last && (!isOver(last.state) || isRecent(node, last))) return WAIT;
  if (node.noTasks !== null) return WAIT;
  const { id, user, sudo } = allocation;
  const parameters = { allocation: id, user, attempt: String(Math.floor(now / CHECK_EVERY)) };
  return run(node, 'check-account', { ...parameters, sudo: sudo?.checksum ?? 'none', rules });
}

const isRecent = ({ now, stateSince }: NodeOfAllocation, { createdAt }: Task): boolean =>
  now < createdAt + CHECK_EVERY && createdAt >= stateSince;

/** The agent begins its last line with this word when the rights differ. */
function driftIn({ tasks, allocation, stateSince }: NodeOfAllocation): string | null {
  const [newest] = tasks.filter(
    (task) =>
      (isFor(task, allocation, 'check-account') || isFor(task, allocation, 'provision-account')) && isOver(task.state),
  );
  if (newest?.state !== 'failed' || newest.createdAt < stateSince) return null;
  return /^drift: .*$/m.exec(newest.result?.output ?? '')?.[0]?.slice(0, 200) ?? null;
}

function whileReleasing(node: NodeOfAllocation): NextStep {
  const failed = (reason: string): NextStep => ({ do: 'move', event: 'clean-failed', reason });
  const task = taskOf(node, 'remove-account');
  if (!task) {
    if (node.noTasks !== null) return failed(node.noTasks);
    // A task that may still create the account must end first.
    if (node.tasks.some((each) => isFor(each, node.allocation, 'provision-account') && !isOver(each.state)))
      return WAIT;
    const { id, user, attempt } = node.allocation;
    return run(node, 'remove-account', { allocation: id, user, attempt: String(attempt) });
  }
  if (!isOver(task.state)) return node.noTasks === null ? WAIT : failed(node.noTasks);
  return task.state === 'succeeded' ? { do: 'move', event: 'cleaned', reason: null } : failed(failureOf(task));
}

const provision = (node: NodeOfAllocation): NextStep => {
  const { id, user, attempt } = node.allocation;
  const keys = encodedKeys(node.keys);
  const sudo = node.allocation.sudo === null ? 'none' : Buffer.from(node.allocation.sudo.text).toString('base64url');
  return run(node, 'provision-account', { allocation: id, user, attempt: String(attempt), keys, sudo });
};

const run = ({ allocation, now }: NodeOfAllocation, kind: TaskKind, parameters: TaskParameters): NextStep => ({
  do: 'run',
  kind,
  parameters,
  within: allocation.deadline === null ? KEYS_WITHIN : allocation.deadline - now,
});

/** Half of what one argument of a process may have (execve(2): 128 KiB). */
export const MAX_ENCODED_KEYS = 65_536;
const TOO_MANY_KEYS = 'its SSH keys are longer than 48 kB together: use a key set with fewer keys';
export const NO_KEYS = 'nobody could log in: its key set has no key, and neither the user nor the site has one';

const isFor = ({ kind, parameters }: Task, { id }: Allocation, wanted: TaskKind): boolean =>
  kind === wanted && parameters.allocation === id;

/** The task of the current attempt. */
const taskOf = ({ tasks, allocation }: NodeOfAllocation, kind: TaskKind): Task | undefined =>
  tasks.find((task) => isFor(task, allocation, kind) && task.parameters.attempt === String(allocation.attempt));

/**
 * Lines as base64url, which the signed form of a task allows. Padded with newlines to a multiple of three bytes, so that there is no
 * padding character.
 */
export function encodedKeys(lines: readonly string[]): string {
  const text = lines.map((line) => `${line}\n`).join('');
  return Buffer.from(text.padEnd(Math.max(3, Math.ceil(text.length / 3) * 3), '\n')).toString('base64url');
}

function failureOf({ state, result }: Task): string {
  const lastLine = result?.output.trim().split('\n').at(-1)?.slice(0, 200);
  if (state === 'failed')
    return lastLine ? `the node reported: ${lastLine}` : 'the node reported a failure without a reason';
  return state === 'expired'
    ? 'the node did not fetch the task in time'
    : 'the node started the task and did not report';
}
