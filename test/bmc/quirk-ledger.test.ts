import { describe, expect, it } from 'vitest';
import { bestOf, memoryLedger } from '../../appliance/bmc/quirk-ledger.ts';

const KIND = { vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.0' };

describe('the quirk ledger', () => {
  it('knows nothing at first, and nothing good of what was only ignored', async () => {
    const ledger = memoryLedger();
    expect(await ledger.best(KIND)).toBeNull();
    await ledger.ignored(KIND, 'ipmi-efi-once');
    expect(await ledger.best(KIND)).toBeNull();
  });

  it('keeps every firmware apart', async () => {
    const ledger = memoryLedger();
    await ledger.worked(KIND, 'ipmi-legacy-once', 1);
    expect(await ledger.best(KIND)).toBe('ipmi-legacy-once');
    expect(await ledger.best({ ...KIND, firmware: '1.1' })).toBeNull();
  });

  it.each([
    [
      'what is always obeyed before what is mostly',
      [
        ['a', 9, 1],
        ['b', 2, 0],
      ],
      'b',
    ],
    [
      'what has been tried more often among equals',
      [
        ['a', 1, 0],
        ['b', 3, 0],
      ],
      'b',
    ],
    ['nothing where nothing worked', [['a', 0, 3]], null],
  ] as const)('prefers %s', (_what, rows, best) => {
    expect(bestOf(rows.map(([method, worked, ignored]) => ({ method, worked, ignored })))).toBe(best);
  });
});
