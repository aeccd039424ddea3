// Tasks for enrolled nodes. The list is closed: a node executes nothing else, even with a valid signature.

import type { Actor } from './event.ts';
import { type Instant, MINUTE } from './instant.ts';
import type { LifecycleState } from './lifecycle.ts';
import type { MachineId } from './machine.ts';
import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

interface TaskDefinition {
  readonly means: string;
  /** Idempotent: a task without a report is issued again. */
  readonly repeatable: boolean;
  /** The time limit of the node. */
  readonly limit: Instant;
  /** The pattern and the default (`standard`) of each parameter. Plain characters only: a shell reads them. */
  readonly parameters: Readonly<Record<string, { readonly pattern: RegExp; readonly standard: string }>>;
  /** Created only by the appliance itself, as a part of other work. */
  readonly internal?: true;
  /** Created and started only in this state. */
  readonly onlyWhile?: LifecycleState;
}

const ACCOUNT = {
  allocation: { pattern: /^[0-9a-f-]{36}$/, standard: '' },
  user: { pattern: /^[a-z][a-z0-9_-]{0,30}$/, standard: '' },
  attempt: { pattern: /^[0-9]{1,9}$/, standard: '0' },
};

export const TASK_KINDS = {
  ping: { means: 'reply', repeatable: true, limit: MINUTE, parameters: {} },
  'collect-facts': { means: 'report its hardware', repeatable: true, limit: 2 * MINUTE, parameters: {} },
  'run-diagnostics': {
    means: 'report diagnostics',
    repeatable: true,
    limit: 5 * MINUTE,
    parameters: { level: { pattern: /^(?:quick|full)$/, standard: 'quick' } },
  },
  'restart-agent': { means: 'restart its agent', repeatable: true, limit: 2 * MINUTE, parameters: {} },
  'update-agent': {
    means: 'replace its agent',
    repeatable: true,
    limit: 3 * MINUTE,
    parameters: {
      digest: { pattern: /^[0-9a-f]{64}$/, standard: '' },
      wait_seconds: { pattern: /^[1-9]\d{1,2}$/, standard: '120' },
    },
    internal: true,
  },
  'rerun-bootstrap': {
    means: 'run the parts of its first boot again: those that failed, or the script of the site in any case',
    // What the script of a site does twice is not known.
    repeatable: false,
    limit: 30 * MINUTE,
    parameters: { part: { pattern: /^(?:failed|site)$/, standard: 'failed' } },
    onlyWhile: 'active',
  },
  reboot: {
    means: 'restart',
    repeatable: false,
    limit: 2 * MINUTE,
    parameters: { delay_seconds: { pattern: /^(?:0|[1-9]\d{0,2})$/, standard: '5' } },
  },
  drain: {
    means: 'move its workload away',
    repeatable: true,
    limit: 25 * MINUTE,
    parameters: { since: { pattern: /^\d{1,15}$/, standard: '0' } },
    onlyWhile: 'draining',
  },
  undrain: {
    means: 'accept workload again after a drain',
    repeatable: true,
    limit: 25 * MINUTE,
    parameters: {},
    onlyWhile: 'active',
  },
  'provision-account': {
    means: 'create the account of an allocation, or give it other keys',
    // One that was lost must not run later, when its allocation may be over; the workflow creates another one.
    repeatable: false,
    limit: 5 * MINUTE,
    // The keys are base64url.
    parameters: {
      ...ACCOUNT,
      keys: { pattern: /^[A-Za-z0-9_-]{4,65536}$/, standard: '' },
      sudo: { pattern: /^[A-Za-z0-9_-]{4,40000}$/, standard: 'none' },
    },
    internal: true,
    onlyWhile: 'active',
  },
  'check-account': {
    means: 'compare the root rights of an account with those that it was given',
    repeatable: true,
    limit: 2 * MINUTE,
    parameters: {
      ...ACCOUNT,
      sudo: { pattern: /^(?:none|[0-9a-f]{64})$/, standard: '' },
      rules: { pattern: /^[0-9a-f]{64}$/, standard: '' },
    },
    internal: true,
    onlyWhile: 'active',
  },
  'open-terminal': {
    means: 'connect a terminal of the account of an allocation',
    // One that was lost must not open a terminal that nobody waits for.
    repeatable: false,
    limit: MINUTE,
    parameters: {
      allocation: ACCOUNT.allocation,
      user: ACCOUNT.user,
      terminal: { pattern: /^[0-9a-f-]{36}$/, standard: '' },
      term: { pattern: /^[A-Za-z0-9_-]{1,40}$/, standard: 'xterm-256color' },
    },
    internal: true,
    onlyWhile: 'active',
  },
  'remove-account': {
    means: 'remove the account of an allocation with its files',
    repeatable: true,
    limit: 10 * MINUTE,
    parameters: ACCOUNT,
    internal: true,
    onlyWhile: 'active',
  },
} as const satisfies Readonly<Record<string, TaskDefinition>>;
export type TaskKind = keyof typeof TASK_KINDS;

export const TASK_KIND_NAMES = Object.keys(TASK_KINDS) as TaskKind[];

/** The kinds that an operator may create. */
export const OPERATOR_TASK_KINDS = TASK_KIND_NAMES.filter((kind) => !('internal' in TASK_KINDS[kind]));

export const taskDefinition = (kind: TaskKind): TaskDefinition => TASK_KINDS[kind];

export type TaskParameters = Readonly<Record<string, string>>;

/** Every parameter of the kind, with defaults filled in; an unknown one is rejected. */
export function taskParameters(kind: TaskKind, given: Readonly<Record<string, string>>): Parsed<TaskParameters> {
  const { parameters } = taskDefinition(kind);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(parameters, name));
  if (unknown !== undefined) return unparsable(`${kind} takes no parameter ${shown(unknown)}`);
  const values: Record<string, string> = {};
  for (const [name, { pattern, standard }] of Object.entries(parameters)) {
    const value = given[name] ?? standard;
    if (!pattern.test(value)) return unparsable(`${name}: must match ${pattern.source}: ${shown(value)}`);
    values[name] = value;
  }
  return parsed(values);
}

export type TaskId = Branded<string, 'TaskId'>;

/**
 * `queued`: waits for the node to fetch it. `leased`: issued to the node. `running`: the node reported its start. `expired`: not
 * started in time. `unknown`: started, and no result was reported; it is not repeatable.
 */
export const TASK_STATES = ['queued', 'leased', 'running', 'succeeded', 'failed', 'expired', 'unknown'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const isOver = (state: TaskState): boolean => state !== 'queued' && state !== 'leased' && state !== 'running';

export interface TaskResult {
  readonly succeeded: boolean;
  readonly output: string;
}

export interface Task {
  readonly id: TaskId;
  readonly machine: MachineId;
  readonly kind: TaskKind;
  readonly parameters: TaskParameters;
  readonly state: TaskState;
  readonly actor: Actor;
  readonly createdAt: Instant;
  /** It must not start after this. */
  readonly expiresAt: Instant;
  /** The exact signed text, its signature, and the id of the signing key. */
  readonly payload: string;
  readonly signature: string;
  readonly signingKey: string;
  /** The id of the current lease, and until when a report is expected. */
  readonly lease: string | null;
  readonly leaseUntil: Instant | null;
  readonly attempts: number;
  readonly finishedAt: Instant | null;
  readonly result: TaskResult | null;
}

/** A task whose report did not arrive in time. */
export type SweptTask = Task & { readonly state: 'queued' | 'expired' | 'unknown' };

/** A longer output is rejected: it belongs in a log. */
export const MAX_TASK_OUTPUT = 64 * 1024;
