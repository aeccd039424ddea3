// The node is this machine of MAAS: recorded with the node, so that it is found again whatever happens to the run.

import { newEvent, type Origin } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine.ts';
import { type CommandContext, type Decision, emptyChange, NOTHING } from './decision.ts';

export interface MaasLink {
  readonly systemId: string;
  /** Its host name in MAAS. */
  readonly name: string;
  readonly how: 'created' | 'found';
  /** Events up to this one happened before. */
  readonly lastEvent: number;
  readonly onboarding: string | null;
  readonly origin: Origin;
}

export function linkedToMaas(machine: Machine, link: MaasLink, { now }: CommandContext): Decision {
  const { systemId, name, how, lastEvent, onboarding, origin } = link;
  if (machine.hardware.maas?.systemId === systemId) return NOTHING;
  const data = { onboarding, maas_system_id: systemId, name, how, last_event: lastEvent };
  const { actor, correlationId } = origin;
  return {
    outcome: 'change',
    change: {
      ...emptyChange(machine, now),
      writes: [{ kind: 'put-hardware', hardware: { ...machine.hardware, maas: { systemId, since: now } } }],
      events: [newEvent({ at: now, actor, machine: machine.id, correlationId }, 'maas.linked', data)],
      audit: [
        {
          ...{ at: now, actor, action: 'node.linked-to-maas', target: `node:${machine.spec.hostname}`, correlationId },
          before: { maas_system_id: machine.hardware.maas?.systemId ?? null },
          after: { maas_system_id: systemId },
        },
      ],
    },
  };
}
