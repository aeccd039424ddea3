// Arbitrary plans that NixOS supports: every kind of link, layout, role and firmware, with hostile free text.

import fc from 'fast-check';
import { ipv4FromNumber, type Prefix } from '../../../appliance/domain/ipv4.ts';
import type { MachineId } from '../../../appliance/domain/machine.ts';
import { parseMachineId } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { BOND_MODES, DISK_LAYOUTS, type Storage } from '../../../appliance/domain/system.ts';
import type { ClusterMember, EthernetLink, NodePlan, PlannedLink } from '../../../appliance/render/node-plan.ts';
import { byId, domain, host, mac, named, SAMPLE_PLANS } from '../plans.ts';

/** Texts that break out of quotes in some language. */
export const HOSTILE_PARTS = [
  '"',
  '\\',
  '${',
  '}',
  "''",
  "''${",
  '$',
  '$$',
  '\n',
  '\r\n',
  '\t',
  '#',
  ';',
  '/*',
  '*/',
  '\\n',
  "'",
  '`',
  '{{x}}',
];

export const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE_PARTS), fc.string({ unit: 'binary', maxLength: 5 }).filter(isSound)), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));

function isSound(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

const printable = fc.string({ unit: fc.constantFrom(...'abc XYZ09"\\', ...'$', ..."{}'#;/*`~|<>()[]"), maxLength: 30 });

const sshKey = fc.tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), printable).map(([bytes, comment]) => {
  const header = Buffer.from('0000000b7373682d6564323535313900000020', 'hex');
  return `ssh-ed25519 ${Buffer.concat([header, bytes]).toString('base64')} ${comment}`.trim();
});

const prefixOf = (number: number): Prefix => ({ network: ipv4FromNumber(0x0a000000 + number * 256), length: 24 });
const addressIn = (prefix: number, last: number) => ({
  ip: ipv4FromNumber(0x0a000000 + prefix * 256 + last),
  prefix: prefixOf(prefix),
});
const hardware = (number: number) => mac(`52:54:00:00:00:${number.toString(16).padStart(2, '0')}`);

interface LinkChoice {
  readonly usesEth: boolean;
  readonly cards: number;
  readonly bond: (typeof BOND_MODES)[number] | null;
  readonly vlans: number;
  readonly mtu: number | null;
  readonly last: number;
  readonly hasRoute: boolean;
  readonly isDhcp: boolean;
}

const linkChoice: fc.Arbitrary<LinkChoice> = fc.record({
  usesEth: fc.boolean(),
  cards: fc.integer({ min: 1, max: 4 }),
  bond: fc.option(fc.constantFrom(...BOND_MODES)),
  vlans: fc.integer({ min: 0, max: 2 }),
  mtu: fc.option(fc.constantFrom(1500, 9000)),
  last: fc.integer({ min: 2, max: 250 }),
  hasRoute: fc.boolean(),
  isDhcp: fc.boolean(),
});

/** With a bond, the first interface has no network and no address; each other link has its own network. */
function linksOf(choice: LinkChoice): PlannedLink[] {
  const { last, mtu, bond } = choice;
  const base = (prefix: number) => ({
    network: named(`net${prefix}`),
    purpose: prefix === 1 ? ('provisioning' as const) : ('production' as const),
    mtu,
    address: addressIn(prefix, last),
    routes: choice.hasRoute ? [{ to: prefixOf(200 + prefix), via: addressIn(prefix, 1).ip }] : [],
  });
  const cards = Array.from(
    { length: choice.cards },
    (_, at): EthernetLink => ({
      ...base(at + 1),
      kind: 'ethernet',
      name: choice.usesEth ? `eth${at}` : `enp${at}s0`,
      mac: at === 2 ? null : hardware(at + 1),
      ...(bond !== null && at === 0 ? { network: null, purpose: 'other', address: null, routes: [] } : {}),
      ...(choice.isDhcp && at === 1 ? { address: 'dhcp', routes: [] } : {}),
    }),
  );
  const first = cards[0]?.name ?? '';
  const bonds: PlannedLink[] =
    bond === null ? [] : [{ ...base(10), kind: 'bond', name: 'bond0', mode: bond, members: [first] }];
  const parent = bond === null ? first : 'bond0';
  const vlans = Array.from(
    { length: choice.vlans },
    (_, at): PlannedLink => ({
      ...base(20 + at),
      kind: 'vlan',
      name: `vlan${100 + at}`,
      id: 100 + at,
      parent,
    }),
  );
  return [...cards, ...bonds, ...vlans];
}

const storage: fc.Arbitrary<Storage> = fc
  .record({
    layout: fc.constantFrom(...DISK_LAYOUTS),
    count: fc.integer({ min: 1, max: 3 }),
    filesystem: fc.constantFrom('ext4' as const, 'xfs' as const),
    swapMegabytes: fc.constantFrom(0, 512, 65536),
  })
  .map(({ layout, count, filesystem, swapMegabytes }) => {
    const disks = layout === 'single' || layout === 'luks' ? 1 : layout === 'mirror' ? Math.max(2, count) : count;
    return {
      layout,
      filesystem,
      swapMegabytes,
      disks: Array.from({ length: disks }, (_, at) => byId(`ata-DISK_${at}`)),
    };
  });

const accounts = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('root', 'operator', 'alice', 'bob-2', '_svc'),
    sshKeys: fc.array(sshKey, { maxLength: 3 }),
    admin: fc.boolean(),
  }),
  { selector: ({ name }) => name, maxLength: 4 },
);

const roles = fc.constantFrom('control-plane' as const, 'worker' as const, 'all-in-one' as const, null);

/** A different plan for each number, so that many fit into one flake. */
export const planOf = (number: number): fc.Arbitrary<NodePlan> =>
  fc
    .record({
      links: linkChoice,
      storage,
      accounts,
      role: roles,
      inCluster: fc.boolean(),
      hasDomain: fc.boolean(),
      isArm: fc.boolean(),
      usesSops: fc.boolean(),
      hasGateway: fc.boolean(),
      packages: fc.uniqueArray(fc.constantFrom('curl', 'jq', 'git', 'vim'), { maxLength: 4 }),
      kernelParameters: fc.array(
        fc.constantFrom('quiet', 'console=ttyS0', 'a.b="c d"', '$x', '$'.concat('{y}'), "''", '\\'),
        {
          maxLength: 4,
        },
      ),
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'),
      script: fc.option(hostileText),
      lossless: fc.option(fc.integer({ min: 0, max: 7 })),
      stateVersion: fc.constantFrom('24.11', '25.05', '25.11'),
    })
    .map((choice) => {
      const name = `node${number}`;
      const links = linksOf(choice.links);
      const reached = links.flatMap(({ address }) => (address === null || address === 'dhcp' ? [] : [address]))[0];
      const fqdn = choice.hasDomain ? `${name}.example.com` : name;
      const self: ClusterMember = {
        hostname: host(name),
        fqdn,
        address: addressIn(2, 9).ip,
        role: choice.role ?? 'worker',
      };
      return {
        ...SAMPLE_PLANS.bare,
        id: machineId(number),
        hostname: host(name),
        domain: choice.hasDomain ? domain('example.com') : null,
        fqdn,
        architecture: choice.isArm ? 'arm64' : 'x86_64',
        profile: { name: named('generated'), kind: 'nixos', role: choice.role, image: null },
        links,
        gateway:
          choice.hasGateway && reached !== undefined ? ipv4FromNumber(networkNumber(reached.prefix) + 254) : null,
        nameservers: reached === undefined ? [] : [addressIn(2, 53).ip],
        searchDomains: choice.hasDomain ? [domain('example.com')] : [],
        storage: choice.storage,
        accounts: choice.accounts,
        timeZone: choice.timeZone,
        ntpServers: choice.hasDomain ? ['ntp.example.com'] : [],
        packages: choice.packages,
        kernelParameters: choice.kernelParameters,
        stateVersion: choice.stateVersion,
        secretsBy: choice.usesSops ? 'sops' : 'files',
        cluster: choice.inCluster
          ? {
              name: named('generated-cluster'),
              network: named('net2'),
              prefix: prefixOf(2),
              vip: null,
              mode: choice.role === 'worker' ? 'join' : 'bootstrap',
              self,
              leader: self,
              bootstrap: [
                self,
                { ...self, hostname: host('other'), fqdn: 'other.example.com', address: addressIn(2, 8).ip },
              ],
              members: [self],
            }
          : null,
        roce:
          choice.lossless === null
            ? []
            : [
                {
                  name: 'roce0',
                  mac: hardware(99),
                  address: addressIn(99, 9).ip,
                  prefixLength: 24,
                  mtu: 4200,
                  priority: choice.lossless,
                },
              ],
        siteBootstrap:
          choice.script === null ? null : { name: 'site', version: '1.2+3', script: `#!/bin/sh\n${choice.script}` },
      };
    });

const networkNumber = ({ network }: Prefix): number =>
  network.split('.').reduce((number, octet) => number * 256 + Number(octet), 0);

const machineId = (number: number): MachineId =>
  mustParse(parseMachineId(`6a1d5f0e-3c39-4c50-9f6e-${number.toString(16).padStart(12, '0')}`));
