import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Asset } from '../../appliance/assets/asset.ts';
import type { ApplianceProblem } from '../../appliance/domain/appliance-problem.ts';
import type { Profile } from '../../appliance/domain/catalogue.ts';
import {
  type BoundHardware,
  type HardwareRecord,
  NO_HARDWARE,
  parseEkFingerprint,
} from '../../appliance/domain/hardware-identity.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { MachineSpec } from '../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../appliance/domain/network.ts';
import { mustParse, type Parsed, parsed, unparsable } from '../../appliance/domain/parsed.ts';
import type { DiskSelector, Storage } from '../../appliance/domain/system.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import type { CheckedCable } from '../../appliance/provisioning/cabling.ts';
import { deployProblems, type GuardDeps } from '../../appliance/provisioning/guards.ts';
import { WorkOrders } from '../../appliance/provisioning/orders/work-orders.ts';
import type { InspectedDisk } from '../../appliance/render/nixos/choose-disks.ts';
import type { Inspection } from '../../appliance/render/nixos/render-nixos.ts';
import { MAC, machineIn, NOW, name, networkWith, profileWith, SITE } from '../boot/boot-fixtures.ts';
import { TEMPLATES } from '../render/installers/samples.ts';

const KERNEL = 'images/service-os-x86_64/kernel';
const INITRD = 'images/service-os-x86_64/initrd';
const DISK = 'images/debian/disk.raw';
const IMAGE = { source: 'debian/disk.raw', sha256: 'ab', format: 'raw' } as const;

const BOUND: BoundHardware = { uuid: null, serial: 'SN1', macs: [MAC], tpm: null, boundAt: 0 };
const RECORDED: HardwareRecord = { bound: BOUND, refused: null };
const EK = mustParse(parseEkFingerprint('ab'.repeat(32)));
const TPM = { eks: [EK], issuer: null, pcrs: null };

interface World {
  readonly hardware?: HardwareRecord;
  readonly state?: LifecycleState;
  readonly spec?: Partial<MachineSpec>;
  readonly profile?: Partial<Profile>;
  readonly network?: Partial<SiteNetwork>;
  readonly missing?: readonly string[];
  readonly deps?: Partial<GuardDeps>;
}

const DISK_FOUND: InspectedDisk = {
  path: '/dev/sda',
  byId: ['ata-Disk_D-1'],
  serial: 'D-1',
  model: 'Disk',
  bytes: 1e12,
  rotational: false,
};

const inspectionOf = (...disks: readonly InspectedDisk[]): Inspection => ({ firmware: 'efi', disks });

const storageOn = (disk: Partial<DiskSelector>): Storage => ({
  layout: 'single',
  filesystem: 'ext4',
  swapMegabytes: 0,
  disks: [{ byId: null, serial: null, model: null, minBytes: null, maxBytes: null, rotational: null, ...disk }],
});

const asset = (of: string): Asset => ({ name: of, sha256: 'ab', size: 7 }) as Asset;

const DISK_FULL: ApplianceProblem = {
  ...{ id: 'disk-full', subject: '/state', since: 0, freeBytes: 0 },
  ...{ words: 'the disk of /state is full', nextStep: 'df -h /state' },
};

/** Everything is in order, except for the test's changes. */
function problemsIn({
  state = 'ready',
  spec = {},
  profile = {},
  network = {},
  missing = [],
  deps = {},
  hardware = RECORDED,
}: World) {
  const card = { name: 'eth0', mac: MAC, network: name('provisioning'), address: null, mtu: null };
  const machine = { ...machineIn(state, { spec: { interfaces: [card], ...spec } }), hardware };
  const fleet = new Fleet();
  const chosen = profileWith({ kind: 'cloud-image', image: IMAGE, role: null, enrollment: 'first-boot', ...profile });
  const here = networkWith({ pools: [], ...network });
  const pools = [{ from: '10.0.100.100', to: '10.0.100.200' }] as unknown as SiteNetwork['pools'];
  const catalogue = {
    sites: [SITE],
    networks: [{ ...here, pools }],
    skus: [],
    profiles: [chosen],
    clusters: [],
    roce: [],
  };
  fleet.replace({ ...catalogue, machines: [machine], sources: new Map(), declaredRevision: 1, revision: 1 });
  const find = (of: string): Asset | null => (missing.includes(of) ? null : asset(of));
  const orders = new WorkOrders({
    fleet,
    find,
    templates: TEMPLATES,
    nodeParts: async () => [],
    nodeApiUrl: () => null,
    nixosFile: async () => null,
    random: randomBytes,
    pushKey: () => 'ssh-ed25519 AAAA',
    given: async () => undefined,
  });
  return deployProblems(
    {
      fleet,
      hasNodeApi: () => true,
      driveProblem: () => null,
      skuProblems: async () => [],
      orders,
      find,
      images: {
        find: ({ kernel, initrd }) =>
          find(kernel) && find(initrd) ? parsed({ kernel, initrd, parameters: [] }) : unparsable(kernel),
      },
      bootContract: async () => ({ problems: [], missing: [] }),
      bootPort: () => 8080,
      fetchable: async () => parsed({ bytes: 7 }),
      bundleProblems: async () => [],
      bmcProblems: async () => [],
      inspection: async () => inspectionOf(DISK_FOUND),
      cabling: async () => [],
      pushProblems: async () => [],
      loaderAvailable: () => true,
      applianceProblems: () => [],
      readFiles: async () => undefined,
      now: () => NOW,
      ...deps,
    },
    { machine, profile: spec.profile ?? chosen.name },
  );
}

const refusing =
  (part: string) =>
  async (url: string): Promise<Parsed<{ bytes: number | null }>> =>
    url.includes(part) ? unparsable('the server answers 404') : parsed({ bytes: 7 });

describe('the guards of a deployment', () => {
  it('find no problem in a healthy machine', async () => {
    expect(await problemsIn({})).toEqual([]);
  });

  it('find no problem where a medium is required and the BMC has a drive, or where an accepted TPM replaces it', async () => {
    expect(await problemsIn({ profile: { identity: 'media' } })).toEqual([]);
    const bound: BoundHardware = { ...BOUND, tpm: { ...TPM, trust: 'accepted' } };
    const deps = { driveProblem: () => 'IPMI has no virtual drives' };
    expect(await problemsIn({ profile: { identity: 'media' }, hardware: { bound, refused: null }, deps })).toEqual([]);
  });

  it('need no inspection for a disk that is named by its id', async () => {
    const storage = storageOn({ byId: 'ata-Disk_D-1' });
    expect(await problemsIn({ profile: { storage }, deps: { inspection: async () => null } })).toEqual([]);
  });

  it.each<[string, World, RegExp]>([
    ['it is at work', { state: 'deploying' }, /^deploy is not possible from deploying/],
    ['it was never commissioned', { state: 'registered' }, /^deploy is not possible from registered/],
    ['its site is not declared', { spec: { site: name('elsewhere') } }, /^its site elsewhere is not declared$/],
    ['its profile is not declared', { spec: { profile: name('nothing') } }, /^its profile nothing is not declared$/],
    ['its profile is not active', { profile: { active: false } }, /^its profile worker is not active$/],
    [
      'its profile uses high-speed links, and none are assigned to it',
      { profile: { roce: true } },
      /^profile worker uses high-speed links \(roce: true\), and none are assigned to /,
    ],
    [
      'its hardware was never recorded',
      { hardware: NO_HARDWARE, deps: { inspection: async () => null } },
      /^its hardware was never recorded: commission it first$/,
    ],
    [
      'its profile requires a TPM, and it showed none',
      { profile: { identity: 'tpm' } },
      /^profile worker requires a TPM .* it showed none when it was commissioned/,
    ],
    [
      'its profile requires a TPM, and nobody has accepted the one it showed',
      {
        profile: { identity: 'tpm' },
        hardware: { bound: { ...BOUND, tpm: { ...TPM, trust: 'nobody' } }, refused: null },
      },
      /nobody has accepted its TPM yet: coldiron nodes rebind node01$/,
    ],
    [
      'its profile requires a TPM, and sessions are not encrypted',
      {
        profile: { identity: 'tpm' },
        hardware: { bound: { ...BOUND, tpm: { ...TPM, trust: 'accepted' } }, refused: null },
        deps: { hasNodeApi: () => false },
      },
      /sessions are not encrypted: set listen.node in the site file$/,
    ],
    [
      'it has less than its SKU requires',
      { deps: { skuProblems: async () => ['it has less than its SKU requires: cores'] } },
      /^it has less than its SKU requires: cores$/,
    ],
    [
      'its profile requires a medium, and its BMC has no virtual drive',
      { profile: { identity: 'media' }, deps: { driveProblem: () => 'IPMI has no virtual drives' } },
      /^profile worker requires a secret through the BMC, .* and no virtual drive: IPMI has no virtual drives$/,
    ],
    [
      'its profile requires a medium, and nobody has accepted its TPM, which replaces the medium',
      {
        profile: { identity: 'media' },
        hardware: { bound: { ...BOUND, tpm: { ...TPM, trust: 'nobody' } }, refused: null },
      },
      /^profile worker requires a secret .* nobody has accepted its TPM yet: coldiron nodes rebind node01$/,
    ],
    ['its profile is for another SKU', { profile: { skus: [name('h100')] } }, /for h100, and it is of no SKU$/],
    [
      'its profile is for another architecture',
      { profile: { architectures: ['arm64'] } },
      /is for arm64, but the node is x86_64$/,
    ],
    ['its profile names no image', { profile: { image: null } }, /names none \(image:\)$/],
    ['nothing boots from its network', { network: { server: null } }, /names this appliance \(server:\)$/],
    ['its image is missing', { missing: [DISK] }, /not in the library/],
    [
      'its image is another one',
      { profile: { image: { ...IMAGE, sha256: 'cd' } } },
      /has sha256 ab, but the profile says cd$/,
    ],
    [
      'there is no service OS',
      { missing: [KERNEL] },
      /^it would start images\/service-os-x86_64\/kernel, which is not/,
    ],
    [
      'the appliance does not answer on its subnet',
      { deps: { fetchable: refusing('/health') } },
      /at the URL that the machine will use/,
    ],
    ['its script is not served', { deps: { fetchable: refusing('.ipxe') } }, /^its boot script cannot be fetched/],
    [
      'its initrd is not served',
      { deps: { fetchable: refusing('/initrd') } },
      /^images\/service-os-x86_64\/initrd cannot be fetched/,
    ],
    [
      'a served file is truncated',
      { deps: { fetchable: async () => parsed({ bytes: 3 }) } },
      /has 3 bytes at .*, but 7 in the library$/,
    ],
    [
      'a boot loader is of the wrong kind',
      { deps: { bootContract: async () => ({ problems: ['ipxe.efi is for arm64'], missing: [] }) } },
      /^boot files: ipxe\.efi is for arm64$/,
    ],
    [
      'its authority is a placeholder',
      { deps: { bundleProblems: async () => ['ca.pem: certificate 1 cannot be read'] } },
      /^bootstrap bundle: ca\.pem/,
    ],
    [
      'no disk of the machine matches',
      { profile: { storage: storageOn({ serial: 'D-9' }) } },
      /^no disk matches serial D-9.*; it has ata-Disk_D-1 \(Disk, 1 TB\)$/,
    ],
    [
      'two disks of the machine match',
      {
        deps: {
          inspection: async () => inspectionOf(DISK_FOUND, { ...DISK_FOUND, path: '/dev/sdb', byId: ['ata-Disk_D-2'] }),
        },
      },
      /^2 disks match .*: ata-Disk_D-1 \(Disk, 1 TB\), ata-Disk_D-2 \(Disk, 1 TB\); name one by its id$/,
    ],
    [
      'its only disk is smaller than the image',
      { deps: { inspection: async () => inspectionOf({ ...DISK_FOUND, bytes: 6 }) } },
      /^no disk matches at least/,
    ],
    [
      'its only disk is smaller than what a compressed image unpacks to',
      {
        profile: { image: { ...IMAGE, format: 'zstd' } },
        deps: {
          find: (of: string) => ({ ...asset(of), unpackedBytes: 524_288_000 }),
          inspection: async () => inspectionOf({ ...DISK_FOUND, bytes: 300_000_000 }),
        },
      },
      /^no disk matches at least 524 MB; it has ata-Disk_D-1 \(Disk, 300 MB\)$/,
    ],
    [
      'there is no usable loader for its firmware',
      { deps: { loaderAvailable: () => false } },
      /^no loader can be offered to its firmware \(EFI x86-64: it needs \S+, which is missing or damaged .*assets build\)$/,
    ],
    [
      'the disk of the appliance is full',
      { deps: { applianceProblems: () => [DISK_FULL] } },
      /^the disk of \/state is full$/,
    ],
    [
      'the machine was never inspected',
      { deps: { inspection: async () => null } },
      /^its disks are not known yet, .*: commission it first$/,
    ],
    [
      'the appliance is to install NixOS, and cannot',
      {
        profile: { kind: 'nixos', image: null, install: 'push', storage: storageOn({ serial: 'D-1' }) },
        deps: { pushProblems: async () => ['this appliance cannot push NixOS: nix is not on its PATH'] },
      },
      /^this appliance cannot push NixOS: nix is not on its PATH$/,
    ],
    [
      'its BMC does not answer',
      { deps: { bmcProblems: async () => ['its BMC at 10.0.10.50 cannot be used'] } },
      /^its BMC at 10\.0\.10\.50/,
    ],
  ])('report when %s', async (_, world, reason) => {
    expect(await problemsIn(world)).toEqual(expect.arrayContaining([expect.stringMatching(reason)]));
  });

  it('reject a node that can never enroll, and accept one that is enrolled by hand', async () => {
    const broken = { bundleProblems: async () => ['the node API is off'] };
    const [said, ...rest] = await problemsIn({ profile: { enrollment: null }, deps: broken });
    expect(said).toMatch(/^neither it nor its profile \S+ says how it enrolls: set enrollment: first-boot/);
    expect(rest).toEqual([]);
    expect(await problemsIn({ profile: { enrollment: 'manual' }, deps: broken })).toEqual([]);
    const ofNode = { spec: { enrollment: 'first-boot' }, profile: { enrollment: 'manual' }, deps: broken } as const;
    expect(await problemsIn(ofNode)).toEqual(['bootstrap bundle: the node API is off']);
  });

  it('report all problems at once', async () => {
    const problems = await problemsIn({
      state: 'active',
      profile: { active: false, image: { ...IMAGE, sha256: 'cd' } },
      missing: [INITRD],
    });
    expect(problems).toHaveLength(4);
  });

  it('requires the declared cabling only where the profile does', async () => {
    const cable: CheckedCable = {
      ...{ name: 'eth0', mac: MAC, declared: { name: 'sw3', port: 'Eth1/12' }, seen: null, seenAt: null, link: false },
      verdict: 'not-heard',
      owner: null,
      summary: 'no link: check the cable',
    };
    const deps = { cabling: async () => [cable] };
    expect(await problemsIn({ deps })).toEqual([]);
    expect(await problemsIn({ deps, profile: { cabling: 'require' } })).toEqual([
      expect.stringMatching(
        /requires the declared cabling .*eth0 belongs at sw3 Eth1\/12: no link: check the cable; then commission it again/,
      ),
    ]);
  });
});
