// An old iPXE waits for an IPv6 router after its lease. The appliance advertises on that wire that there is none, when a client
// waits for it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { mac } from '../../boot/leases/lease-fixtures.ts';
import { ROOT } from '../../process/appliance.ts';
import { FIRMWARE, IPXE, packet } from '../../servers/dhcp/rig.ts';
import type { Running } from '../namespaces.ts';
import { needPackages } from '../packages.ts';
import { Lab } from './lab.ts';

const SIDES = [
  { namespace: 'left', device: 'c1', server: '10.88.0.1', serverDevice: 's1' },
  { namespace: 'right', device: 'c2', server: '10.89.0.1', serverDevice: 's2' },
] as const;

const SITE = `listen: { boot: 127.0.0.1:0, management: 127.0.0.1:0 }
dhcp: { ignore_other_servers: true }
sites: [{ name: lab, bmc_mode: disabled }]
networks:
  - { name: left, prefix: 10.88.0.0/24, server: 10.88.0.1, interface: s1, dhcp: authoritative, unknown: inspect, pools: [{ from: 10.88.0.100, to: 10.88.0.199 }] }
  - { name: right, prefix: 10.89.0.0/24, server: 10.89.0.1, interface: s2, dhcp: authoritative, unknown: inspect, pools: [{ from: 10.89.0.100, to: 10.89.0.199 }] }
`;

let lab: Lab;
beforeAll(() => needPackages(['tcpdump', 'iproute2']));
beforeEach(async () => {
  lab = new Lab();
  const { namespaces } = lab;
  namespaces.add('server', 'left', 'right');
  // Otherwise the kernel checks its own addresses for two seconds before it sends anything from them.
  const untried = 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad';
  expect((await namespaces.run('server', 'sh', '-c', untried)).output).toBe('');
  for (const { namespace, device, server, serverDevice } of SIDES) {
    namespaces.connect({ namespace: 'server', device: serverDevice, address: `${server}/24` }, { namespace, device });
  }
});
afterEach(async () => await lab.remove());

/** tcpdump's output for router advertisements on the client's end. */
async function advertisements(namespace: string, device: string): Promise<Running> {
  const filter = ['icmp6', 'and', 'ip6[40]', '==', '134'];
  const options = ['--immediate-mode', '-l', '-n', '-vvv', '-Z', 'root', '-i', device];
  const tcpdump = lab.namespaces.start(namespace, 'tcpdump', ...options, ...filter);
  await tcpdump.says(/listening on/);
  return tcpdump;
}

const ask = (options: typeof FIRMWARE, client: number): Uint8Array =>
  encodeDhcp(packet('discover', mac(client), { xid: client, options }), { maxBytes: 1472 }).bytes;

it('an iPXE learns that there is no router, and neither firmware nor an operating system on the other wire does', async () => {
  const site = join(lab.folder, 'coldiron.yaml');
  writeFileSync(site, SITE);
  const appliance = lab.namespaces.start('server', join(ROOT, 'coldiron'), 'serve', '-c', site, '--state', lab.state);
  await appliance.says(/Coldiron is up/);
  const left = await advertisements('left', 'c1');
  const right = await advertisements('right', 'c2');
  const onTheRight = await lab.wire('right', 'c2');
  await Promise.all([onTheRight.ask(ask([], 1)), onTheRight.ask(ask(FIRMWARE, 2))]);
  const onTheLeft = await lab.wire('left', 'c1');
  await onTheLeft.ask(ask(IPXE, 3));
  // The clients on the right sent their requests earlier: by the end of this round, theirs would be over too.
  await left.says(/(?:router lifetime.*\n[\s\S]*?){4}/);
  const seen = left.output.split(/^(?=\d\d:)/m).slice(1);
  const nothingOffered = new RegExp(
    [
      /hlim 255, next-header ICMPv6 \(58\) payload length: 16\) fe80::\S+ > ff02::1: /,
      /\[icmp6 sum ok\] ICMP6, router advertisement, length 16\n\s+hop limit 0, .*router lifetime 0s, .*\n$/,
    ]
      .map(({ source }) => source)
      .join(''),
  );
  for (const advertisement of seen) expect(advertisement).toMatch(nothingOffered);
  expect(left.output).not.toContain('prefix info option');
  expect(right.output).not.toContain('router advertisement');
});
