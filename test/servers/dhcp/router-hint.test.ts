// An old iPXE waits for an IPv6 router after its DHCP reply: the sender of the router hint gets the interface of iPXE clients
// only.

import { describe, expect, it } from 'vitest';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { name, SERVER } from '../../boot/boot-fixtures.ts';
import { ip, mac, NETWORK, POOL } from '../../boot/leases/lease-fixtures.ts';
import { FIRMWARE, IPXE, packet, Rig } from './rig.ts';

const FIRST: SiteNetwork = { ...NETWORK, unknown: 'inspect' };
const SECOND: SiteNetwork = {
  ...FIRST,
  name: name('second'),
  interface: 'eth2',
  prefix: { network: ip('10.0.101.0'), length: 24 },
  server: ip('10.0.101.10'),
  gateway: null,
  pools: [{ from: ip('10.0.101.100'), to: ip('10.0.101.110') }],
};

async function serving(network: Partial<SiteNetwork> = {}): Promise<Rig> {
  const rig = new Rig({ networks: [{ ...FIRST, ...network }, SECOND] });
  await rig.server.start();
  return rig;
}

describe('the interface is reported', () => {
  it('when an iPXE on it gets an OFFER, and when it gets an ACK', async () => {
    const rig = await serving();
    rig.receives(packet('discover', mac(1), { options: IPXE }), { at: 'eth2:67' });
    expect(rig.udp.sentInWords).toEqual(['offer 10.0.101.100 to 255.255.255.255:68 by eth2:67']);
    expect(rig.hinted).toEqual(['eth2']);
    rig.receives(packet('request', mac(2), { requested: POOL.from, server: SERVER.address, options: IPXE }));
    await rig.udp.until(2);
    expect(rig.hinted).toEqual(['eth2', 'eth1']);
  });

  it('when an iPXE gets a proxyDHCP reply, also on the boot server’s port', async () => {
    const rig = await serving({ dhcp: 'proxy' });
    rig.receives(packet('discover', mac(1), { options: IPXE }));
    expect(rig.hinted).toEqual(['eth1']);
    const from = { address: ip('10.0.100.9'), port: 4011 };
    rig.receives(packet('request', mac(1), { ciaddr: from.address, options: IPXE }), { at: 'eth1:4011', from });
    expect(rig.hinted).toEqual(['eth1', 'eth1']);
  });
});

describe('no interface is reported', () => {
  it('for firmware and operating systems, whatever the reply', async () => {
    const rig = await serving();
    rig.receives(packet('discover', mac(1), { options: FIRMWARE }));
    rig.receives(packet('discover', mac(2)));
    rig.receives(packet('request', mac(1), { requested: POOL.from, server: SERVER.address, options: FIRMWARE }));
    rig.receives(packet('inform', mac(2), { ciaddr: ip('10.0.100.9') }));
    await rig.udp.until(4);
    expect(rig.hinted).toEqual([]);
  });

  it('for an iPXE that gets a NAK', async () => {
    const rig = await serving();
    rig.receives(packet('request', mac(1), { requested: ip('192.168.1.9'), options: IPXE }));
    expect(rig.udp.sentInWords).toEqual(['nak 0.0.0.0 to 255.255.255.255:68 by eth1:67']);
    expect(rig.hinted).toEqual([]);
  });

  it('for an iPXE that gets no reply, or not yet', async () => {
    const rig = await serving({ unknown: 'ignore' });
    rig.receives(packet('discover', mac(1), { options: IPXE }));
    expect(rig.hinted).toEqual([]);
    const slow = await serving();
    let open = (): void => {};
    slow.store.gate = new Promise((resolve) => {
      open = resolve;
    });
    slow.receives(packet('request', mac(1), { requested: POOL.from, server: SERVER.address, options: IPXE }));
    expect(slow.hinted).toEqual([]);
    open();
    await slow.udp.until(1);
    expect(slow.hinted).toEqual(['eth1']);
  });
});
