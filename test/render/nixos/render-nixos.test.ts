import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Inspection, renderNixos } from '../../../appliance/render/nixos/render-nixos.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { byId, host, ip, named, SAMPLE_PLANS } from '../plans.ts';
import { nixosTemplates, siteFiles } from './nix-evaluation.ts';

const BIOS: Inspection = {
  firmware: 'bios',
  disks: ['ata-DISK_A', 'ata-DISK_B'].map((name) => ({
    path: '/dev/sda',
    byId: [name],
    serial: null,
    model: null,
    bytes: 1e12,
    rotational: false,
  })),
};

const rendered = (plan: NodePlan, inspection: Inspection | null = null) =>
  renderNixos(plan, nixosTemplates, inspection);
const { controlPlane } = SAMPLE_PLANS;

describe('the rendering of a NixOS node', () => {
  const goldens: readonly [name: string, plan: NodePlan, inspection: Inspection | null][] = [
    ['node01', controlPlane, null],
    ['node04', SAMPLE_PLANS.worker, null],
    ['bonded01', SAMPLE_PLANS.bonded, null],
    ['bonded01-bios', { ...SAMPLE_PLANS.bonded, architecture: 'x86_64' }, BIOS],
    ['lab01', SAMPLE_PLANS.allInOne, null],
    ['lvm01', SAMPLE_PLANS.lvm, null],
    ['luks01', SAMPLE_PLANS.luks, null],
    ['cold01', SAMPLE_PLANS.uninspected, null],
    ['bare01', SAMPLE_PLANS.bare, null],
  ];

  it.each(goldens)('of %s matches its golden', async (name, plan, inspection) => {
    const text = rendered(plan, inspection)
      .map((file) => `# ---- ${file.path} ${file.mode.toString(8)}\n${file.text}`)
      .join('\n');
    await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'goldens', `${name}.txt`));
  });

  it('has the paths of the runbook, and its private files are readable by their owner only', () => {
    expect(rendered(controlPlane).map(({ path, mode, secret }) => [path, mode.toString(8), secret])).toEqual([
      ['nodes/node01.example.com/configuration.nix', '644', false],
      ['nodes/node01.example.com/hardware.nix', '644', false],
      ['nodes/node01.example.com/disko.nix', '644', false],
      ['nodes/node01.example.com/system.nix', '644', false],
      ['nodes/node01.example.com/secrets/cluster-config.json', '600', false],
    ]);
  });

  it('has the runbook’s cluster-config.json, for a bootstrap member and for a joining node', () => {
    const config = (plan: NodePlan) =>
      JSON.parse(rendered(plan).find(({ path }) => path.endsWith('.json'))?.text ?? '');
    expect(config(controlPlane)).toEqual({
      node_id: 'node01',
      node_role: 'control-plane',
      bootstrap: true,
      cluster_name: 'prod-cluster',
      leader_url: 'https://node01.example.com:2379',
      raft_addr: '10.0.200.10:2380',
      initial_peers: ['node01.example.com:2380', 'node02.example.com:2380', 'node03.example.com:2380'],
      flaredb_peers: ['node01.example.com:2480', 'node02.example.com:2480', 'node03.example.com:2480'],
    });
    expect(config(SAMPLE_PLANS.worker)).toEqual({
      node_id: 'node04',
      node_role: 'worker',
      bootstrap: false,
      cluster_name: 'prod-cluster',
      leader_url: 'https://node01.example.com:2379',
      raft_addr: '10.0.200.20:2380',
    });
  });

  it('does not change when members join later', () => {
    const cluster = controlPlane.cluster;
    if (cluster === null) throw new Error('node01 is in a cluster');
    const joined = {
      hostname: host('node09'),
      fqdn: 'node09.example.com',
      address: cluster.self.address,
      role: 'worker',
    } as const;
    const later = {
      ...controlPlane,
      inventoryRevision: 99,
      cluster: { ...cluster, members: [...cluster.members, joined] },
    };
    expect(rendered(later)).toEqual(rendered(controlPlane));
  });

  it.each<[what: string, changes: Partial<NodePlan>, problem: string]>([
    ['another kind of profile', { profile: SAMPLE_PLANS.debian.profile }, 'profile: debian-12 is of kind cloud-image'],
    ['an architecture without NixOS', { architecture: 'loong64' }, 'architecture: NixOS does not support loong64'],
    ['Secure Boot', { secureBoot: true }, "secureBoot: NixOS' own boot loaders are not signed"],
    ['no storage', { storage: null }, 'storage: NixOS partitions the disks'],
    [
      'a mirror of one disk',
      { storage: { ...SAMPLE_PLANS.luks.storage, layout: 'mirror' } },
      'storage: mirror needs at least two disks, not 1',
    ],
    [
      'two disks for one',
      { storage: { ...SAMPLE_PLANS.lvm.storage, layout: 'single' } },
      'storage: single needs one disk, not 2',
    ],
    [
      'a disk id with a space',
      { storage: { ...SAMPLE_PLANS.luks.storage, disks: [byId('a b')] } },
      'storage: not a name below /dev/disk/by-id: a b',
    ],
    ['an invalid link name', { links: [{ ...linkOf(0), name: 'eth0"; }' }], gateway: null }, 'links[0].name'],
    ['a line break in a time zone', { timeZone: 'UTC\nx' }, 'timeZone cannot be UTC\\u000ax'],
    ['a space in a kernel parameter', { kernelParameters: ['ok', 'a b'] }, 'kernelParameters[1] cannot be a b'],
    ['a quote in an NTP server', { ntpServers: ['a"b'] }, 'ntpServers[0] cannot be a"b'],
    ['a slash in a package', { packages: ['a/b'] }, 'packages[0] cannot be a/b'],
    ['a state version that does not exist', { stateVersion: '24.10' }, 'stateVersion cannot be 24.10'],
    ...['sshd', 'nixbld1', 'systemd-network', 'iam'].map((name): [string, Partial<NodePlan>, string] => [
      `an account like the service’s, ${name}`,
      { accounts: [{ name, sshKeys: [], admin: false }] },
      `accounts[0].name is the account of a service: ${name}`,
    ]),
    ['an account name with a colon', { accounts: [{ name: 'a:b', sshKeys: [], admin: false }] }, 'accounts[0].name'],
    [
      'a key with two lines',
      { accounts: [{ name: 'a', sshKeys: ['ssh-ed25519 AAAA\nx'], admin: false }] },
      'accounts[0].sshKeys[0]',
    ],
    [
      'a bootstrap without a #! line',
      { siteBootstrap: { name: 'a', version: '1', script: 'x' } },
      'siteBootstrap.script does not start',
    ],
    [
      'a bootstrap with a path as its name',
      { siteBootstrap: { name: '../a', version: '1', script: '#!' } },
      'siteBootstrap.name cannot be ../a',
    ],
    [
      'a bootstrap with a NUL',
      { siteBootstrap: { name: 'a', version: '1', script: '#!\0' } },
      'siteBootstrap.script has the character U+0000',
    ],
    ['an unreachable gateway', { gateway: ip('10.9.9.9') }, 'gateway'],
  ])('is rejected with the field name for %s', (_what, changes, problem) => {
    let problems: unknown;
    try {
      rendered({ ...controlPlane, ...changes });
    } catch (error) {
      problems = (error as { details?: unknown }).details;
    }
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it('is rejected for BIOS boot on anything but a PC', () => {
    expect(() => rendered(SAMPLE_PLANS.bonded, BIOS)).toThrow(
      expect.objectContaining({
        details: ['firmware: it booted without UEFI, and NixOS has only UEFI boot loaders for arm64'],
      }),
    );
  });

  it('is rejected with all problems at once', () => {
    expect(() => rendered({ ...controlPlane, secureBoot: true, timeZone: '', storage: null })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ length: 3 }) }),
    );
  });

  function linkOf(at: number) {
    const link = controlPlane.links[at];
    if (link === undefined) throw new Error('there is no such link');
    return link;
  }
});

describe('the flake of a site', () => {
  it('skips nodes that are not NixOS, and does not depend on the order of the plans', () => {
    const plans = Object.values(SAMPLE_PLANS);
    const files = siteFiles(plans);
    expect(files.some(({ path }) => path.includes('node05'))).toBe(false);
    expect(siteFiles([...plans].reverse())).toEqual(files);
  });

  it('matches its golden', async () => {
    const flake = siteFiles([controlPlane, SAMPLE_PLANS.worker, SAMPLE_PLANS.bonded])[0];
    await expect(flake?.text).toMatchFileSnapshot(join(import.meta.dirname, 'goldens', 'flake.nix'));
  });

  it('rejects two nodes with the same host name', () => {
    const twin = { ...controlPlane, fqdn: 'node01.elsewhere.example', site: named('elsewhere') };
    expect(() => siteFiles([controlPlane, twin])).toThrow(
      expect.objectContaining({ details: ['node01.elsewhere.example: another node has the same host name node01'] }),
    );
  });
});
