// Brings up the network configuration: cloud-init passes it to netplan, netplan to systemd-networkd, and networkd configures
// the cards of a namespace. The kernel's state is compared with the plan. Debian's installer writes networkd's
// files directly. Bonds and VLANs are compared in networkd's files: not every kernel that tests run on has them.

import { beforeAll, describe, expect, it } from 'vitest';
import { networkConfig } from '../../../appliance/render/cloud-init/network-config.ts';
import { yamlDocument } from '../../../appliance/render/cloud-init/yaml-document.ts';
import { networkdFiles } from '../../../appliance/render/installers/networkd.ts';
import { settledLinks } from '../../../appliance/render/installers/settled-links.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { ip, prefix, SAMPLE_PLANS } from '../../render/plans.ts';
import { DebianRoot } from './debian-root.ts';
import { actualLinks, expectedLinks } from './network-model.ts';
import { networkdLinks } from './networkd-model.ts';

let debian: DebianRoot;
beforeAll(async () => {
  debian = await DebianRoot.prepare();
}, 1_800_000);

const PLANS: readonly (readonly [name: string, NodePlan])[] = [
  ['two cards', SAMPLE_PLANS.controlPlane],
  ['DHCP beside a fixed address', SAMPLE_PLANS.allInOne],
  [
    'large frames, routes and a RoCE link',
    {
      ...SAMPLE_PLANS.controlPlane,
      links: SAMPLE_PLANS.controlPlane.links.map((link) => ({
        ...link,
        mtu: 4000,
        routes: link.purpose === 'production' ? [{ to: prefix('10.9.0.0/16'), via: ip('10.0.200.254') }] : link.routes,
      })),
      roce: SAMPLE_PLANS.bonded.roce,
    },
  ],
];

const CONVERTED = `
  cloud-init devel net-convert -p /network-config -k yaml -d / -D debian -O netplan > /convert.log 2>&1
  chmod 0600 /etc/netplan/*
  netplan generate > /netplan.log 2>&1`;

const seeded = (plan: NodePlan) => ({ '/network-config': yamlDocument(null, networkConfig(plan)) });

/** Cards with the MAC addresses and, because udev does not rename them here, the names of the plan. */
const cards = (plan: NodePlan): string =>
  settledLinks(plan)
    .flatMap((link, index) =>
      link.kind === 'ethernet'
        ? [
            `ip link add ${link.name} ${link.mac === null ? '' : `address ${link.mac}`} type veth peer name far${index}`,
            `ip link set far${index} mtu 9000 up`,
          ]
        : [],
    )
    .join('\n');

/** networkd does not use udev where /sys is read-only. Links with DHCP get no reply here; do not wait for them. */
const broughtUp = (plan: NodePlan): string => {
  const fixed = settledLinks(plan).flatMap(({ name, address }) =>
    address === null || address === 'dhcp' ? [] : [`--interface=${name}:degraded`],
  );
  return `
  ${cards(plan)}
  echo 0123456789abcdef0123456789abcdef > /etc/machine-id
  # There is no reply to router solicitations here, and it would wait for one.
  for network in /etc/systemd/network/*.network /run/systemd/network/*.network; do
    mkdir -p "$network.d"
    printf '[Network]\nLinkLocalAddressing=no\n' > "$network.d/test.conf"
  done
  for folder in links leases lldp; do mkdir -p /run/systemd/netif/$folder; done
  chown -R systemd-network: /run/systemd/netif
  SYSTEMD_LOG_TARGET=console /lib/systemd/systemd-networkd > /networkd.log 2>&1 &
  networkd=$!
  /lib/systemd/systemd-networkd-wait-online --timeout=60 ${fixed.join(' ')} > /waited.log 2>&1 || echo 'not online'
  ip -details -json address > /address.json
  ip -json route > /route.json
  kill $networkd`;
};

describe.each(PLANS)('a machine with %s', (_what, plan) => {
  it('has the links of its plan after cloud-init, netplan and networkd', async () => {
    const program = `
      ${CONVERTED}
      # The cards of a namespace have no permanent address.
      sed -i s/PermanentMACAddress/MACAddress/ /run/systemd/network/*
      ${broughtUp(plan)}`;
    const ran = await debian.run(program, seeded(plan));
    expect(ran.read('/netplan.log')).toBe('');
    expect(ran, ran.read('/networkd.log')).toMatchObject({ status: 0, output: '' });
    expect(actualLinks(ran.read('/address.json'), ran.read('/route.json'), plan)).toEqual(expectedLinks(plan));
  });

  it('has the links of its plan after Debian was installed', async () => {
    const given = Object.fromEntries(networkdFiles(plan).map(({ path, text }) => [path, text]));
    const ran = await debian.run(broughtUp(plan), given);
    expect(ran.read('/networkd.log')).not.toMatch(/Unknown|ignoring.*\.(network|netdev|link)/);
    expect(ran, ran.read('/networkd.log')).toMatchObject({ status: 0, output: '' });
    expect(actualLinks(ran.read('/address.json'), ran.read('/route.json'), plan)).toEqual(expectedLinks(plan));
  });
});

describe('a machine with a bond and VLANs on it', () => {
  const plan = SAMPLE_PLANS.bonded;

  it("has the links of its plan in netplan's output for networkd", async () => {
    const program = `${CONVERTED}\nfor f in /run/systemd/network/*; do echo "## $f"; cat "$f"; echo; done`;
    const ran = await debian.run(program, seeded(plan));
    expect(ran.read('/netplan.log')).toBe('');
    const files = new Map(
      ran.output.split(/^## /m).map((part): [string, string] => [part.split('\n', 1)[0] ?? '', part]),
    );
    expect(networkdLinks(files, plan)).toEqual(expectedLinks(plan));
  });

  it('has the links of its plan in the files for Debian', () => {
    const files = new Map(networkdFiles(plan).map(({ path, text }) => [path, text]));
    expect(networkdLinks(files, plan)).toEqual(expectedLinks(plan));
  });

  it.each(['eni', 'sysconfig', 'network-manager'])('is accepted by cloud-init for systems with %s', async (kind) => {
    const distribution = kind === 'eni' ? 'debian' : 'rhel';
    const command = `cloud-init devel net-convert -p /network-config -k yaml -d /made -D ${distribution} -O ${kind}`;
    const ran = await debian.run(`${command} && grep -r . /made`, seeded(plan));
    expect(ran.status, ran.output).toBe(0);
    for (const word of ['10.0.100.61', '10.0.200.31', '10.0.50.31', '802.3ad', '10.0.200.1']) {
      expect(ran.output).toContain(word);
    }
  });
});
