// The minimum of a SKU against what machines report: one row per sentence.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import type { HardwareMinimum, Sku } from '../../appliance/domain/catalogue.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import type { MachineFactsBody } from '../../appliance/provisioning/sessions/reports.ts';
import { requiredHardware, skuContradictions } from '../../appliance/provisioning/sku-hardware.ts';
import { skuNamed } from '../store/samples.ts';

const NOTHING: HardwareMinimum = {
  cores: null,
  threads: null,
  memoryBytes: null,
  disks: null,
  diskBytes: null,
  nics: null,
  nicMbps: null,
};
const skuWith = (minimum: Partial<HardwareMinimum>, hardware: Sku['hardware'] = 'require'): Sku => ({
  ...skuNamed('gp1'),
  minimum: { ...NOTHING, ...minimum },
  hardware,
});

const FACTS: MachineFactsBody = {
  cpu: { cores: 8, threads: 16 },
  memory: { bytes: 32 * 2 ** 30 },
  disks: [
    { name: 'sda', bytes: 480e9 },
    { name: 'sdb', bytes: 2e12 },
    { name: 'sdc', bytes: 4e12, removable: true },
    { name: 'sr0', bytes: 9e9, read_only: true },
  ],
  nics: [
    { name: 'eth0', speed_mbps: 10_000 },
    { name: 'eth1', speed_mbps: 1000 },
    { name: 'eth2', speed_mbps: null },
  ],
};

describe('a machine', () => {
  it.each<[string, Partial<HardwareMinimum>, string[]]>([
    ['has as many cores and threads as required', { cores: 8, threads: 16 }, []],
    ['has too few cores', { cores: 9 }, ['cores: at least 9 (SKU gp1), found 8']],
    ['has too few threads', { threads: 32 }, ['threads: at least 32 (SKU gp1), found 16']],
    ['has the memory that it was sold with', { memoryBytes: 32e9 }, []],
    ['has too little memory', { memoryBytes: 64e9 }, ['memory: at least 59.6 GiB (SKU gp1), found 32 GiB']],
    ['has one large disk', { diskBytes: 1e12 }, []],
    ['has two disks; the others do not count', { disks: 2 }, []],
    ['has too few disks', { disks: 3 }, ['disks: 3 (SKU gp1), found 480 GB, 2 TB']],
    [
      'has disks that are too small',
      { disks: 2, diskBytes: 1e12 },
      ['disks: 2 of at least 1 TB (SKU gp1), found 480 GB, 2 TB'],
    ],
    ['has a card whose speed is unknown, which counts', { nics: 2, nicMbps: 10_000 }, []],
    [
      'has too few fast cards',
      { nics: 3, nicMbps: 10_000 },
      ['nics: 3 of at least 10000 Mbit/s (SKU gp1), found 10000 Mbit/s, 1000 Mbit/s, unknown speed'],
    ],
    ['lacks several things', { cores: 9, nics: 4 }, expect.objectContaining({ length: 2 })],
  ])('%s', (_, minimum, problems) => {
    expect(requiredHardware(skuWith(minimum), FACTS)).toEqual(problems);
  });

  it('that reports nothing contradicts nothing', () => {
    const minimum = { cores: 8, threads: 16, memoryBytes: 1e9 };
    expect(requiredHardware(skuWith(minimum), { disks: [], nics: [] })).toEqual([]);
    expect(requiredHardware(skuWith({ disks: 1 }), { disks: [], nics: [] })).toEqual([
      'disks: 1 (SKU gp1), found none',
    ]);
  });

  it('of a SKU that only warns is reported, and not refused', () => {
    const sku = skuWith({ cores: 9 }, 'warn');
    expect(requiredHardware(sku, FACTS)).toEqual([]);
    expect(skuContradictions(sku, FACTS)).toEqual([
      { field: 'sku.cores', declared: 'at least 9 (SKU gp1)', found: '8' },
    ]);
  });

  it('of no SKU, or of one without a minimum, lacks nothing', () => {
    expect(skuContradictions(null, FACTS)).toEqual([]);
    expect(skuContradictions(skuNamed('gp1'), FACTS)).toEqual([]);
  });
});

describe('the SKUs that come with the appliance', () => {
  const file = join(import.meta.dirname, '../../inventory/minimum-skus.yaml');
  const { problems, sources } = checkInventory([
    { file, name: 'minimum-skus', value: load(readFileSync(file, 'utf8')) },
  ]);
  const skus = sources.flatMap(({ declared }) => declared.skus);

  it('are valid, and require the least hardware of each role', () => {
    expect(problems).toEqual([]);
    expect(skus.map(({ name, owner, hardware }) => [name, owner, hardware])).toEqual([
      ['minimum-control-plane', 'platform-ops', 'require'],
      ['minimum-worker', 'platform-ops', 'require'],
      ['minimum-all-in-one', 'platform-ops', 'require'],
    ]);
    expect(skus[0]?.minimum).toEqual({
      cores: 8,
      threads: 16,
      memoryBytes: 32e9,
      disks: 1,
      diskBytes: 500e9,
      nics: 2,
      nicMbps: 10_000,
    });
  });

  it('refuse a machine with 4 cores and 8 GiB as a control-plane node', () => {
    const small = { cpu: { cores: 4, threads: 8 }, memory: { bytes: 8 * 2 ** 30 }, disks: [], nics: [] };
    const found = requiredHardware(skus[0] ?? null, small);
    expect(found.map((problem) => problem.split(':')[0])).toEqual(['cores', 'threads', 'memory', 'disks', 'nics']);
  });

  it('report a mistake in a minimum with its place', () => {
    const value = {
      skus: [{ name: 'a', architecture: 'x86_64', minimum: { memory: '32', cores: 0 }, hardware: 'deny' }],
    };
    expect(checkInventory([{ file: 'f.yaml', name: 'f', value }]).problems.map((problem) => String(problem))).toEqual([
      expect.stringMatching(/minimum\.cores: must be 1 to 100000: 0/),
      expect.stringMatching(/hardware: must be one of warn, require: deny/),
      expect.stringMatching(/minimum\.memory: not a size/),
    ]);
  });
});
