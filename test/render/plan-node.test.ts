import { describe, expect, it } from 'vitest';
import type { Inventory } from '../../appliance/domain/inventory.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { Machine, MachineSpec } from '../../appliance/domain/machine.ts';
import { indexInventory } from '../../appliance/render/plan-index.ts';
import { planNode } from '../../appliance/render/plan-node.ts';
import { example, indexOf, inventoryFrom, named, planned, reasonsFor } from './plan-rack.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c';
const account = (name: string, admin = false) => ({ name, admin, ssh_keys: [KEY] });

describe('the plan of a node', () => {
  it('matches the runbook for node01', () => {
    const plan = planned(indexOf(), 'node01');
    expect(plan).toMatchObject({
      fqdn: 'node01.example.com',
      domain: 'example.com',
      site: 'example',
      region: 'region-1',
      inventoryRevision: 7,
      architecture: 'x86_64',
      secureBoot: false,
      profile: { name: 'control-plane', kind: 'nixos', role: 'control-plane', image: null },
      gateway: '10.0.200.1',
      nameservers: ['10.0.200.1', '8.8.8.8'],
      searchDomains: ['example.com'],
      storage: { layout: 'single', filesystem: 'ext4', swapMegabytes: 0 },
      timeZone: 'Europe/Berlin',
      ntpServers: ['ntp.example.com'],
      stateVersion: '24.11',
      secretsBy: 'files',
      siteBootstrap: null,
      enrollment: 'first-boot',
      labels: { rack: 'r1', unit: '1' },
    });
    expect(plan.accounts.map(({ name, admin }) => [name, admin])).toEqual([['ada', true]]);
    expect(plan.links).toMatchObject([
      {
        kind: 'ethernet',
        name: 'eth0',
        purpose: 'provisioning',
        address: { ip: '10.0.100.50', prefix: { length: 24 } },
      },
      { kind: 'ethernet', name: 'eth1', purpose: 'production', address: { ip: '10.0.200.10', prefix: { length: 24 } } },
    ]);
  });

  it('has the image of a cloud image, and no layout', () => {
    const plan = planned(indexOf(), 'node05');
    expect(plan).toMatchObject({ cluster: null, storage: null, packages: ['chrony'] });
    expect(plan.profile.image).toMatchObject({ source: 'debian-12.raw.zst', format: 'zstd' });
    const chosen = indexOf(({ nodes }) =>
      Object.assign(named(nodes, 'node05'), { storage: { disks: [{ serial: 'S1' }] } }),
    );
    expect(planned(chosen, 'node05').storage).toMatchObject({ layout: 'single', disks: [{ serial: 'S1' }] });
  });

  it('uses the most specific accounts, disks, packages and time settings', () => {
    const index = indexOf((document) => {
      Object.assign(named(document.sites, 'example'), { accounts: [account('ada'), account('bob')] });
      Object.assign(named(document.profiles, 'worker'), {
        accounts: [account('bob', true), account('eve')],
        packages: ['htop', 'jq'],
        timezone: 'Asia/Tokyo',
      });
      Object.assign(named(document.nodes, 'node04'), {
        accounts: [account('ada', true)],
        packages: ['jq', 'vim'],
        storage: { disks: [{ by_id: 'nvme-X' }] },
      });
    });
    const plan = planned(index, 'node04');
    expect(plan.accounts.map(({ name, admin }) => [name, admin])).toEqual([
      ['ada', true],
      ['bob', true],
      ['eve', false],
    ]);
    expect(plan.packages).toEqual(['htop', 'jq', 'vim']);
    expect(plan.timeZone).toBe('Asia/Tokyo');
    expect(plan.storage).toMatchObject({ layout: 'single', filesystem: 'ext4', disks: [{ byId: 'nvme-X' }] });
    expect(planned(index, 'node01').timeZone).toBe('Europe/Berlin');
    expect(
      planned(
        indexOf(({ sites }) => delete named(sites, 'example').timezone),
        'node01',
      ).timeZone,
    ).toBe('UTC');
  });

  it('has the links that were assigned to it only if the profile uses them', () => {
    const roce = [{ hostname: 'node04', links: [{ name: 'roce0', address: '10.50.0.4/24' }] }];
    const without = indexOf((document) => Object.assign(document, { roce }));
    expect(planned(without, 'node04').roce).toEqual([]);
    const index = indexOf((document) => {
      Object.assign(document, { roce });
      named(document.profiles, 'worker').roce = true;
      named(document.profiles, 'control-plane').roce = true;
    });
    expect(planned(index, 'node04').roce).toEqual([
      { name: 'roce0', mac: null, address: '10.50.0.4', prefixLength: 24, mtu: 9000, priority: null },
    ]);
    expect(planned(index, 'node01').roce).toEqual([]);
  });

  it('uses Secure Boot as set on the node, or else on its boot network', () => {
    const secure = indexOf((document) => {
      named(document.networks, 'provisioning').secure_boot = true;
      named(document.nodes, 'node02').secure_boot = false;
    });
    expect(planned(secure, 'node01').secureBoot).toBe(true);
    expect(planned(secure, 'node02').secureBoot).toBe(false);
  });

  it('has the domain of its cluster, else of its site, else of its production network', () => {
    const domain = (change: Parameters<typeof indexOf>[0]) => planned(indexOf(change), 'node01').fqdn;
    expect(domain((document) => (named(document.clusters, 'prod-cluster').domain = 'prod.test'))).toBe(
      'node01.prod.test',
    );
    expect(
      domain((document) => {
        delete named(document.clusters, 'prod-cluster').domain;
        named(document.sites, 'example').domain = 'site.test';
      }),
    ).toBe('node01.site.test');
    const bare = (network?: string) => (document: Parameters<NonNullable<Parameters<typeof indexOf>[0]>>[0]) => {
      delete named(document.clusters, 'prod-cluster').domain;
      delete named(document.sites, 'example').domain;
      if (network) named(document.networks, 'production').domain = network;
      else delete named(document.networks, 'production').domain;
    };
    expect(domain(bare('work.test'))).toBe('node01.work.test');
    expect(domain(bare())).toBe('node01');
    expect(planned(indexOf(bare()), 'node01').domain).toBeNull();
  });

  it('is the same for the same inventory, whatever was planned before', () => {
    const index = indexOf();
    const first = planned(index, 'node03');
    for (const hostname of ['node01', 'node04', 'node05']) planned(index, hostname);
    expect(planned(index, 'node03')).toEqual(first);
    expect(
      planned(
        indexOf(({ nodes }) => nodes.reverse()),
        'node03',
      ),
    ).toEqual({ ...first, id: expect.any(String) });
  });
});

describe('a node that cannot be planned', () => {
  const spoilt = (spec: Partial<MachineSpec>, more: Partial<Inventory> = {}, state: LifecycleState = 'registered') => {
    const inventory = inventoryFrom(example());
    const spoil = (machine: Machine): Machine =>
      machine.spec.hostname === ('node01' as string)
        ? { ...machine, spec: { ...machine.spec, ...spec }, lifecycle: { ...machine.lifecycle, state } }
        : machine;
    const index = indexInventory({ ...inventory, ...more, machines: inventory.machines.map(spoil) });
    const machine = inventory.machines.map(spoil).find(({ spec: one }) => one.hostname === ('node01' as string));
    const result = machine && planNode(index, machine);
    return result && !result.ok ? result.reasons : [];
  };

  it('reports every reason at once', () => {
    expect(spoilt({ site: null, profile: null, interfaces: [] })).toEqual([
      'it has no site (site:)',
      'it has no profile (profile:)',
      'it has no address: no link has one, and none of its networks assigns addresses',
      'it has no address on production, the network of cluster prod-cluster',
    ]);
  });

  it.each(['discovered', 'retired', 'removed'] as const)('is %s', (state) => {
    expect(spoilt({}, {}, state)).toContain(`it is ${state}`);
  });

  it('reports references that are no longer declared', () => {
    expect(spoilt({}, { sites: [], profiles: [], clusters: [], networks: [] })).toEqual([
      'its site example is not declared',
      'its profile control-plane is not declared',
      'its network provisioning is not declared',
      'its network production is not declared',
      'it has no address: no link has one, and none of its networks assigns addresses',
      'its cluster prod-cluster is not declared',
    ]);
    const { networks } = inventoryFrom(example());
    expect(spoilt({}, { networks: networks.filter(({ name }) => name !== ('production' as string)) })).toEqual([
      'its network production is not declared',
      'network production of its cluster prod-cluster is not declared',
    ]);
  });

  it('has a profile for another architecture, without an image, or without a role', () => {
    expect(spoilt({ architecture: 'arm64' })).toEqual([
      'its profile control-plane is for x86_64, but the node is arm64',
    ]);
    expect(
      reasonsFor(
        indexOf(({ profiles }) => delete named(profiles, 'debian-12').image),
        'node05',
      ),
    ).toEqual(['its profile debian-12 writes an image but names none (image:)']);
    expect(
      reasonsFor(
        indexOf(({ profiles }) => delete named(profiles, 'worker').role),
        'node04',
      ),
    ).toEqual(['its profile worker has no role, and a member of prod-cluster needs one (role:)']);
  });

  it('is in a cluster without bootstrap members, or with unusable ones', () => {
    const nobody = indexOf(({ clusters }) => Object.assign(named(clusters, 'prod-cluster'), { bootstrap: [] }));
    expect(reasonsFor(nobody, 'node04')).toEqual([
      'cluster prod-cluster has no bootstrap members: name them (bootstrap:)',
    ]);
    const roleless = indexOf(({ nodes, profiles }) => {
      profiles.push({ name: 'plain', kind: 'nixos' });
      named(nodes, 'node02').profile = 'plain';
    });
    const because = 'node02, a bootstrap member of cluster prod-cluster, has no role: set one in its profile (role:)';
    expect(reasonsFor(roleless, 'node04')).toEqual([because]);
    expect(reasonsFor(roleless, 'node01')).toEqual([because]);
    expect(reasonsFor(roleless, 'node02')).toEqual([
      'its profile plain has no role, and a member of prod-cluster needs one (role:)',
    ]);
  });
});
