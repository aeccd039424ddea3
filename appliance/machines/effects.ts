// Which handler runs which effect.

import type { Machine } from '../domain/machine.ts';
import { EffectError, type EffectHandler, type EffectHandlers } from './effects/handler.ts';
import { bootFromDisk, bootFromNetwork, type PowerSettings, powerHandler, powerOff } from './effects/power.ts';

export interface EffectSettings extends PowerSettings {
  /** Whether a machine whose disks cannot be erased may be released with its data on them. */
  readonly mayReleaseUnerased: (machine: Machine) => boolean;
}

export const effectHandlers = (settings: EffectSettings): EffectHandlers => ({
  'boot-from-network': powerHandler(bootFromNetwork, settings),
  'boot-from-disk': powerHandler(bootFromDisk, settings),
  'power-off': powerHandler(powerOff, settings),
  'release-without-erase': releaseWithoutErase(settings.mayReleaseUnerased),
});

function releaseWithoutErase(allowed: (machine: Machine) => boolean): EffectHandler {
  return async ({ machine }) => {
    if (!allowed(machine)) {
      const cause = machine.lifecycle.note ?? 'no reason was given';
      throw new EffectError(`not erased (${cause}), and releasing without erasure is not allowed here`, {
        retryable: false,
      });
    }
    return {
      events: [],
      leadsTo: { event: 'released-unerased', note: 'released without erasure: the disks keep their data' },
    };
  };
}
