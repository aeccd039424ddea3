// One event applied to one machine: read, step, write. Writers that come in between make us look again.

import type { EffectId } from '../../domain/effect.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { type EventOrigin, movedAudit, movedEvent, unexpectedEvent } from '../record.ts';
import { step } from '../step.ts';
import type { LifecycleEvent } from '../transitions.ts';

export interface ApplySettings {
  readonly store: Pick<Store, 'machine' | 'transition' | 'appendEvents'>;
  readonly now: () => Instant;
  readonly newId: () => string;
  /** How long the machine's profile lets a deployment take; null when there is no such profile. */
  readonly deployMinutes: (machine: Machine) => number | null;
}

export type Applied =
  | { readonly outcome: 'moved'; readonly machine: Machine }
  /** The table has no such row; the event is on record. */
  | { readonly outcome: 'unexpected'; readonly machine: Machine; readonly reason: string }
  /** What the event was about has passed. */
  | { readonly outcome: 'moot'; readonly machine: Machine };

const MAX_TRIES = 5;

export async function applyEvent(
  settings: ApplySettings,
  id: MachineId,
  event: LifecycleEvent,
  origin: EventOrigin,
  /** Whether the event still has an object, asked of the machine as it is at each try. */
  stillApplies: (machine: Machine) => boolean = () => true,
): Promise<Applied> {
  const { store } = settings;
  for (let tries = 1; ; tries += 1) {
    const machine = await store.machine(id);
    if (!machine) throw new ColdironError('not_found', `no node with the id ${id}`);
    if (!stillApplies(machine)) return { outcome: 'moot', machine };

    const at = settings.now();
    const happening = { at, machine, event, origin };
    const result = step(machine.lifecycle, event, {
      now: at,
      profileDeployMinutes: settings.deployMinutes(machine),
      note: origin.note,
      failureReason: origin.failureReason,
      lastHeard: origin.lastHeard,
    });
    if (!result.moved) {
      await store.appendEvents([unexpectedEvent(happening, result.reason)]);
      return { outcome: 'unexpected', machine, reason: result.reason };
    }

    try {
      const moved = await store.transition({
        machine: id,
        version: machine.version,
        lifecycle: result.lifecycle,
        effects: result.effects.map((kind) => ({
          id: settings.newId() as EffectId,
          machine: id,
          kind,
          correlationId: origin.correlationId,
        })),
        events: [movedEvent(happening, result.lifecycle)],
        audit: movedAudit(happening, result.lifecycle),
      });
      return { outcome: 'moved', machine: moved };
    } catch (error) {
      if (!(error instanceof ColdironError) || error.code !== 'version_conflict' || tries === MAX_TRIES) throw error;
    }
  }
}
