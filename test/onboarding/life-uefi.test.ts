import { it, onTestFinished, vi } from 'vitest';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { liveOnboardedLife } from './life.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS });

it('takes a UEFI machine of which only the BMC address is known from cold to active, and back to an empty disk', async () => {
  await liveOnboardedLife({ firmware: 'uefi-pxe', stopLater: onTestFinished });
});
