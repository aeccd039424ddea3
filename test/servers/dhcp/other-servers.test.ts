import { describe, expect, it } from 'vitest';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { writeIpv4 } from '../../../appliance/codecs/dhcp4/option-values.ts';
import { messageType, OPTION, writeMessageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { parsePrefix } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { name, SERVER } from '../../boot/boot-fixtures.ts';
import { ip, mac, NETWORK, POOL } from '../../boot/leases/lease-fixtures.ts';
import { plainMessage } from '../../codecs/dhcp4/dhcp-messages.ts';
import { FIRMWARE, packet, Rig } from './rig.ts';

const ROGUE = ip('10.0.100.66');
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function offer(rig: Rig, server = ROGUE, yiaddr = ip('10.0.100.200')): void {
  const options = new Map([
    [OPTION.messageType, writeMessageType('offer')],
    [OPTION.serverIdentifier, writeIpv4(server)],
  ]);
  const { bytes } = encodeDhcp({ ...plainMessage, yiaddr, options }, { maxBytes: 548 });
  rig.udp.deliver('eth1:68', bytes, { address: server, port: 67 });
}
const rogues = (rig: Rig) => rig.notes.filter(({ kind }) => kind === 'dhcp.rogue').map(({ data }) => data);

describe('before it answers as the authoritative server, the server', () => {
  it('sends two DISCOVERs as an invented client, and answers no request meanwhile', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    rig.receives(packet('discover', mac(1)));
    await rig.clock.advance(SECOND, turn);
    expect(
      rig.udp.replies.map(({ message, sent }) => `${messageType(message)} from ${sent.port} to ${sent.to.port}`),
    ).toEqual(['discover from 68 to 67', 'discover from 68 to 67']);
    const discover = rig.udp.replies[0]?.message;
    expect(discover?.broadcast).toBe(true);
    expect((discover?.chaddr[0] ?? 0) & 0x03).toBe(0x02);
    await rig.clock.advance(SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toBeNull();
    rig.receives(packet('discover', mac(1)));
    expect(rig.udp.sentInWords.at(-1)).toMatch(/^offer/);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('does not start where another server makes an offer, and names it', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    offer(rig);
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toContain('another DHCP server, 10.0.100.66');
    expect(rig.udp.opened).toEqual([]);
    expect(rogues(rig)).toEqual([
      { server: ROGUE, interface: 'eth1', network: 'provisioning', how: 'it answered a DISCOVER' },
    ]);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('names all other servers where there are several', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    for (const server of [ROGUE, ROGUE, ip('10.0.100.67')]) offer(rig, server);
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toContain('other DHCP servers, 10.0.100.66 and 10.0.100.67, assign');
    expect(rogues(rig)).toHaveLength(2);
  });

  it('ignores its own broadcast and a proxyDHCP server, which assigns no addresses', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    offer(rig, SERVER.address);
    offer(rig, ROGUE, ip('0.0.0.0'));
    rig.udp.deliver('eth1:68', new Uint8Array(9), { address: ROGUE, port: 67 });
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toBeNull();
  });

  it('is `starting` while it searches for other servers, and `failed` while it retries after a failure', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    expect(rig.server.health()).toBe('starting');
    offer(rig);
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.health()).toBe('failed');
    const again = rig.server.reconcile();
    await turn();
    expect(rig.server.health()).toBe('failed');
    await rig.clock.advance(2 * SECOND, turn);
    await again;
    expect(rig.server.health()).toBe('running');
  });

  it('does not start where no DISCOVER could be sent, and searches again the next time', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    rig.udp.down = new Error('ENETDOWN (to 255.255.255.255:67)');
    const started = rig.server.start();
    await turn();
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toMatch(/cannot check on eth1 .*: ENETDOWN .*is the interface up/);
    expect(rig.udp.opened).toEqual([]);
    rig.udp.down = null;
    const again = rig.server.reconcile();
    await turn();
    offer(rig);
    await rig.clock.advance(2 * SECOND, turn);
    await again;
    expect(rig.server.states()[0]?.refusedBecause).toContain('another DHCP server, 10.0.100.66');
  });

  it('accepts a search in which only one DISCOVER could be sent', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    rig.udp.down = new Error('ENETDOWN (to 255.255.255.255:67)');
    const started = rig.server.start();
    await turn();
    rig.udp.down = null;
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toBeNull();
  });

  it('names a server that made an offer, also when the second DISCOVER could not be sent', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    offer(rig);
    rig.udp.down = new Error('ENETDOWN (to 255.255.255.255:67)');
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toContain('another DHCP server, 10.0.100.66');
  });

  it('does not search where it is only a proxyDHCP server', async () => {
    const rig = new Rig({ networks: [{ ...NETWORK, dhcp: 'proxy' }], settings: { ignoreOtherServers: false } });
    await rig.server.start();
    expect(rig.udp.sent).toEqual([]);
    expect(rig.udp.opened).toEqual(['eth1:4011', 'eth1:67']);
  });

  it('does not start where it cannot search, unless other servers are ignored by configuration', async () => {
    const strict = new Rig({ settings: { ignoreOtherServers: false } });
    strict.udp.refuse('eth1:68', new Error('port 68 is taken'));
    await strict.server.start();
    expect(strict.server.states()[0]?.refusedBecause).toBe('port 68 is taken');
    const lenient = new Rig();
    lenient.udp.refuse('eth1:68', new Error('port 68 is taken'));
    await lenient.server.start();
    expect(lenient.server.states()[0]?.refusedBecause).toBeNull();
  });
});

describe('while it answers requests, the server', () => {
  it('detects another server that offers addresses, and reports it at intervals', async () => {
    const rig = new Rig();
    await rig.server.start();
    offer(rig);
    offer(rig);
    expect(rogues(rig)).toEqual([
      { server: ROGUE, interface: 'eth1', network: 'provisioning', how: 'it sent an OFFER' },
    ]);
    await rig.clock.advance(11 * MINUTE, turn);
    offer(rig);
    expect(rogues(rig)).toHaveLength(2);
  });

  it('detects a client that accepts the offer of another server, and releases its own offer', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(packet('discover', mac(1)));
    rig.receives(packet('request', mac(1), { requested: ip('10.0.100.200'), server: ROGUE }));
    expect(rogues(rig)).toMatchObject([{ server: ROGUE, how: 'a client accepted its offer' }]);
    rig.receives(packet('discover', mac(2), { requested: POOL.from }));
    expect(rig.udp.sentInWords.at(-1)).toMatch(/^offer 10\.0\.100\.100 /);
  });

  it('detects another server behind a relay too, and names the network', async () => {
    const far = { ...NETWORK, name: name('far'), prefix: mustParse(parsePrefix('10.9.0.0/24')), pools: [] };
    const rig = new Rig({ networks: [far] });
    await rig.server.start();
    rig.receives(packet('request', mac(1), { requested: ip('10.9.0.7'), server: ROGUE, giaddr: ip('10.9.0.1') }));
    expect(rogues(rig)).toMatchObject([{ server: ROGUE, network: 'far', how: 'a client accepted its offer' }]);
  });

  it('detects another server from requests that it does not answer', async () => {
    const rig = new Rig({ networks: [{ ...NETWORK, unknown: 'ignore' }] });
    await rig.server.start();
    rig.receives(packet('request', mac(1), { requested: ip('10.0.100.200'), server: ROGUE, options: FIRMWARE }));
    expect(rogues(rig)).toMatchObject([{ server: ROGUE }]);
    expect(rig.udp.sentInWords).toEqual([]);
  });

  it('ignores packets that are not from a server, and networks where others assign the addresses', async () => {
    const rig = new Rig();
    await rig.server.start();
    for (const server of ['0.0.0.0', '255.255.255.255', '224.0.0.1']) {
      rig.receives(packet('request', mac(1), { requested: POOL.from, server: ip(server) }));
    }
    rig.declare([{ ...NETWORK, dhcp: 'proxy' }]);
    rig.receives(packet('request', mac(1), { requested: POOL.from, server: ROGUE }));
    expect(rogues(rig)).toEqual([]);
  });
});

describe('an interface', () => {
  it('that was deleted and recreated is opened again, and a missing one is reported', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.interfaceIndex = 8;
    await rig.server.reconcile();
    expect(rig.lines.map(({ message }) => message)).toEqual([
      'dhcp: answers on eth1',
      'dhcp: no longer answers on eth1',
      'dhcp: answers on eth1',
    ]);
    rig.udp.refuse('eth1:67', new Error('this machine has no such interface'));
    rig.interfaceIndex = null;
    await rig.server.reconcile();
    expect(rig.server.states()[0]?.refusedBecause).toBe('this machine has no such interface');
    expect(rig.server.health()).toBe('failed');
  });
});

describe('a server that was seen', () => {
  const table = (hardware: string): string =>
    `IP address       HW type     Flags       HW address            Mask     Device\n${ROGUE} 0x1 0x2 ${hardware} * eth1\n`;

  it('is listed with the MAC that answers for its address, until it was silent for long', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    await rig.clock.advance(2 * SECOND, turn);
    await started;
    offer(rig);
    const seen = { network: 'provisioning', interface: 'eth1', address: ROGUE, how: 'it sent an OFFER' };
    expect(rig.server.otherServers()).toEqual([{ ...seen, mac: null }]);
    rig.neighbours = table('52:54:00:66:66:66');
    await rig.clock.advance(SECOND, turn);
    expect(rig.server.otherServers()).toEqual([{ ...seen, mac: '52:54:00:66:66:66' }]);
    await rig.clock.advance(9 * MINUTE, turn);
    offer(rig);
    await rig.clock.advance(9 * MINUTE, turn);
    expect(rig.server.otherServers()).toHaveLength(1);
    await rig.clock.advance(2 * MINUTE, turn);
    expect(rig.server.otherServers()).toEqual([]);
  });

  it('is not listed where others are expected', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: true } });
    await rig.server.start();
    offer(rig);
    expect(rogues(rig)).toHaveLength(1);
    expect(rig.server.otherServers()).toEqual([]);
  });
});
