import { it, onTestFinished, vi } from 'vitest';
import { LIFE_WITHIN_MS, liveWholeLife } from './life.ts';

vi.setConfig({ testTimeout: LIFE_WITHIN_MS });

it('takes an undeclared UEFI machine from cold to active, and back to an empty disk', async () => {
  await liveWholeLife({ firmware: 'uefi-pxe', stopLater: onTestFinished });
});
