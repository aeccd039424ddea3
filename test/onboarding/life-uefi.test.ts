import { it, onTestFinished, vi } from 'vitest';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { liveWholeLife } from './life.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS });

it('takes an undeclared UEFI machine from cold to active, and back to an empty disk', async () => {
  await liveWholeLife({ firmware: 'uefi-pxe', stopLater: onTestFinished });
});
