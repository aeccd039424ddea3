import { describe, expect, it } from 'vitest';
import type { Asset } from '../../appliance/assets/asset.ts';
import { checkBootContract } from '../../appliance/assets/boot-contract.ts';
import { deployWarnings, missingBootFiles, passwordFileProblems } from '../../appliance/cli/check-warnings.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { declaredInventory } from '../../appliance/inventory/declared-inventory.ts';
import { counter } from '../inventory/memory-store.ts';

const SUM = 'ab'.repeat(32);
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c ada@example.com';
const ADA = { name: 'ada', ssh_keys: [KEY], sudo: ['/usr/bin/id -u'], sudo_reviewed_by: 'grace' };
const DOCUMENT = {
  sites: [{ name: 'lab', domain: 'example.com', accounts: [ADA] }],
  networks: [{ name: 'boot', prefix: '10.0.1.0/24', gateway: '10.0.1.1', server: '10.0.1.2', dns: ['10.0.1.1'] }],
  skus: [{ name: 'small', architecture: 'x86_64' }],
  profiles: [
    { name: 'debian', kind: 'cloud-image', enrollment: 'first-boot', image: { source: 'd.raw', sha256: SUM } },
    {
      name: 'nixos',
      kind: 'nixos',
      role: 'all-in-one',
      enrollment: 'first-boot',
      storage: { layout: 'luks', disks: [{ by_id: 'x' }] },
    },
  ],
  nodes: [1, 2].map((number) => ({
    name: `a${number}`,
    sku: 'small',
    profile: 'debian',
    interfaces: [{ name: 'eth0', mac: `52:54:00:00:01:0${number}`, network: 'boot', address: `10.0.1.1${number}` }],
  })),
};

const IMAGE = { name: 'images/d.raw', sha256: SUM, size: 7 } as Asset;
const find = (name: string): Asset | null => (name === IMAGE.name ? IMAGE : null);

function warningsOf(edit: (document: typeof DOCUMENT) => void, library: typeof find | null = find): string[] {
  const value = structuredClone(DOCUMENT);
  edit(value);
  const { problems, warnings, sources } = checkInventory([{ file: 'lab.yaml', name: 'lab', value }]);
  expect(problems).toEqual([]);
  return [...warnings, ...deployWarnings(sources, declaredInventory(sources, 0, counter()), library)];
}

const node = (document: typeof DOCUMENT, at = 0): object => document.nodes[at] ?? {};

describe('check', () => {
  it('warns of nothing when nothing is missing', () => {
    expect(warningsOf(() => {})).toEqual([]);
  });

  it.each<[string, (document: typeof DOCUMENT) => void, RegExp]>([
    [
      'an image that is not in the library',
      (all) => Object.assign(all.profiles[0]?.image ?? {}, { source: 'e.raw' }),
      /^lab\.yaml: nodes\[0\]\.profile: its image e\.raw is not in the library \(images\/e\.raw\) \(and 1 more nodes\)$/,
    ],
    [
      'no DNS',
      (all) => Object.assign(all.networks[0] ?? {}, { dns: [] }),
      /^lab\.yaml: nodes\[0\]\.interfaces: none of its networks names a DNS server/,
    ],
    [
      'no accounts',
      (all) => Object.assign(all.sites[0] ?? {}, { accounts: [] }),
      /^lab\.yaml: nodes\[0\]\.accounts: .* nobody can log in/,
    ],
    [
      'no enrollment',
      (all) => Reflect.deleteProperty(all.profiles[0] ?? {}, 'enrollment'),
      /^lab\.yaml: nodes\[0\]\.profile: neither it nor its profile debian says how it enrolls/,
    ],
    [
      'disks that deploy cannot encrypt',
      (all) => Object.assign(node(all, 1), { profile: 'nixos' }),
      /^lab\.yaml: nodes\[1\]\.profile: .*encrypts its disks/,
    ],
    [
      'the old name of a key',
      (all) => Object.assign(node(all), { onboarding: 'maas' }),
      /^lab\.yaml: nodes\[0\]\.onboarding: this key was renamed: write enrollment: first-boot$/,
    ],
  ])('warns of %s', (_what, edit, expected) => {
    expect(warningsOf(edit)).toEqual([expect.stringMatching(expected)]);
  });

  it('warns of password files that cannot be used, once for each', async () => {
    const value = structuredClone(DOCUMENT);
    for (const at of [0, 1]) {
      Object.assign(node(value, at), { bmc: { address: `10.0.9.${at}`, password_file: '/nowhere/bmc' } });
    }
    const { sources } = checkInventory([{ file: 'lab.yaml', name: 'lab', value }]);
    const inventory = declaredInventory(sources, 0, counter());
    for (const [folder, words] of [
      ['/nowhere', /does not exist/],
      ['/elsewhere', /is not below \/elsewhere: move it below the folder that bmc\.password_folder/],
    ] as const) {
      const problems = await passwordFileProblems(inventory, { folder, state: '/state' });
      const [warning, ...others] = deployWarnings(sources, inventory, find, problems);
      expect(warning).toMatch(/^lab\.yaml: nodes\[0\]\.bmc\.password_file: \/nowhere\/bmc .* \(and 1 more nodes\)$/);
      expect(warning).toMatch(words);
      expect(others).toEqual([]);
    }
  });

  it('does not look for files without a state folder', () => {
    const edit = (all: typeof DOCUMENT) => Object.assign(all.profiles[0]?.image ?? {}, { source: 'e.raw' });
    expect(warningsOf(edit, null)).toEqual([]);
  });

  it('names missing boot files in one line, and only for declared architectures', () => {
    const { sources } = checkInventory([{ file: 'lab.yaml', name: 'lab', value: DOCUMENT }]);
    const inventory = declaredInventory(sources, 0, counter());
    const contract = checkBootContract(() => null, inventory.profiles);
    const [line, ...others] = missingBootFiles(contract, inventory);
    expect(line).toMatch(/^\d+ boot files are missing \(loader, service OS.*\): run coldiron assets build$/);
    expect(others).toEqual([]);
    const riscv = { file: 'x', what: 'loader', architectures: ['27 (EFI RISC-V 64-bit)'] };
    expect(missingBootFiles({ problems: [], missing: [riscv] }, inventory)).toEqual([]);
  });
});
