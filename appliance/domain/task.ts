// What an enrolled node may be told to do. The list is closed: a node does nothing that is not on it, whoever signs.

import type { Actor } from './event.ts';
import { type Instant, MINUTE } from './instant.ts';
import type { LifecycleState } from './lifecycle.ts';
import type { MachineId } from './machine.ts';
import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

interface KindOfTask {
  readonly means: string;
  /** Doing it twice comes to the same: when nothing is heard of it, it is given out again. */
  readonly repeatable: boolean;
  /** How long a node may take before nothing more is expected. */
  readonly limit: Instant;
  /** What each parameter may be, and what it is when nobody says. Only plain characters: a shell reads them. */
  readonly parameters: Readonly<Record<string, { readonly pattern: RegExp; readonly standard: string }>>;
  /** Asked for and begun in this state only. */
  readonly onlyWhile?: LifecycleState;
}

export const TASK_KINDS = {
  ping: { means: 'answer', repeatable: true, limit: MINUTE, parameters: {} },
  'collect-facts': { means: 'tell what it consists of', repeatable: true, limit: 2 * MINUTE, parameters: {} },
  'run-diagnostics': {
    means: 'tell how it is doing',
    repeatable: true,
    limit: 5 * MINUTE,
    parameters: { level: { pattern: /^(?:quick|full)$/, standard: 'quick' } },
  },
  'restart-agent': { means: 'start its agent anew', repeatable: true, limit: 2 * MINUTE, parameters: {} },
  reboot: {
    means: 'restart',
    repeatable: false,
    limit: 2 * MINUTE,
    parameters: { delay_seconds: { pattern: /^(?:0|[1-9]\d{0,2})$/, standard: '5' } },
  },
  drain: {
    means: 'let its workload leave',
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
} as const satisfies Readonly<Record<string, KindOfTask>>;
export type TaskKind = keyof typeof TASK_KINDS;

export const TASK_KIND_NAMES = Object.keys(TASK_KINDS) as TaskKind[];

export const kindOfTask = (kind: TaskKind): KindOfTask => TASK_KINDS[kind];

export type TaskParameters = Readonly<Record<string, string>>;

/** Every parameter of the kind, said or not; one that it does not know is refused. */
export function taskParameters(kind: TaskKind, said: Readonly<Record<string, string>>): Parsed<TaskParameters> {
  const { parameters } = kindOfTask(kind);
  const stranger = Object.keys(said).find((name) => !Object.hasOwn(parameters, name));
  if (stranger !== undefined) return unparsable(`${kind} takes no parameter ${shown(stranger)}`);
  const values: Record<string, string> = {};
  for (const [name, { pattern, standard }] of Object.entries(parameters)) {
    const value = said[name] ?? standard;
    if (!pattern.test(value)) return unparsable(`${name}: must match ${pattern.source}: ${shown(value)}`);
    values[name] = value;
  }
  return parsed(values);
}

export type TaskId = Branded<string, 'TaskId'>;

/**
 * `queued`: waits for the node to ask. `leased`: on its way to it. `running`: begun, as the node said. `expired`: its time was
 * over before it was begun. `unknown`: begun, and nothing more was heard; it cannot be done twice.
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
  /** Not begun after this. */
  readonly expiresAt: Instant;
  /** What is signed, to the byte; the signature; and whose it is. */
  readonly payload: string;
  readonly signature: string;
  readonly signingKey: string;
  /** Which hand-out counts, and until when we wait for the next word. */
  readonly lease: string | null;
  readonly leaseUntil: Instant | null;
  readonly attempts: number;
  readonly finishedAt: Instant | null;
  readonly result: TaskResult | null;
}

/** One of which nothing was heard in time. */
export type SweptTask = Task & { readonly state: 'queued' | 'expired' | 'unknown' };

/** A result longer than this is refused: it belongs into a log, and not here. */
export const LONGEST_OUTPUT = 64 * 1024;
