// The export of events: one receiver for each entry of the site file, each with its own pace.

import { hostname } from 'node:os';
import { DAY, HOUR } from '../domain/instant.ts';
import { deliveryTo } from '../export/delivery.ts';
import { Exports } from '../export/exports.ts';
import { Receiver } from '../export/receiver.ts';
import { repeat } from '../net/repeat.ts';
import { shellWord } from '../self-check/next-steps.ts';
import type { Foundation } from './foundation.ts';

const LOOK_EVERY = 300;

export function openExports(foundation: Foundation): Exports {
  const { config, store, fleet, clock, newId, logger, stops } = foundation;
  const receivers = config.receivers.map(
    (settings) =>
      new Receiver({
        settings,
        delivery: deliveryTo(settings, { now: clock.now, host: hostname() }),
        store,
        lookUp: (id) => {
          const machine = fleet.machineEverKnown(id);
          if (machine === null) return null;
          const { spec, hardware } = machine;
          return { site: spec.site, hostname: spec.hostname, maasSystemId: hardware.maas?.systemId ?? null };
        },
        now: clock.now,
        random: Math.random,
        newId,
        log: logger,
      }),
  );
  for (const receiver of receivers) {
    const stop = repeat(LOOK_EVERY, () => receiver.turn(), logger);
    stops.add(() => {
      receiver.stop();
      return stop();
    });
  }
  stops.add(repeat(HOUR, () => store.trimDeadLetters(clock.now() - config.retentionDays * DAY), logger));
  return new Exports(receivers, store, clock.now, `coldiron exports list --state ${shellWord(config.state)}`);
}
