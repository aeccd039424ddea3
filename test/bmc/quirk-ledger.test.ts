import { describe, expect, it } from 'vitest';
import { bestOf, memoryLedger } from '../../appliance/bmc/quirk-ledger.ts';

const KIND = { vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.0' };

describe('the quirk ledger', () => {
  it('has no best method at first, nor for methods that were only ignored', async () => {
    const ledger = memoryLedger();
    expect(await ledger.best(KIND)).toBeNull();
    await ledger.ignored(KIND, 'ipmi-efi-once');
    expect(await ledger.best(KIND)).toBeNull();
  });

  it('separates firmware versions', async () => {
    const ledger = memoryLedger();
    await ledger.worked(KIND, 'ipmi-legacy-once', 1);
    expect(await ledger.best(KIND)).toBe('ipmi-legacy-once');
    expect(await ledger.best({ ...KIND, firmware: '1.1' })).toBeNull();
  });

  it.each([
    [
      'the method with the higher success rate',
      [
        ['a', 9, 1],
        ['b', 2, 0],
      ],
      'b',
    ],
    [
      'the method with more successes among equals',
      [
        ['a', 1, 0],
        ['b', 3, 0],
      ],
      'b',
    ],
    ['none when none worked', [['a', 0, 3]], null],
  ] as const)('prefers %s', (_what, rows, best) => {
    expect(bestOf(rows.map(([method, worked, ignored]) => ({ method, worked, ignored })))).toBe(best);
  });
});
