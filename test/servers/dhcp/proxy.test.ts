import { describe, expect, it } from 'vitest';
import { SERVER } from '../../boot/boot-fixtures.ts';
import { ip, mac, NETWORK } from '../../boot/leases/lease-fixtures.ts';
import { FIRMWARE, packet, Rig } from './rig.ts';

const proxying = async (): Promise<Rig> => {
  const rig = new Rig({ networks: [{ ...NETWORK, dhcp: 'proxy', unknown: 'inspect' }] });
  await rig.server.start();
  return rig;
};

describe('beside another DHCP server', () => {
  it('sends firmware the boot file and no address', async () => {
    const rig = await proxying();
    rig.receives(packet('discover', mac(1), { options: FIRMWARE }));
    expect(rig.udp.sentInWords).toEqual(['offer 0.0.0.0 to 255.255.255.255:68 by eth1:67']);
    expect(rig.udp.replies[0]?.message).toMatchObject({ siaddr: SERVER.address, file: 'ipxe.efi' });
  });

  it('does not answer a REQUEST, whatever it names', async () => {
    const rig = await proxying();
    rig.receives(
      packet('request', mac(1), { requested: ip('10.0.100.9'), server: ip('10.0.100.66'), options: FIRMWARE }),
    );
    rig.receives(packet('request', mac(1), { requested: ip('10.0.100.9'), server: SERVER.address, options: FIRMWARE }));
    rig.receives(packet('discover', mac(1)));
    expect(rig.udp.sentInWords).toEqual([]);
    expect(rig.store.commits).toEqual([]);
  });

  it('answers as boot server to the source address and port, from port 4011', async () => {
    const rig = await proxying();
    const from = { address: ip('10.0.100.9'), port: 4011 };
    rig.receives(packet('request', mac(1), { ciaddr: ip('10.0.100.9'), options: FIRMWARE }), { at: 'eth1:4011', from });
    expect(rig.udp.sentInWords).toEqual(['ack 0.0.0.0 to 10.0.100.9:4011 by eth1:4011']);
    expect(rig.udp.replies[0]?.message).toMatchObject({ ciaddr: '10.0.100.9', file: 'ipxe.efi' });
  });
});

describe('as the authoritative server', () => {
  it('also answers as boot server, for firmware that uses port 4011 anyway', async () => {
    const rig = new Rig();
    await rig.server.start();
    const from = { address: ip('10.0.100.100'), port: 68 };
    rig.receives(packet('request', mac(1), { ciaddr: from.address, options: FIRMWARE }), { at: 'eth1:4011', from });
    expect(rig.udp.sentInWords).toEqual(['ack 0.0.0.0 to 10.0.100.100:68 by eth1:4011']);
    expect(rig.store.commits).toEqual([]);
  });
});
