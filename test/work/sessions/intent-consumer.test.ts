import { describe, expect, it } from 'vitest';
import { intentConsumer } from '../../../appliance/work/sessions/intent-consumer.ts';
import { aLife, aMachine, anIntent, T0 } from '../../machines/machines.ts';
import { MemoryStore } from '../../machines/memory-store.ts';

describe('consuming an intent', () => {
  it('says yes to the first caller and passes the no of the store on to the second', async () => {
    const machine = aMachine({ lifecycle: aLife('deploying'), intent: anIntent() });
    const store = new MemoryStore(machine);
    const consume = intentConsumer(store, () => T0 + 1);
    expect(await consume(anIntent().id, machine, null)).toBe(true);
    expect(await consume(anIntent().id, machine, null)).toBe(false);
    expect(store.log.map(({ kind }) => kind)).toEqual(['intent.consumed']);
  });
});
