import { describe, expect, it } from 'vitest';
import { HOUR, SECOND } from '../../../appliance/domain/instant.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import { neighboursOn } from '../../../appliance/servers/dhcp/arp-probe.ts';
import { MAC, SERVER } from '../../boot/boot-fixtures.ts';
import { ip, mac, NETWORK } from '../../boot/leases/lease-fixtures.ts';
import { packet, Rig } from './rig.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const HEADER = 'IP address       HW type     Flags       HW address            Mask     Device\n';
const line = (address: string, flags: string, hardware: string, device = 'eth1'): string =>
  `${address.padEnd(16)} 0x1         ${flags}         ${hardware}     *        ${device}\n`;
const OTHER_HOST = '02:00:00:00:00:99';

async function probing(): Promise<Rig> {
  const rig = new Rig({ settings: { conflictProbe: true } });
  await rig.server.start();
  return rig;
}
const offers = (rig: Rig): string[] => rig.udp.sentInWords.map((line) => line.split(' ').slice(0, 2).join(' '));
const probed = (rig: Rig): string[] =>
  rig.udp.sent.filter(({ bytes }) => bytes.length === 0).map(({ to }) => to.address);

describe('an address of the pool', () => {
  it('is probed before it is first offered', async () => {
    const rig = await probing();
    rig.receives(packet('discover', mac(1)));
    await turn();
    expect(offers(rig)).toEqual([]);
    expect(probed(rig)).toEqual(['10.0.100.100']);
    await rig.clock.advance(SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.100']);
  });

  it('is probed once, not for every repeated DISCOVER', async () => {
    const rig = await probing();
    rig.receives(packet('discover', mac(1)));
    rig.receives(packet('discover', mac(1)));
    await rig.clock.advance(SECOND, turn);
    rig.receives(packet('discover', mac(1)));
    expect(probed(rig)).toEqual(['10.0.100.100']);
    expect(offers(rig)).toEqual(['offer 10.0.100.100', 'offer 10.0.100.100']);
    expect(rig.story).toContain('dhcp.silent probe-under-way');
  });

  it('is probed again for another client, and not when its own client returns', async () => {
    const rig = await probing();
    const [from, to] = [ip('10.0.100.100'), ip('10.0.100.100')];
    rig.declare([{ ...NETWORK, unknown: 'inspect', pools: [{ from, to }] }]);
    const boots = async (client: Mac) => {
      rig.receives(packet('discover', client));
      await rig.clock.advance(SECOND, turn);
      rig.receives(packet('request', client, { requested: from, server: SERVER.address }));
      await rig.clock.advance(SECOND, turn);
    };
    await boots(mac(1));
    await rig.clock.advance(2 * HOUR, turn);
    await boots(mac(1));
    expect(probed(rig)).toHaveLength(1);
    await rig.clock.advance(2 * HOUR, turn);
    await boots(mac(2));
    expect(probed(rig)).toHaveLength(2);
    expect(offers(rig)).toHaveLength(6);
  });

  it('that another host uses is skipped, and the next one is offered', async () => {
    const rig = await probing();
    rig.receives(packet('discover', mac(1)));
    await turn();
    rig.neighbours = HEADER + line('10.0.100.100', '0x2', OTHER_HOST);
    await rig.clock.advance(SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.101']);
    expect(rig.story).toContain('dhcp.conflict');
    rig.receives(packet('discover', mac(2), { requested: ip('10.0.100.100') }));
    await rig.clock.advance(SECOND, turn);
    expect(offers(rig).at(-1)).toBe('offer 10.0.100.102');
  });

  it('is free when the kernel has only a stale neighbour entry for it', async () => {
    const rig = await probing();
    rig.neighbours = HEADER + line('10.0.100.100', '0x2', OTHER_HOST);
    rig.receives(packet('discover', mac(1)));
    await rig.clock.advance(8 * SECOND, turn);
    expect(offers(rig)).toEqual([]);
    rig.neighbours = HEADER + line('10.0.100.100', '0x0', '00:00:00:00:00:00');
    await rig.clock.advance(0.1 * SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.100']);
    expect(rig.story).not.toContain('dhcp.conflict');
  });

  it('is skipped when a host with an old neighbour entry still uses it', async () => {
    const rig = await probing();
    rig.neighbours = HEADER + line('10.0.100.100', '0x2', OTHER_HOST);
    rig.receives(packet('discover', mac(1)));
    await rig.clock.advance(10 * SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.101']);
    expect(rig.story).toContain('dhcp.conflict');
  });

  it('is no conflict when the client itself answers on it', async () => {
    const rig = await probing();
    rig.neighbours = HEADER + line('10.0.100.100', '0x2', mac(1));
    rig.receives(packet('discover', mac(1)));
    await rig.clock.advance(SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.100']);
  });

  it('is probed in parallel with others', async () => {
    const rig = await probing();
    for (const n of [1, 2, 3, 4]) rig.receives(packet('discover', mac(n)));
    await turn();
    expect(probed(rig)).toHaveLength(4);
    await rig.clock.advance(0.6 * SECOND, turn);
    expect(offers(rig)).toHaveLength(4);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('is offered without a probe where the inventory reserves it', async () => {
    const rig = await probing();
    rig.receives(packet('discover', MAC));
    expect(probed(rig)).toEqual([]);
    expect(offers(rig)).toEqual(['offer 10.0.100.50']);
  });
});

describe('an address of a pool behind a relay', () => {
  const asks = (client: number, requested?: string) =>
    packet('discover', mac(client), { giaddr: ip('10.0.100.2'), ...(requested ? { requested: ip(requested) } : {}) });

  it('is probed with two echo requests before it is first offered, and not by ARP', async () => {
    const rig = await probing();
    rig.receives(asks(1));
    await turn();
    expect(offers(rig)).toEqual([]);
    expect(rig.echo.requests).toEqual(['eth1 10.0.100.100']);
    expect(rig.echo.sockets).toBe(1);
    await rig.clock.advance(SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.100']);
    expect(rig.echo.requests).toEqual(['eth1 10.0.100.100', 'eth1 10.0.100.100']);
    expect(probed(rig)).toEqual([]);
    expect([rig.echo.sockets, rig.clock.pendingTimers]).toEqual([0, 0]);
  });

  it.each([0, 1])('is skipped when another host uses it, also when %s echo requests are lost', async (losses) => {
    const rig = await probing();
    rig.echo.alive.add(ip('10.0.100.100'));
    rig.echo.losses = losses;
    rig.receives(asks(1));
    await rig.clock.advance(2 * SECOND, turn);
    expect(offers(rig)).toEqual(['offer 10.0.100.101']);
    expect(rig.story).toContain('dhcp.conflict');
    rig.receives(asks(2, '10.0.100.100'));
    await rig.clock.advance(2 * SECOND, turn);
    expect(offers(rig).at(-1)).toBe('offer 10.0.100.102');
    expect(rig.echo.sockets).toBe(0);
  });

  it('is probed in parallel with others, and ignores their replies', async () => {
    const rig = await probing();
    rig.echo.alive.add(ip('10.0.100.101'));
    for (const n of [1, 2, 3]) rig.receives(asks(n));
    await turn();
    expect([rig.echo.requests.length, rig.echo.sockets]).toEqual([3, 1]);
    await rig.clock.advance(2 * SECOND, turn);
    expect(offers(rig).sort()).toEqual(['offer 10.0.100.100', 'offer 10.0.100.102', 'offer 10.0.100.103']);
  });

  it('is offered at once without a probe, with a warning, where raw sockets are not permitted', async () => {
    const rig = await probing();
    rig.echo.refusal = new Error('socket: EPERM');
    for (const n of [1, 2]) rig.receives(asks(n));
    await turn();
    expect(offers(rig)).toEqual(['offer 10.0.100.100', 'offer 10.0.100.101']);
    expect(rig.clock.pendingTimers).toBe(0);
    expect(rig.lines.filter(({ level }) => level === 'warn')).toEqual([
      { level: 'warn', message: 'dhcp: addresses behind relays cannot be probed and are offered without a probe' },
    ]);
  });

  it('is not probed again after the server has stopped', async () => {
    const rig = await probing();
    rig.receives(asks(1));
    await turn();
    await rig.server.stop();
    expect([rig.echo.sockets, rig.clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe('the neighbour table', () => {
  it('lists the neighbours that answered on an interface', () => {
    const table =
      HEADER +
      line('10.0.100.7', '0x2', OTHER_HOST) +
      line('10.0.100.8', '0x0', '00:00:00:00:00:00') +
      line('10.0.100.9', '0x2', OTHER_HOST, 'eth2');
    expect([...neighboursOn('eth1', table)]).toEqual([['10.0.100.7', OTHER_HOST]]);
    expect([...neighboursOn('eth1', '')]).toEqual([]);
  });
});
