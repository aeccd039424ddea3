import { describe, expect, it } from 'vitest';
import { intentConsumer } from '../../../appliance/provisioning/sessions/intent-consumer.ts';
import { aLife, aMachine, anIntent, T0 } from '../../machines/machines.ts';
import { MemoryStore } from '../../machines/memory-store.ts';

describe('consuming an intent', () => {
  it('resolves to true for the first caller, and to false when the store refuses the second', async () => {
    const machine = aMachine({ lifecycle: aLife('deploying'), intent: anIntent() });
    const store = new MemoryStore(machine);
    const consume = intentConsumer(store, () => T0 + 1);
    expect(await consume(anIntent().id, machine, null)).toBe(true);
    expect(await consume(anIntent().id, machine, null)).toBe(false);
    expect(store.log.map(({ kind }) => kind)).toEqual(['intent.consumed']);
  });
});
