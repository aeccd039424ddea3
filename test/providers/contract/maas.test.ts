// MAAS as a provider, over a real store and the MAAS double.

import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import type { Onboarding } from '../../../appliance/domain/onboarding.ts';
import { S } from '../maas/double/machine.ts';
import { openMaasRig } from '../maas/rig.ts';
import { describeProvider, type ProviderRig } from './describe-provider.ts';

async function openRig(): Promise<ProviderRig> {
  const rig = await openMaasRig();
  const pass = async (): Promise<void> => {
    await rig.clock.advance(30 * SECOND, async () => undefined);
    rig.double.tick();
  };
  const until = async (run: Onboarding, status: number): Promise<void> => {
    const end = rig.clock.now() + 60 * MINUTE;
    const isThere = () =>
      rig.machineOf(run).status === status && (status !== S.READY || rig.machineOf(run).owner === null);
    while (!isThere()) {
      if (rig.clock.now() > end) throw new Error(`it stays in status ${rig.machineOf(run).status}`);
      await pass();
    }
  };
  return {
    provider: rig.newProvider(),
    now: () => rig.clock.now(),
    // MAAS finds it by its BMC while it commissions it.
    recognizes: true,
    wait: pass,
    becomes: async (run, stage) => {
      if (stage === 'ready') return until(run, S.READY);
      if (stage === 'enrolling') return until(run, S.DEPLOYED);
      if (stage === 'active') return rig.enrolls(run);
      rig.machineOf(run).behaviour.deploying = 'datasource';
      await until(run, S.FAILED_DEPLOYMENT);
    },
    showsItself: async () => undefined,
    started: async (run, work) => rig.machineOf(run).effects[work] ?? 0,
    close: rig.close,
  };
}

describeProvider('maas', openRig);
