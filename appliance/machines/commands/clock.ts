// The deadline of a state.

import type { Machine } from '../../domain/machine.ts';
import { APPLIANCE } from '../record.ts';
import { type CommandContext, type Decision, NOTHING } from './decision.ts';
import { moved } from './move.ts';

/** No change, when the machine has left the state or its deadline was extended meanwhile. */
export function deadlinePassed(machine: Machine, lastHeard: string | undefined, context: CommandContext): Decision {
  const { deadline } = machine.lifecycle;
  if (deadline === null || deadline > context.now) return NOTHING;
  const origin = { actor: APPLIANCE, correlationId: null };
  return moved(machine, { event: 'deadline', origin, lastHeard }, context);
}
