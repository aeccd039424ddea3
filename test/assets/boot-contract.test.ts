import { describe, expect, it } from 'vitest';
import type { Asset } from '../../appliance/assets/asset.ts';
import { checkBootContract } from '../../appliance/assets/boot-contract.ts';
import { CLIENT_ARCHITECTURES } from '../../appliance/domain/architecture.ts';
import { advertisedFiles, loaderFor } from '../../appliance/policy/loaders.ts';

const asset = (name: string, kind: Asset['kind'], architecture: Asset['architecture']): Asset => ({
  name,
  file: `/nowhere/${name}`,
  size: 1,
  sha256: '0'.repeat(64),
  kind,
  architecture,
  contentType: 'application/efi',
});

const allRight = new Map(
  advertisedFiles().flatMap(({ tftpName, cpu }) =>
    tftpName === null ? [] : [[tftpName, asset(tftpName, tftpName.endsWith('.kpxe') ? 'bios' : 'efi', cpu)] as const],
  ),
);

describe('the boot contract', () => {
  it('holds when everything that is advertised is there and is what it should be', () => {
    expect(checkBootContract((name) => allRight.get(name) ?? null)).toEqual({ problems: [], missing: [] });
  });

  it('names every file that can be advertised when nothing is there, and for whom', () => {
    const { missing } = checkBootContract(() => null);
    const names = advertisedFiles().flatMap(({ tftpName }) => tftpName ?? []);
    expect(missing.map(({ file }) => file)).toEqual(names);
    expect(missing[0]).toEqual({ file: 'undionly.kpxe', architectures: ['0 (x86 BIOS)'] });
  });

  it.each([
    [
      'a program for another instruction set',
      'snponly.efi',
      asset('snponly.efi', 'efi', 'arm64'),
      'EFI program for arm64',
    ],
    ['a kernel in the place of a loader', 'ipxe.efi', asset('ipxe.efi', 'kernel', 'x86_64'), 'Linux kernel for x86_64'],
    ['an EFI program for BIOS', 'undionly.kpxe', asset('undionly.kpxe', 'efi', 'x86_64'), 'EFI program for x86_64'],
    ['a GRUB that shim cannot start', 'grubaa64.efi', asset('grubaa64.efi', 'efi', 'x86_64'), 'EFI program for x86_64'],
  ])('finds %s', (_what, name, wrong, words) => {
    const { problems } = checkBootContract((asked) => (asked === name ? wrong : (allRight.get(asked) ?? null)));
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toContain(`${name} is advertised to `);
    for (const problem of problems) expect(problem).toContain(words);
  });

  it('is kept by the policy: whatever is missing, no machine is sent to it', () => {
    for (const absent of allRight.keys()) {
      const available = (file: string): boolean => file !== absent;
      for (const architecture of CLIENT_ARCHITECTURES.values()) {
        for (const efiLoader of ['ipxe', 'snponly'] as const) {
          for (const secureBoot of [false, true]) {
            const choice = loaderFor(architecture, { efiLoader, secureBoot, available });
            if (choice.kind === 'loader') expect([choice.file, choice.next]).not.toContain(absent);
          }
        }
      }
    }
  });
});
