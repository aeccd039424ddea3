// The agents of enrolled nodes: the settings and the version that each should use and uses, updates, and their logs.

import { createHash } from 'node:crypto';
import { type AgentLogLine, readAgentLog } from '../domain/agent-log.ts';
import { ColdironError } from '../domain/errors.ts';
import { canonicalJson, type Json, type NewEvent, type Origin } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { Parsed } from '../domain/parsed.ts';
import { plainLine } from '../domain/plain-line.ts';
import type { Task } from '../domain/task.ts';
import { type TaskVerifier, taskSigningKeysText } from '../render/bundle/bundle.ts';
import type { Store } from '../store/store.ts';
import type { Authority } from './authority.ts';
import { auditOf, eventOf } from './enrollment-records.ts';
import type { Heartbeats } from './heartbeats.ts';
import type { TaskQueue } from './task-queue.ts';
import type { SignedTask, TaskSigner } from './task-signing.ts';

/** What an agent reports with its heartbeat. Null: an agent of an earlier version. */
export interface AgentReport {
  readonly apiUrl: string | null;
  readonly caSha256: string | null;
  /** The ids of the task-signing keys in its file, sorted, separated by commas. */
  readonly taskKeys: string | null;
  /** SHA-256 of the agent, in hex. */
  readonly digest: string | null;
  /** Why it did not apply its settings; empty: it did. */
  readonly problem: string | null;
}

/** What it should use. */
export interface AgentSettings {
  /** Null: the node API is off, or no address is known. */
  readonly apiUrl: string | null;
  readonly caSha256: string;
  readonly taskKeys: string;
  readonly digest: string;
}

export interface AgentState {
  readonly reported: AgentReport;
  readonly wanted: AgentSettings;
  readonly settings: 'current' | 'stale' | 'unknown';
  readonly updated: 'current' | 'outdated' | 'unknown';
}

export interface NodeAgents {
  /** The agent of this appliance. */
  readonly text: string;
  readonly digest: string;
  stateOf(machine: Machine): Promise<AgentState>;
  /** Signed by the task-signing key, for this node; null: no address of the node API is known. */
  settingsFor(machine: Machine): Promise<{ readonly signed: SignedTask; readonly caPem: string } | null>;
  /** Whether an operator asked the node to apply its settings, and it has not done so yet. */
  mustReconcile(machine: MachineId): boolean;
  reconcile(machine: Machine, origin: Origin): Promise<void>;
  /** Null: it uses this agent already. */
  update(machine: Machine, waitSeconds: number, origin: Origin): Promise<Task | null>;
  /** Records what changed since the last report. */
  reported(machine: Machine, report: AgentReport, correlationId: string): Promise<void>;
  /** Stores lines of its log. Returns how many were new. */
  log(machine: Machine, stream: string, text: string, correlationId: string): Promise<number>;
}

export interface NodeAgentsDeps {
  readonly store: Pick<Store, 'appendAgentLog' | 'appendEvents' | 'appendAudit'>;
  readonly agentText: string;
  readonly authority: Pick<Authority, 'trust'>;
  readonly signer: Pick<TaskSigner, 'signText' | 'verifiers'>;
  readonly tasks: Pick<TaskQueue, 'run' | 'wake'>;
  readonly heartbeats: Pick<Heartbeats, 'lastOf'>;
  readonly apiUrlOf: (machine: Machine) => Parsed<string>;
  readonly now: () => Instant;
}

export function createNodeAgents(deps: NodeAgentsDeps): NodeAgents {
  const { store, agentText, authority, signer, tasks, heartbeats, now } = deps;
  const digest = sha256(agentText);
  const awaited = new Set<MachineId>();

  const wantedBy = async (machine: Machine): Promise<AgentSettings> => {
    const url = deps.apiUrlOf(machine);
    return {
      apiUrl: url.ok ? url.value : null,
      caSha256: sha256((await authority.trust()).pem),
      taskKeys: keyIds(await signer.verifiers()),
      digest,
    };
  };
  const comparedWith = async (machine: Machine, reported: AgentReport): Promise<AgentState> => {
    const wanted = await wantedBy(machine);
    return { reported, wanted, settings: settingsState(reported, wanted), updated: versionState(reported, wanted) };
  };

  return {
    text: agentText,
    digest,
    stateOf: (machine) => comparedWith(machine, agentReport(heartbeats.lastOf(machine.id)?.report ?? null)),
    settingsFor: async (machine) => {
      const url = deps.apiUrlOf(machine);
      if (!url.ok) return null;
      const { pem } = await authority.trust();
      const text = canonicalJson({
        kind: 'settings',
        node_id: machine.id,
        api_url: url.value,
        ca_sha256: sha256(pem),
        task_keys: taskSigningKeysText(await signer.verifiers()),
        issued_at: instantText(now()),
      });
      return { signed: await signer.signText(text), caPem: pem };
    },
    mustReconcile: (machine) => awaited.has(machine),
    reconcile: async (machine, origin) => {
      awaited.add(machine.id);
      const target = `node:${machine.spec.hostname}`;
      await store.appendAudit([auditOf('agent.reconcile', target, now(), origin, null)]);
      tasks.wake(machine.id);
    },
    update: async (machine, waitSeconds, origin) => {
      const { updated } = await comparedWith(machine, agentReport(heartbeats.lastOf(machine.id)?.report ?? null));
      if (updated === 'current') return null;
      if (updated === 'unknown') {
        const words = `the agent of ${machine.spec.hostname} has not reported its version, and may be too old to update itself`;
        const hint = `Install it again: coldiron agent script ${machine.spec.hostname}`;
        throw new ColdironError('conflict', words, [], hint);
      }
      const parameters = { digest, wait_seconds: String(waitSeconds) };
      return tasks.run(machine, { kind: 'update-agent', parameters }, origin);
    },
    reported: async (machine, report, correlationId) => {
      const before = agentReport(heartbeats.lastOf(machine.id)?.report ?? null);
      const { settings, wanted } = await comparedWith(machine, report);
      const was = settingsState(before, wanted);
      if (settings === 'current') awaited.delete(machine.id);
      const at = now();
      const origin = { actor: `machine:${machine.spec.hostname}`, correlationId };
      const events: NewEvent[] = [];
      if (settings === 'current' && was !== 'current') {
        const { apiUrl, caSha256 } = wanted;
        const data = { api_url: apiUrl ?? 'unknown', ca_sha256: caSha256 };
        events.push(eventOf('agent.settings-applied', machine.id, at, origin, data));
      }
      if (report.problem && report.problem !== before.problem) {
        events.push(eventOf('agent.settings-refused', machine.id, at, origin, { words: report.problem }));
      }
      if (report.digest !== null && report.digest !== before.digest) {
        const data = { before: before.digest, after: report.digest };
        events.push(eventOf('agent.changed', machine.id, at, origin, data));
      }
      if (events.length > 0) await store.appendEvents(events);
    },
    log: async (machine, stream, text, correlationId) => {
      const lines = readAgentLog(text);
      if (!lines.ok) throw new ColdironError('invalid_request', `lines: ${lines.reason}`);
      const at = now();
      const origin = { actor: `machine:${machine.spec.hostname}`, correlationId };
      return store.appendAgentLog({
        machine: machine.id,
        stream,
        receivedAt: at,
        lines: lines.value,
        events: (stored) => errorEvents(stored).map((data) => eventOf('agent.error', machine.id, at, origin, data)),
      });
    },
  };
}

/** One event for each kind of error in a request, so that a flood of lines is not a flood of events. */
function errorEvents(lines: readonly AgentLogLine[]) {
  const failed = lines.filter(({ errorClass }) => errorClass !== null);
  const kinds = Map.groupBy(failed, ({ action, errorClass }) => `${action} ${errorClass}`);
  return [...kinds.values()].flatMap((same) => {
    const last = same.at(-1);
    if (!last?.errorClass) return [];
    return [{ action: last.action, error_class: last.errorClass, message: last.message, count: same.length }];
  });
}

/** Reads what a heartbeat stored; another version may have written it. */
export function agentReport(report: Json): AgentReport {
  const stored = isRecord(report) && isRecord(report.settings ?? null) ? report.settings : {};
  const text = (name: string): string | null => {
    const value = (stored as Readonly<Record<string, Json>>)[name];
    return typeof value === 'string' ? value : null;
  };
  return {
    apiUrl: text('api_url'),
    caSha256: text('ca_sha256'),
    taskKeys: text('task_keys'),
    digest: text('digest'),
    problem: text('problem'),
  };
}

/** As a heartbeat stores it. The text comes from a machine. */
export const storedReport = ({ apiUrl, caSha256, taskKeys, digest, problem }: AgentReport): Json => ({
  api_url: apiUrl === null ? null : plainLine(apiUrl),
  ca_sha256: caSha256 === null ? null : plainLine(caSha256),
  task_keys: taskKeys === null ? null : plainLine(taskKeys),
  digest: digest === null ? null : plainLine(digest),
  problem: problem === null ? null : plainLine(problem),
});

function settingsState(reported: AgentReport, wanted: AgentSettings): AgentState['settings'] {
  if (reported.apiUrl === null || wanted.apiUrl === null) return 'unknown';
  const same =
    withoutSlash(reported.apiUrl) === withoutSlash(wanted.apiUrl) &&
    reported.caSha256 === wanted.caSha256 &&
    reported.taskKeys === wanted.taskKeys;
  return same ? 'current' : 'stale';
}

function versionState(reported: AgentReport, wanted: AgentSettings): AgentState['updated'] {
  if (reported.digest === null) return 'unknown';
  return reported.digest === wanted.digest ? 'current' : 'outdated';
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '');
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const keyIds = (keys: readonly TaskVerifier[]): string =>
  keys
    .map(({ id }) => id)
    .sort()
    .join(',');
const isRecord = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
