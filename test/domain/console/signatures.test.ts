// The table of signatures: each row is found by its example and by nothing that a healthy machine prints.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONSOLE_SIGNATURES, consoleMeaning, consoleSignature } from '../../../appliance/domain/console/signatures.ts';
import { plainLine } from '../../../appliance/domain/plain-line.ts';
import { captured, linesOf } from '../../bmc/console/captured-console.ts';

describe.each(CONSOLE_SIGNATURES)('the signature $id', ({ id, pattern, has, means, advice, source, example }) => {
  it('is found by its example, before all others', () => {
    expect(plainLine(example)).toBe(example);
    expect(example).toContain(has);
    expect(consoleSignature(example)?.id).toBe(id);
  });

  it('has words for people, and a source', () => {
    expect(means).toMatch(/^[a-zA-Z].{10,160}[^.]$/);
    expect(advice).toMatch(/^[a-zA-Z].{8,300}\.$/);
    expect(source.length).toBeGreaterThan(3);
    expect(consoleMeaning(id)).toMatchObject({ id, means, advice });
  });

  it('has no state and no unbounded repetition', () => {
    expect(pattern.flags).toBe('');
    expect(pattern.source.replace(/\\./g, '')).not.toMatch(/[*+]/);
  });
});

describe('the table', () => {
  it('has each id once', () => {
    const ids = CONSOLE_SIGNATURES.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names our own programs as they are', () => {
    const own = CONSOLE_SIGNATURES.flatMap(({ source }) => source.match(/(?:boot-assets|templates)\/[\w./-]+/g) ?? []);
    expect(own.length).toBeGreaterThan(5);
    for (const file of own) expect(() => readFileSync(join(import.meta.dirname, '../../..', file))).not.toThrow();
  });

  it('does not know the id of another version', () => {
    expect(consoleMeaning('no-such-signature')).toBeNull();
  });
});

/** Lines of healthy boots, and lines that only look like a failure. */
const HARMLESS = [
  'error: no suitable video mode found.',
  'An error: of no importance.',
  'iPXE 1.0.0+git-20190125.36a4c85-5.1 -- Open Source Network Boot Firmware -- http://ipxe.org',
  'BdsDxe: loading Boot0002 "UEFI PXEv4 (MAC:525400770001)" from PciRoot(0x0)/Pci(0x2,0x0)',
  '[    0.104113] tsc: Fast TSC calibration failed',
  "[    0.201122] acpi PNP0A03:00: fail to add MMCONFIG information, can't access extended PCI configuration space",
  '[    0.060000] ---[ end Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0) ]---',
  '[    3.201122] EXT4-fs (vda1): mounted filesystem with ordered data mode. Quota mode: none.',
  '[    1.000000] EDAC MC: Ver: 3.0.0',
  '[    1.000000] nvme nvme0: pci function 0000:01:00.0',
  'Warning: fsck not present, so skipping root file system',
  '[  OK  ] Started coldiron-node-agent.service - Coldiron node agent.',
  'Cloud-init v. 22.4.2 finished at Thu, 01 Jan 2026 00:00:00 +0000. Datasource DataSourceNoCloud.  Up 14.02 seconds',
  'cloud-init[340]: coldiron first boot: {"part":"node-bootstrap","name":"node-agent","outcome":"succeeded","exit":0}',
  'cloud-init[340]: coldiron first boot: {"part":"node-bootstrap","name":"node-agent","outcome":"running","exit":0}',
  'coldiron: no network yet (try 1): no reply from a DHCP server on eth0',
  'coldiron: write-image: done: 524 MB written, sha256 matches the order',
  'node-agent[402]: node-agent: enrolled: the certificate is valid until Jan  1 00:00:00 2027 GMT',
  'GNU GRUB  version 2.06',
  'PXE-M0F: Exiting Intel Boot Agent.',
  'node01 login: ',
];

describe('a harmless line', () => {
  it.each(HARMLESS)('%s', (line) => {
    expect(consoleSignature(line)?.id ?? null).toBeNull();
  });
});

const FOUND: readonly (readonly [string, readonly string[]])[] = [
  ['kernel-panic', ['panic']],
  ['ovmf-grub-kernel', []],
  ['ovmf-ipxe-kernel', ['efi-entry-failed']],
  ['seabios-ipxe-no-address', ['ipxe-no-address']],
  [
    'seabios-no-device',
    ['ipxe-no-address', 'bios-disk-not-bootable', 'bios-disk-not-bootable', 'bios-nothing-to-boot'],
  ],
  ['systemd', []],
];

describe('the console of a real machine', () => {
  it.each(FOUND)('%s has what it has, and nothing else', (name, ids) => {
    expect(linesOf(captured(name)).flatMap((line) => consoleSignature(line)?.id ?? [])).toEqual(ids);
  });
});

describe('a long line of noise', () => {
  const pieces = [...new Set(CONSOLE_SIGNATURES.map(({ has }) => has))];

  it('takes no more time than an ordinary one', () => {
    const noise = ['a', ' ', '.', 'error: ', 'a.py[', 'PXE-E', '(http://ipxe.org/', ...pieces].map((piece) =>
      piece.repeat(Math.ceil(4096 / piece.length)),
    );
    const began = performance.now();
    for (const line of noise) for (let at = 0; at < 20; at++) consoleSignature(line + at);
    // Two thousand lines; a pattern that backtracks takes seconds for one.
    expect(performance.now() - began).toBeLessThan(5000);
  });
});
