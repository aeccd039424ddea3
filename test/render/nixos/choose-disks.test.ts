import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DiskSelector, Storage } from '../../../appliance/domain/system.ts';
import {
  chooseDisks,
  type InspectedDisk,
  pathsWithoutInspection,
} from '../../../appliance/render/nixos/choose-disks.ts';
import { ANY_DISK, byId } from '../plans.ts';

const disk = (changes: Partial<InspectedDisk>): InspectedDisk => ({
  path: '/dev/sda',
  byId: ['ata-SSD_A', 'wwn-0x5000'],
  serial: 'A1',
  model: 'Samsung PM9A3',
  bytes: 480_000_000_000,
  rotational: false,
  ...changes,
});

const SSD = disk({});
const SECOND_SSD = disk({ path: '/dev/sdb', byId: ['ata-SSD_B'], serial: 'B2' });
const HDD = disk({ path: '/dev/sdc', byId: ['ata-HDD_C'], serial: 'C3', model: 'Old', bytes: 4e12, rotational: true });
const ALL = [SSD, SECOND_SSD, HDD];

const storage = (...disks: DiskSelector[]): Storage => ({
  layout: 'single',
  disks,
  filesystem: 'ext4',
  swapMegabytes: 0,
});
const selector = (changes: Partial<DiskSelector>): DiskSelector => ({ ...ANY_DISK, ...changes });
const chosen = (found: readonly InspectedDisk[], ...disks: DiskSelector[]) => chooseDisks(storage(...disks), found);

describe('choosing disks', () => {
  it.each<[what: string, DiskSelector, path: string]>([
    ['its id', byId('ata-SSD_B'), '/dev/disk/by-id/ata-SSD_B'],
    ['another of its ids, which is then used', byId('wwn-0x5000'), '/dev/disk/by-id/wwn-0x5000'],
    ['its serial number', selector({ serial: 'B2' }), '/dev/disk/by-id/ata-SSD_B'],
    ['its model, case-insensitively', selector({ model: 'OLD' }), '/dev/disk/by-id/ata-HDD_C'],
    ['its minimum size', selector({ minBytes: 1e12 }), '/dev/disk/by-id/ata-HDD_C'],
    ['its kind', selector({ rotational: true }), '/dev/disk/by-id/ata-HDD_C'],
    ['several at once', selector({ maxBytes: 1e12, serial: 'A1', rotational: false }), '/dev/disk/by-id/ata-SSD_A'],
  ])('finds the one disk by %s', (_what, wanted, path) => {
    expect(chosen(ALL, wanted)).toEqual({ ok: true, value: [path] });
  });

  it('never guesses between two matches, and names both', () => {
    expect(chosen(ALL, selector({ rotational: false }))).toEqual({
      ok: false,
      reason:
        '2 disks match not rotating: ata-SSD_A (Samsung PM9A3, 480 GB), ata-SSD_B (Samsung PM9A3, 480 GB); name one by its id',
    });
  });

  it('lists the disks of the machine if none matches', () => {
    expect(chosen([SSD, HDD], selector({ serial: 'nope', minBytes: 1e9 }))).toEqual({
      ok: false,
      reason:
        'no disk matches serial nope, at least 1 GB; it has ata-SSD_A (Samsung PM9A3, 480 GB), ata-HDD_C (Old, 4 TB)',
    });
    expect(chosen([], byId('ata-SSD_A'))).toEqual({
      ok: false,
      reason: 'no disk matches id ata-SSD_A; it has no disk',
    });
  });

  it('does not select a disk whose id is not the requested one', () => {
    expect(chosen(ALL, byId('ata-SSD_A'), selector({ rotational: false }))).toEqual({
      ok: true,
      value: ['/dev/disk/by-id/ata-SSD_A', '/dev/disk/by-id/ata-SSD_B'],
    });
  });

  it('rejects one disk for two selectors', () => {
    expect(chosen(ALL, selector({ serial: 'C3' }), selector({ rotational: true }))).toEqual({
      ok: false,
      reason: 'ata-HDD_C (Old, 4 TB) is matched by two selectors',
    });
  });

  it('uses the kernel name only for a single disk', () => {
    const nameless = disk({ byId: [], path: '/dev/vda' });
    expect(chosen([nameless], ANY_DISK)).toEqual({ ok: true, value: ['/dev/vda'] });
    expect(chosen([nameless, HDD], selector({ rotational: false }))).toMatchObject({
      ok: false,
      reason: expect.stringContaining('has no name below /dev/disk/by-id'),
    });
  });

  it('reports all problems at once', () => {
    const result = chosen(ALL, selector({ serial: 'x' }), selector({ rotational: false }));
    expect(result).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/no disk matches serial x.*; 2 disks match/),
    });
  });

  it('rejects an id that is unsafe in a shell', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const result = pathsWithoutInspection(storage(byId(name)));
        if (result.ok) expect(result.value[0]).toMatch(/^\/dev\/disk\/by-id\/[\w.:+,=@-]+$/);
      }),
    );
    expect(pathsWithoutInspection(storage(byId('a; rm -rf /'))).ok).toBe(false);
    expect(pathsWithoutInspection(storage(byId('../sda'))).ok).toBe(false);
  });

  it('selects for any input only disks that match, that are the only match, and each only once', () => {
    const anyDisk = fc.record({
      path: fc.constantFrom('/dev/sda', '/dev/sdb'),
      byId: fc.uniqueArray(fc.constantFrom('ata-1', 'ata-2', 'ata-3', 'wwn-4'), { maxLength: 2 }),
      serial: fc.option(fc.constantFrom('s1', 's2')),
      model: fc.option(fc.constantFrom('M', 'm', 'n')),
      bytes: fc.constantFrom(1e9, 2e9, 3e9),
      rotational: fc.boolean(),
    });
    const anySelector = fc.record({
      byId: fc.option(fc.constantFrom('ata-1', 'ata-2')),
      serial: fc.option(fc.constantFrom('s1', 's2')),
      model: fc.option(fc.constantFrom('M', 'n')),
      minBytes: fc.option(fc.constantFrom(1e9, 2e9)),
      maxBytes: fc.option(fc.constantFrom(2e9, 3e9)),
      rotational: fc.option(fc.boolean()),
    });
    fc.assert(
      fc.property(
        fc.array(anyDisk, { maxLength: 4 }),
        fc.array(anySelector, { minLength: 1, maxLength: 2 }),
        (found, wanted) => {
          const result = chosen(found, ...wanted);
          if (!result.ok) {
            expect(result.reason).not.toBe('');
            return;
          }
          expect(new Set(result.value).size).toBe(wanted.length);
          wanted.forEach((one, at) => {
            const path = result.value[at] ?? '';
            const owners = found.filter(
              (each) => each.byId.some((name) => path === `/dev/disk/by-id/${name}`) || each.path === path,
            );
            expect(owners.some((each) => one.rotational === null || each.rotational === one.rotational)).toBe(true);
            expect(owners.some((each) => one.serial === null || each.serial === one.serial)).toBe(true);
          });
        },
      ),
      { numRuns: 1000 },
    );
  });
});
