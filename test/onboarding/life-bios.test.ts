import { expect, it, onTestFinished, vi } from 'vitest';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { TroubledMachine } from './faults-machine.ts';
import { liveWholeLife } from './life.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS });

it('takes an undeclared BIOS machine from cold to active, although its first boot is interrupted, and back to an empty disk', async () => {
  await liveWholeLife({
    firmware: 'bios-ipxe-rom',
    stopLater: onTestFinished,
    meanwhile: async (rig, node) => {
      const machine = new TroubledMachine(rig, node);
      await machine.cutWhile(async () => {}, 'Welcome to .*Debian');
      expect(await rig.node(node)).toMatchObject({ state: 'enrolling', failure: null });
      await machine.powerOn();
    },
  });
});
