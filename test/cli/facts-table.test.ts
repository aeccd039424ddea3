import { describe, expect, it } from 'vitest';
import { factsTable } from '../../appliance/cli/facts-table.ts';

const output = { colour: false, write: () => undefined };
const linesOf = (facts: Parameters<typeof factsTable>[1]['facts']): string[] =>
  factsTable(output, { at: '2030-01-01T00:00:00Z', facts }).split('\n').slice(0, -1);

describe('the facts table', () => {
  it('has a line for each component, with sizes as vendors state them', () => {
    const lines = linesOf({
      system: { manufacturer: 'Acme', product: 'Box', serial: 'S-1' },
      firmware: { kind: 'uefi', version: '1.0', secure_boot: true },
      cpu: { model: 'Core', threads: 8 },
      memory: { bytes: 8 * 1024 ** 3 },
      disks: [{ name: 'sda', model: 'Disk', serial: 'D-1', bytes: 1e12 }],
      nics: [
        { name: 'eth0', mac: '52:54:00:12:34:56', link: true, neighbour: { system: 'switch1', port: '7' } },
        { name: 'eth1', mac: null, link: false, neighbour: null },
      ],
    });
    expect(lines).toEqual([
      'found at    2030-01-01T00:00:00Z',
      'machine     Acme, Box, serial S-1',
      'firmware    uefi, 1.0, Secure Boot on',
      'cpu         Core, 8 threads',
      'memory      8 GiB',
      'sda         Disk, serial D-1, 1 TB',
      'eth0        52:54:00:12:34:56, at switch1, 7',
      'eth1        no link',
    ]);
  });

  it('does not round a small size to nothing, nor up to a whole unit', () => {
    const lines = linesOf({
      memory: { bytes: 768 * 1024 ** 2 },
      disks: [
        { name: 'vda', bytes: 300 * 1024 ** 2 },
        { name: 'vdb', bytes: 1_920_383_410_176 },
        { name: 'vdc', bytes: 480_103_981_056 },
      ],
      nics: [],
    });
    expect(lines.slice(4)).toEqual([
      'memory      768 MiB',
      'vda         315 MB',
      'vdb         1.92 TB',
      'vdc         480 GB',
    ]);
  });

  it('has a dash for a missing fact', () => {
    expect(linesOf({ disks: [], nics: [] }).slice(1)).toEqual([
      'machine     -',
      'firmware    -',
      'cpu         -',
      'memory      -',
    ]);
  });

  it('removes control characters that a machine sent', () => {
    const text = factsTable(output, {
      at: '\u001b[2J',
      facts: { disks: [{ name: '\u009b2J', model: 'a\nb', bytes: 1 }], nics: [] },
    });
    expect(text.match(/[^\P{Cc}\n]/gu)).toBeNull();
    expect(text.split('\n')).toHaveLength(7);
  });
});
