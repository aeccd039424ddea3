// Applies a node's reports to its lifecycle.

import type { Machine } from '../domain/machine.ts';
import { moved } from '../machines/commands/move.ts';
import { type MachineCommands, refusalError } from '../machines/execute.ts';

/** A report that conflicts with a state change in the meantime is ignored: the node did nothing wrong. */
export async function nodeReported(
  commands: Pick<MachineCommands, 'execute'>,
  { id, spec }: Machine,
  event: 'enrolled' | 'drained' | 'drain-failed',
  correlationId: string | null,
  failureReason?: string,
): Promise<void> {
  const origin = { actor: `machine:${spec.hostname}`, correlationId };
  const input = { failure_reason: failureReason ?? null };
  const executed = await commands.execute({ machine: id, name: event, input, origin }, (machine, context) =>
    moved(machine, { event, origin, failureReason }, context),
  );
  if (executed.outcome === 'refused' && executed.refusal.code !== 'conflict') throw refusalError(executed.refusal);
}
