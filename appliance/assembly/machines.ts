// The commands of machines, and the lifecycle runner with its effects.

import type { BmcService } from '../bmc/access/bmc-service.ts';
import { effectHandlers } from '../machines/effects.ts';
import { MachineCommands } from '../machines/execute.ts';
import { LifecycleRunner } from '../machines/runner.ts';
import type { SessionMedia } from '../provisioning/media/session-media.ts';
import { lastHeardReader } from '../provisioning/sessions/session-watch.ts';
import type { Foundation } from './foundation.ts';

export async function openMachines(
  foundation: Foundation,
  bmcs: BmcService,
  media: SessionMedia,
): Promise<MachineCommands> {
  const { store, fleet, clock, newId, logger, stops } = foundation;
  const commands = new MachineCommands({
    ...{ store, newId },
    now: clock.now,
    deployMinutes: ({ intent, spec }) => {
      const profile = intent?.profile ?? spec.profile;
      return (profile && fleet.profile(profile)?.deployMinutes) ?? null;
    },
  });
  const runner = new LifecycleRunner({
    ...{ store, commands },
    lastHeard: lastHeardReader(store, clock.now),
    clock,
    log: logger,
    effects: effectHandlers({
      store,
      now: clock.now,
      bmcs: bmcs.effects,
      beforeNetworkBoot: (machine, correlationId) => media.place(machine, correlationId),
      // The machine is then marked, and its disks do not pass to the next user.
      mayReleaseUnerased: ({ spec: { site } }) => (site && fleet.site(site)?.releaseWithoutErase) ?? false,
    }),
  });
  await runner.start();
  stops.add(() => runner.stop());
  stops.add(() => bmcs.stop());
  return commands;
}
