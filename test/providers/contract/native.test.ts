// Coldiron itself as a provider, over a real store and BMCs that record.

import { lifeIn } from '../../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { Onboarding } from '../../../appliance/domain/onboarding.ts';
import { openApi } from '../../api/api-fixture.ts';
import { transitionOf } from '../../store/samples.ts';
import { writesTo } from '../../store/writes.ts';
import { describeProvider, type ProviderRig } from './describe-provider.ts';

async function openRig(): Promise<ProviderRig> {
  const { store, clock, native, fleet, close } = await openApi({ deployable: true });
  const machineOf = async ({ machine }: Onboarding): Promise<Machine> => {
    const found = machine && (await store.machine(machine));
    if (!found) throw new Error('the run has no machine');
    return found;
  };
  return {
    provider: native,
    recognizes: false,
    wait: async () => undefined,
    now: () => clock.now(),
    becomes: async (run, stage) => {
      const failure = { step: 'deploy', reason: 'DataSourceNotFoundException: no data source' } as const;
      const lifecycle = { ...lifeIn(stage, clock.now()), failure: stage === 'failed' ? failure : null };
      await writesTo(store).transition(transitionOf(await machineOf(run), stage, { lifecycle }));
    },
    showsItself: async (run) => {
      const { id, version, spec, source } = await machineOf(run);
      const interfaces = [
        { name: 'eth0', mac: '52:54:00:99:00:01', network: 'provisioning', address: null, mtu: null },
      ];
      await store.writeInventory({
        ...{ putCatalogue: [], dropCatalogue: [], createMachines: [], removeMachines: [], events: [], audit: [] },
        declaredRevision: fleet.at.declaredRevision,
        changeMachines: [{ id, version, source, spec: { ...spec, interfaces: interfaces as never } }],
      });
    },
    started: async (run, work) => {
      const kind = work === 'commission' ? 'lifecycle.commissioning' : 'intent.armed';
      return (await store.events({ machine: (await machineOf(run)).id, kind, limit: 100 })).length;
    },
    close,
  };
}

describeProvider('native', openRig);
