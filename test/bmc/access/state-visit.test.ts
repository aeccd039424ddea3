import { describe, expect, it } from 'vitest';
import { MovedOn, whileInState } from '../../../appliance/bmc/access/state-visit.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { aLife, aMachine, T0 } from '../../machines/machines.ts';

const MACHINE: Machine = { ...aMachine({ lifecycle: aLife('deploying') }), version: 7 };
const FAILED: Machine = { ...MACHINE, lifecycle: aLife('failed'), version: 8 };

function visiting(first: Machine | null) {
  const listeners = new Set<() => void>();
  let now = first;
  const visit = whileInState(MACHINE, {
    current: () => now,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  const become = (machine: Machine | null): void => {
    now = machine;
    for (const listener of [...listeners]) listener();
  };
  return { ...visit, become, listeners };
}

describe('a visit to a state', () => {
  it.each([
    ['enters another state', FAILED, 'failed'],
    ['enters the same state again', { ...MACHINE, lifecycle: aLife('deploying', { since: T0 + 1 }) }, 'deploying'],
    ['is removed', null, 'removed'],
  ])('is over as soon as the machine %s', (_how, changed, state) => {
    const { signal, become, listeners } = visiting(MACHINE);
    become({ ...MACHINE, version: 8 });
    expect(signal.aborted).toBe(false);
    become(changed);
    expect(signal.reason).toEqual(new MovedOn(state));
    expect(listeners.size).toBe(0);
  });

  it('is over from the beginning when the machine has left the state already', () => {
    const { signal, listeners } = visiting(FAILED);
    expect([signal.aborted, listeners.size]).toEqual([true, 0]);
  });

  it.each([
    ['does not know the machine yet', null],
    ['has an older version', { ...FAILED, version: 6 }],
  ])('continues while the reader %s', (_how, stale) => {
    const { signal, become } = visiting(stale);
    become(stale);
    expect(signal.aborted).toBe(false);
    become(MACHINE);
    expect(signal.aborted).toBe(false);
    become(null);
    expect(signal.aborted).toBe(true);
  });

  it('listens no longer when its work has ended', () => {
    const { signal, end, become, listeners } = visiting(MACHINE);
    end();
    become(FAILED);
    expect([signal.aborted, listeners.size]).toEqual([false, 0]);
  });
});
