import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { at, declaredBy, network, node, problemsOf, type RackDocument, rackDocument } from './rack.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c ada@example.com';
const SHA256 = 'ab'.repeat(32);
const account = (name: string, more: object = {}) => ({ name, ssh_keys: [KEY], ...more });
const declared = (rack: RackDocument) => {
  const [source] = declaredBy({ lab: rack });
  if (!source) throw new Error('nothing was declared');
  return source.declared;
};
const changed = (change: (rack: RackDocument) => void): RackDocument => {
  const rack = rackDocument();
  change(rack);
  return rack;
};
const site = (rack: RackDocument) => at(rack.sites, 0);
const profile = (rack: RackDocument, index = 0) => at(rack.profiles, index);

describe('the settings of installed systems', () => {
  it('have defaults', () => {
    const { sites, networks, profiles, nodes, roce } = declared(rackDocument());
    expect(sites[0]).toMatchObject({
      apiUrl: null,
      ntp: [],
      timezone: null,
      accounts: [],
      bootstrap: null,
      inside: [],
    });
    expect(networks[0]).toMatchObject({ mtu: null, routes: [], purpose: null });
    expect(profiles[0]).toMatchObject({
      storage: null,
      image: null,
      packages: [],
      kernelParameters: [],
      timezone: null,
      locale: 'en_US.UTF-8',
      keyboard: 'us',
      stateVersion: '24.11',
      secrets: 'files',
      roce: false,
      accounts: [],
    });
    expect(nodes[0]).toMatchObject({ bonds: [], vlans: [], storage: null, accounts: [], packages: [] });
    expect(roce).toEqual([]);
  });

  it('are read from the site, the profile and the node', () => {
    const { sites, networks, profiles, nodes, roce } = declared(
      changed((rack) => {
        Object.assign(site(rack), {
          api_url: 'https://10.0.1.2:8444',
          ntp: ['ntp.lab', '10.0.1.1'],
          timezone: 'Europe/Berlin',
          accounts: [account('ada', { admin: true })],
          bootstrap: { name: 'infra', version: '1.4.2', script: '#!/bin/sh\ntrue\n' },
          inside: ['10.0.0.0/8'],
        });
        Object.assign(network(rack, 1), {
          mtu: 9000,
          routes: [{ to: '172.16.0.0/12', via: '10.0.2.1' }],
          purpose: 'other',
        });
        Object.assign(profile(rack), {
          storage: {
            layout: 'mirror',
            disks: [{ by_id: 'nvme-A' }, { serial: 'S2', model: 'X', min_size: '480GB', max_size: '2TB' }],
            filesystem: 'xfs',
            swap: '8GiB',
          },
          packages: ['htop', 'python3Packages.requests'],
          kernel_parameters: ['console=ttyS0,115200n8', 'quiet'],
          locale: 'de_DE.UTF-8',
          keyboard: 'de-latin1',
          state_version: '25.05',
          secrets: 'sops',
          roce: true,
        });
        Object.assign(profile(rack, 1), { image: { source: 'https://images.lab/debian.raw.gz', sha256: SHA256 } });
        Object.assign(node(rack, 0), { storage: { disks: [{ rotational: false }] }, packages: ['jq'] });
        rack.roce = [
          {
            hostname: 'a9',
            links: [{ name: 'roce0', mac: '52-54-00-00-09-01', address: '10.50.0.9/24', priority: 3 }],
          },
        ];
      }),
    );
    expect(sites[0]).toMatchObject({
      apiUrl: 'https://10.0.1.2:8444',
      ntp: ['ntp.lab', '10.0.1.1'],
      accounts: [{ name: 'ada', sshKeys: [KEY], admin: true }],
      bootstrap: { name: 'infra', version: '1.4.2', script: '#!/bin/sh\ntrue\n' },
      inside: [{ network: '10.0.0.0', length: 8 }],
    });
    expect(networks[1]).toMatchObject({
      mtu: 9000,
      routes: [{ to: { network: '172.16.0.0', length: 12 }, via: '10.0.2.1' }],
      purpose: 'other',
    });
    const any = { byId: null, serial: null, model: null, minBytes: null, maxBytes: null, rotational: null };
    expect(profiles[0]?.storage).toEqual({
      layout: 'mirror',
      disks: [
        { ...any, byId: 'nvme-A' },
        { ...any, serial: 'S2', model: 'X', minBytes: 480e9, maxBytes: 2e12 },
      ],
      filesystem: 'xfs',
      swapMegabytes: 8192,
    });
    expect(profiles[1]?.image).toEqual({
      source: 'https://images.lab/debian.raw.gz',
      sha256: SHA256,
      format: 'gzip',
    });
    expect(nodes[0]?.storage).toEqual({
      layout: 'single',
      disks: [{ ...any, rotational: false }],
      filesystem: 'ext4',
      swapMegabytes: 0,
    });
    expect(roce).toEqual([
      {
        name: 'lab.a9',
        site: 'lab',
        hostname: 'a9',
        links: [
          { name: 'roce0', mac: '52:54:00:00:09:01', address: '10.50.0.9', prefixLength: 24, mtu: 9000, priority: 3 },
        ],
      },
    ]);
  });

  const ROWS: readonly (readonly [sentence: string, breakIt: (rack: RackDocument) => void, ...problems: string[]])[] = [
    [
      'invalid accounts',
      (rack) =>
        Object.assign(site(rack), {
          accounts: [account('root'), account('ada'), account('ada'), account('Eve'), { name: 'bob', ssh_keys: [] }],
        }),
      'sites[0].accounts[0].name: root cannot log in; declare an account with admin: true instead',
      'sites[0].accounts[2].name: ada is declared twice',
      'sites[0].accounts[3].name: must be a user name: Eve',
      'sites[0].accounts[4].ssh_keys: must have at least one item',
    ],
    [
      'invalid SSH keys, without showing a private key',
      (rack) =>
        Object.assign(node(rack, 0), {
          accounts: [{ name: 'ada', ssh_keys: ['ssh-ed25519 AAAA', '-----BEGIN PRIVATE KEY----- aGVsbG8='] }],
        }),
      'nodes[0].accounts[0].ssh_keys[0]: the key after ssh-ed25519 is truncated or has another type',
      'nodes[0].accounts[0].ssh_keys[1]: this is a private key; send the public key (the .pub file)',
    ],
    [
      'a password',
      (rack) => Object.assign(site(rack), { accounts: [account('ada', { password: 'x' })] }),
      'sites[0].accounts[0].password: secrets are never in the inventory; use password_file',
    ],
    [
      'a disk count that does not match the layout, and the same disk twice',
      (rack) => {
        Object.assign(profile(rack, 0), { storage: { disks: [{ serial: 'a' }, { serial: 'b' }] } });
        Object.assign(profile(rack, 2), { storage: { layout: 'mirror' } });
        Object.assign(node(rack, 0), { storage: { layout: 'zfs', disks: [{ model: 'X' }, { model: 'X' }] } });
      },
      'profiles[0].storage.disks: has 2 entries, but layout single needs one disk',
      'profiles[2].storage.disks: has 1 entries, but layout mirror needs two disks or more',
      'nodes[0].storage.disks[1]: selects the same disk as disks[0]',
    ],
    [
      'invalid sizes',
      (rack) =>
        Object.assign(profile(rack, 0), {
          storage: { disks: [{ min_size: '2TB', max_size: '480GB' }], swap: '8' },
        }),
      'profiles[0].storage.swap: not a size (a number and MB, GB, TB, MiB, GiB or TiB, like 480GB): 8',
      'profiles[0].storage.disks[0].max_size: is smaller than min_size',
    ],
    [
      'an image for a kind that writes none, and a layout for a kind that writes one',
      (rack) => {
        Object.assign(profile(rack, 0), { image: { source: 'debian.raw', sha256: SHA256 } });
        Object.assign(profile(rack, 1), { storage: { layout: 'lvm' }, install: 'push' });
        Object.assign(node(rack, 1), { profile: 'debian', storage: { swap: '1GiB' } });
      },
      'profiles[0].image: kind nixos installs a system; only cloud-image and ignition write an image',
      'profiles[1].install: kind cloud-image is installed by the service OS; only nixos can be pushed',
      'profiles[1].storage: kind cloud-image writes an image, which has its own layout: declare only disks',
      'nodes[1].storage: kind cloud-image writes an image, which has its own layout: declare only disks',
    ],
    [
      'invalid image sources, without showing a password',
      (rack) => {
        const image = (source: string, sha256 = SHA256) => ({ kind: 'cloud-image', image: { source, sha256 } });
        rack.profiles.push(
          { name: 'i1', ...image('debian.qcow2') },
          { name: 'i2', ...image('../etc/shadow') },
          { name: 'i3', ...image('ftp://images.lab/x.raw') },
          { name: 'i4', ...image('https://ada:secret@images.lab/x.raw') },
          { name: 'i5', ...image('x.raw', 'AB'.repeat(32)) },
        );
      },
      'profiles[3].image.source: a qcow2 image cannot be written to a disk: convert it to raw (qemu-img convert -O raw): debian.qcow2',
      'profiles[4].image.source: must be the name of an asset, or an http(s) URL: ../etc/shadow',
      'profiles[5].image.source: must be the name of an asset, or an http(s) URL: ftp://images.lab/x.raw',
      'profiles[6].image.source: the URL must not contain a user name or a password',
      `profiles[7].image.sha256: must be a SHA-256 sum, 64 lower-case hexadecimal digits: ${'AB'.repeat(30)}…`,
    ],
    [
      'invalid time zones, locales and names',
      (rack) => {
        Object.assign(site(rack), { timezone: 'Europe/Berln', api_url: 'http://10.0.1.2', ntp: ['a b'] });
        Object.assign(profile(rack, 0), {
          timezone: 'europe/berlin',
          locale: 'german',
          keyboard: 'de;reboot',
          state_version: '24.10',
          packages: ['htop; rm -rf /'],
          kernel_parameters: ['a b', 'init="x"'],
        });
      },
      'sites[0].timezone: not a time zone (like Europe/Berlin or UTC): Europe/Berln',
      'sites[0].api_url: must be a URL like https://10.0.100.10:8444: http://10.0.1.2',
      'sites[0].ntp[0]: must be a host name or an address: a b',
      'profiles[0].timezone: write Europe/Berlin: europe/berlin',
      'profiles[0].locale: must be a UTF-8 locale like en_US.UTF-8 or C.UTF-8: german',
      'profiles[0].keyboard: must be a keyboard layout like us or de-latin1: de;reboot',
      'profiles[0].state_version: must be a release of NixOS like 24.11: 24.10',
      'profiles[0].packages[0]: must be the name of a package (letters, digits, ".", "+", "_", "-"): htop; rm -rf /',
      'profiles[0].kernel_parameters[0]: must be one parameter, without spaces, quotes and backslashes: a b',
      'profiles[0].kernel_parameters[1]: must be one parameter, without spaces, quotes and backslashes: init="x"',
    ],
    [
      'routes with an unreachable gateway, a default route, and a duplicate route',
      (rack) => {
        Object.assign(network(rack, 1), {
          routes: [
            { to: '172.16.0.0/12', via: '10.0.1.1' },
            { to: '0.0.0.0/0', via: '10.0.2.1' },
            { to: '172.16.0.0/12', via: '10.0.2.2' },
            { to: '172.16.0.1/12', via: '10.0.2.255' },
          ],
        });
      },
      'networks[1].routes[3].to: has host bits set: 172.16.0.1/12; write 172.16.0.0/12',
      'networks[1].routes[0].via: 10.0.1.1 is outside 10.0.2.0/24',
      'networks[1].routes[1].to: is the default route: declare it as gateway',
      'networks[1].routes[2].to: 172.16.0.0/12 is already in routes[0]',
      'networks[1].routes[3].via: 10.0.2.255 is the broadcast address of 10.0.2.0/24',
    ],
    [
      'a bootstrap that is not a script, and a script_file outside a file',
      (rack) => {
        Object.assign(site(rack), { bootstrap: { name: 'infra', version: '1', script: 'echo hello' } });
        rack.sites.push({ name: 'annex', bootstrap: { name: 'x', version: '1', script_file: '/etc/shadow' } });
        rack.sites.push({ name: 'third', bootstrap: { name: 'x', version: 'one two' } });
        for (const list of [rack.networks, rack.clusters, rack.nodes]) for (const one of list) one.site = 'lab';
      },
      'sites[2].bootstrap.version: must be a version like 1.4.2: one two',
      'sites[0].bootstrap.script: must start with #! and the program that runs it',
      'sites[1].bootstrap.script_file: works only in a file; over the API, send the text of the script as script',
      'sites[2].bootstrap.script_file: is missing',
    ],
    [
      'RoCE links that are duplicates, conflict with other links, or have no site',
      (rack) => {
        const link = (name: string, address: string, mac?: string) => ({ name, address, ...(mac && { mac }) });
        rack.roce = [
          { hostname: 'a1', links: [link('eth1', '10.50.0.1/24'), link('roce0', '10.50.0.1/24')] },
          {
            hostname: 'a1',
            links: [link('roce0', '10.0.2.12/24', '52:54:00:00:01:02'), link('roce0', '10.50.0.3/24')],
          },
          { hostname: 'a3', site: 'moon', links: [link('roce0', '10.50.0.0/24'), link('roce1', '10.50.0.9')] },
        ];
      },
      'roce[2].links[0].address: must not be the network address or the broadcast address: 10.50.0.0/24',
      'roce[2].links[1].address: must be an address with a prefix length, like 10.50.0.11/24: 10.50.0.9',
      'roce[1].hostname: lab.a1 is taken by lab.yaml: roce[0].hostname',
      'roce[0].links[1].address: 10.50.0.1 is taken: it is the RoCE link of lab.yaml: roce[0].links[0].address',
      'roce[1].links[0].address: 10.0.2.12 is taken: it is the interface of lab.yaml: nodes[1].interfaces[1].address',
      'roce[0].links[0].name: eth1 is already used by lab.yaml: nodes[0].interfaces[1]',
      'roce[1].links[0].mac: 52:54:00:00:01:02 is taken by lab.yaml: nodes[1].interfaces[0]',
      'roce[1].links[1].name: roce0 is declared twice',
      'roce[2].site: unknown site: moon',
    ],
  ];

  for (const [sentence, breakIt, ...problems] of ROWS) {
    it(`are rejected with ${sentence}`, () => {
      expect(problemsOf(changed(breakIt)).sort()).toEqual(problems.map((problem) => `lab.yaml: ${problem}`).sort());
    });
  }

  it('never throws, and leaves no undefined field in an accepted document', () => {
    const any = fc.anything({ maxDepth: 2 });
    const odd = fc.record(
      { storage: any, image: any, accounts: any, packages: any, roce: any, timezone: fc.string(), secrets: any },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(odd, odd, odd, any, (ofProfile, ofNode, ofSite, roce) => {
        const value = changed((rack) => {
          Object.assign(profile(rack, 0), ofProfile);
          Object.assign(node(rack, 0), ofNode, { bonds: ofSite.storage, vlans: ofSite.image });
          Object.assign(site(rack), ofSite);
          Object.assign(rack, { roce });
        });
        const { problems, sources } = checkInventory([{ file: 'lab.yaml', name: 'lab', value }]);
        // JSON.stringify drops undefined fields; the second text would show them.
        expect(JSON.stringify(sources)).toBe(JSON.stringify(sources, (_key, inner) => inner ?? null));
        expect(sources.length).toBe(problems.length === 0 ? 1 : 0);
      }),
    );
  });
});
