import { describe, expect, it } from 'vitest';
import type { ApplianceProblem } from '../../appliance/domain/appliance-problem.ts';
import { blockingProblems, loaderProblems } from '../../appliance/provisioning/appliance-guards.ts';
import { machineIn, networkWith } from '../boot/boot-fixtures.ts';

const machine = machineIn('registered');
const network = networkWith({ efiLoader: 'snponly', secureBoot: false });
const having = (...files: string[]) => ({ loaderAvailable: (file: string) => files.includes(file) });

describe('a machine without a usable loader', () => {
  it('is named with what its firmware would need', () => {
    expect(loaderProblems(having(), machine, [network], 'efi')).toEqual([
      'no loader can be offered to its firmware (EFI x86-64: it needs snponly.efi, which is missing or damaged on this appliance: coldiron assets build)',
    ]);
    expect(loaderProblems(having('snponly.efi'), machine, [network], 'bios')[0]).toContain('undionly.kpxe');
  });

  it('is fine with any loader that its firmware may start', () => {
    expect(loaderProblems(having('snponly.efi'), machine, [network], 'efi')).toEqual([]);
    expect(loaderProblems(having('shimx64.efi', 'grubx64.efi'), machine, [network], 'efi')).toEqual([]);
    // Its firmware is not known yet.
    expect(loaderProblems(having('undionly.kpxe'), machine, [network], null)).toEqual([]);
    expect(loaderProblems(having(), machine, [network], null)[0]).toMatch(/x86 BIOS: .*; EFI x86-64: /);
  });

  it('is not our matter where another server answers DHCP', () => {
    expect(loaderProblems(having(), machine, [{ ...network, dhcp: 'off' }], 'efi')).toEqual([]);
  });
});

it('only a disk or a store that cannot be written blocks work', () => {
  const problem = (id: 'disk-full' | 'disk-low'): ApplianceProblem => ({
    ...{ id, subject: '/state', since: 0, words: id, nextStep: 'df', freeBytes: 0 },
  });
  expect(blockingProblems({ applianceProblems: () => [problem('disk-low'), problem('disk-full')] })).toEqual([
    'disk-full',
  ]);
});
