import { describe, expect, it } from 'vitest';
import { LIFECYCLE_STATES, runsSession } from '../../appliance/domain/lifecycle.ts';
import { networkStart } from '../../appliance/machines/power-boot.ts';
import { aLife, aMachine, anIntent, T0 } from './machines.ts';

describe('a machine that is switched on', () => {
  it.each(LIFECYCLE_STATES)('while %s starts from the network exactly when the service OS has work there', (state) => {
    expect(networkStart(aMachine({ lifecycle: aLife(state) })) !== null).toBe(runsSession(state));
  });

  it.each([
    ['deploying', 'deploy', 'coldiron deploy node01'],
    ['releasing', 'erase', 'coldiron release node01'],
  ] as const)('while %s is told whether the work begins or was interrupted', (state, kind, again) => {
    const start = (consumedAt: number | null) =>
      networkStart(aMachine({ lifecycle: aLife(state), intent: anIntent({ kind, consumedAt }) }));
    expect(start(null)).toMatch(/^starts from the network, to (install|erase)$/);
    expect(start(T0)).toContain(again);
    // Of an earlier deployment.
    expect(start(T0 - 1)).not.toContain(again);
  });

  it('is interrupted when its release goes on without erasure', () => {
    const lifecycle = aLife('releasing', { fallbackUsed: true });
    expect(networkStart(aMachine({ lifecycle, intent: anIntent({ kind: 'erase' }) }))).toContain('releasing fails');
  });
});
