import { describe, expect, it } from 'vitest';
import type { Asset } from '../../appliance/assets/asset.ts';
import { checkBootContract } from '../../appliance/assets/boot-contract.ts';
import { advertisedFiles, loaderFor } from '../../appliance/boot/loaders.ts';
import { CLIENT_ARCHITECTURES, CPU_ARCHITECTURES, type CpuArchitecture } from '../../appliance/domain/architecture.ts';
import { name, profileWith } from '../boot/boot-fixtures.ts';

const asset = (name: string, kind: Asset['kind'], architecture: Asset['architecture']): Asset => ({
  name,
  file: `/nowhere/${name}`,
  size: 1,
  sha256: '0'.repeat(64),
  kind,
  architecture,
  contentType: 'application/efi',
});

const loaders = advertisedFiles().flatMap(({ tftpName, cpu }) =>
  tftpName === null ? [] : [asset(tftpName, tftpName.endsWith('.kpxe') ? 'bios' : 'efi', cpu)],
);
const imagesOf = (folder: string, kernel: string, cpu: CpuArchitecture): Asset[] => [
  asset(`${folder}/${kernel}`, 'kernel', cpu),
  asset(`${folder}/initrd`, 'initrd', null),
];
/** Every architecture has its loader and its service OS, and the one profile has its installer. */
const allRight = new Map(
  [
    ...loaders,
    ...CPU_ARCHITECTURES.flatMap((cpu) => imagesOf(`images/service-os-${cpu}`, 'kernel', cpu)),
    ...imagesOf('nixos/worker', 'bzImage', 'x86_64'),
  ].map((each) => [each.name, each] as const),
);
const find = (name: string): Asset | null => allRight.get(name) ?? null;
const without =
  (...names: string[]) =>
  (name: string): Asset | null =>
    names.includes(name) ? null : find(name);
const instead =
  (wrong: Asset) =>
  (name: string): Asset | null =>
    name === wrong.name ? wrong : find(name);

describe('the boot contract', () => {
  it('holds when every advertised file is present and of the right type', () => {
    expect(checkBootContract(find, [profileWith()])).toEqual({ problems: [], missing: [] });
  });

  it('names every file that can be advertised when the library is empty, with the affected architectures', () => {
    const { missing } = checkBootContract(() => null);
    expect(missing.filter(({ what }) => what === 'loader').map(({ file }) => file)).toEqual(
      loaders.map(({ name }) => name),
    );
    expect(missing[0]).toEqual({ file: 'undionly.kpxe', what: 'loader', architectures: ['0 (x86 BIOS)'] });
    expect(missing.filter(({ what }) => what !== 'loader')).toEqual(
      ['x86_64', 'arm64'].flatMap((cpu) =>
        ['kernel', 'initrd'].map((part) => ({
          file: `images/service-os-${cpu}/${part}`,
          what: 'service OS',
          architectures: [cpu],
        })),
      ),
    );
  });

  it('names a missing service OS and a missing installer, with the architectures that boot them', () => {
    const absent = ['images/service-os-riscv64/kernel', 'images/service-os-arm64/initrd', 'nixos/worker/bzImage'];
    expect(checkBootContract(without(...absent), [profileWith()]).missing).toEqual([
      { file: 'images/service-os-arm64/initrd', what: 'service OS', architectures: ['arm64'] },
      { file: 'images/service-os-riscv64/kernel', what: 'service OS', architectures: ['riscv64'] },
      { file: 'nixos/worker/bzImage', what: 'installer of worker', architectures: ['x86_64'] },
    ]);
  });

  it('requires no installer for a profile that is inactive, or that the service OS installs', () => {
    const profiles = [
      profileWith({ name: name('old'), active: false }),
      profileWith({ name: name('debian'), kind: 'cloud-image' }),
    ];
    expect(checkBootContract(find, profiles)).toEqual({ problems: [], missing: [] });
  });

  it("accepts a profile's installer for its own architecture, and reports the others as missing", () => {
    const both = profileWith({ architectures: ['x86_64', 'arm64'] });
    expect(checkBootContract(find, [both])).toEqual({
      problems: [],
      missing: [{ file: 'nixos/worker/bzImage', what: 'installer of worker', architectures: ['arm64'] }],
    });
  });

  it.each([
    [
      'a kernel of another architecture',
      asset('images/service-os-arm64/kernel', 'kernel', 'x86_64'),
      'images/service-os-arm64/kernel is advertised to arm64 as kernel of the service OS and is a Linux kernel for x86_64',
    ],
    [
      'a kernel of a profile for other machines',
      asset('nixos/worker/bzImage', 'kernel', 'arm64'),
      'nixos/worker/bzImage is advertised to x86_64 as kernel of the installer of worker and is a Linux kernel for arm64',
    ],
    [
      'an initrd instead of a kernel',
      asset('images/service-os-x86_64/kernel', 'initrd', null),
      'images/service-os-x86_64/kernel is advertised to x86_64 as kernel of the service OS and is an initrd',
    ],
    [
      'another file instead of an initrd',
      asset('nixos/worker/initrd', 'unknown', null),
      'nixos/worker/initrd is advertised to x86_64 as initrd of the installer of worker and is a file of no bootable type',
    ],
  ])('finds %s', (_what, wrong, words) => {
    const { problems } = checkBootContract(instead(wrong), [profileWith()]);
    expect(problems).toEqual([expect.stringContaining(words)]);
  });

  it.each([
    [
      'a program for another instruction set',
      'snponly.efi',
      asset('snponly.efi', 'efi', 'arm64'),
      'EFI program for arm64',
    ],
    ['a kernel instead of a loader', 'ipxe.efi', asset('ipxe.efi', 'kernel', 'x86_64'), 'Linux kernel for x86_64'],
    ['an EFI program for BIOS', 'undionly.kpxe', asset('undionly.kpxe', 'efi', 'x86_64'), 'EFI program for x86_64'],
    ['a GRUB that shim cannot start', 'grubaa64.efi', asset('grubaa64.efi', 'efi', 'x86_64'), 'EFI program for x86_64'],
  ])('finds %s', (_what, loader, wrong, words) => {
    const { problems } = checkBootContract(instead(wrong));
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) expect(problem).toContain(`${loader} is advertised to `);
    for (const problem of problems) expect(problem).toContain(words);
  });

  it('is respected by the boot policy: no machine is sent to a missing loader', () => {
    for (const { name: absent } of loaders) {
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
