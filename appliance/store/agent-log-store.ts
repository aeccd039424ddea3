// Stored log lines of node agents. They are evidence, not state: they are trimmed by age and by number.

import type { AgentLogLine, ErrorClass, LogAction } from '../domain/agent-log.ts';
import type { NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';

export interface NewAgentLog {
  readonly machine: MachineId;
  /** The node makes a new one when it loses its counter. */
  readonly stream: string;
  readonly receivedAt: Instant;
  readonly lines: readonly AgentLogLine[];
  /** Written only for lines that are new. */
  readonly events: (stored: readonly AgentLogLine[]) => readonly NewEvent[];
}

export interface AgentLogQuery {
  readonly machine: MachineId;
  readonly action?: LogAction;
  readonly errorClass?: ErrorClass;
  /** Only lines with an error class. */
  readonly errors?: boolean;
  /** Part of the message. */
  readonly contains?: string;
  readonly since?: Instant;
  /** The newest, oldest first. */
  readonly limit: number;
}

/** Of one machine; the oldest are deleted first. */
export const MAX_AGENT_LOG_LINES = 5000;

/** Each method is one transaction, as `store.ts` promises. */
export interface AgentLogStore {
  /** A line that was stored before is not stored again. Returns how many were new. `conflict` for a removed machine. */
  appendAgentLog(log: NewAgentLog): Promise<number>;
  agentLog(query: AgentLogQuery): Promise<AgentLogLine[]>;
  /** Deletes lines received before this time. Returns how many. */
  trimAgentLogs(before: Instant): Promise<number>;
}
