import { describe, expect, it } from 'vitest';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { writeIpv4 } from '../../../appliance/codecs/dhcp4/option-values.ts';
import { messageType, OPTION, writeMessageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { plainMessage } from '../../codecs/dhcp4/dhcp-messages.ts';
import { SERVER } from '../../policy/boot-fixtures.ts';
import { ip, mac, NETWORK, POOL } from '../../policy/lease-fixtures.ts';
import { packet, Rig } from './rig.ts';

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

describe('before it answers as the authority, the server', () => {
  it('asks as a client that does not exist, twice, and says nothing to anybody meanwhile', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    rig.hears(packet('discover', mac(1)));
    await rig.clock.advance(SECOND, turn);
    expect(
      rig.udp.replies.map(({ message, sent }) => `${messageType(message)} from ${sent.port} to ${sent.to.port}`),
    ).toEqual(['discover from 68 to 67', 'discover from 68 to 67']);
    const asked = rig.udp.replies[0]?.message;
    expect(asked?.broadcast).toBe(true);
    expect((asked?.chaddr[0] ?? 0) & 0x03).toBe(0x02);
    await rig.clock.advance(SECOND, turn);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toBeNull();
    rig.hears(packet('discover', mac(1)));
    expect(rig.udp.said.at(-1)).toMatch(/^offer/);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('refuses where another one makes an offer, and names it', async () => {
    const rig = new Rig({ settings: { ignoreOtherServers: false } });
    const started = rig.server.start();
    await turn();
    offer(rig);
    await started;
    expect(rig.server.states()[0]?.refusedBecause).toContain('another DHCP server, 10.0.100.66');
    expect(rig.udp.opened).toEqual([]);
    expect(rogues(rig)).toEqual([{ server: ROGUE, interface: 'eth1', network: 'provisioning', how: 'it was found' }]);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  it('is not put off by its own echo or by a proxy, which gives no addresses', async () => {
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

  it('does not look where it only adds to another server', async () => {
    const rig = new Rig({ networks: [{ ...NETWORK, dhcp: 'proxy' }], settings: { ignoreOtherServers: false } });
    await rig.server.start();
    expect(rig.udp.sent).toEqual([]);
    expect(rig.udp.opened).toEqual(['eth1:4011', 'eth1:67']);
  });

  it('does not start where it cannot look, unless it is told not to mind', async () => {
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

describe('while it answers, the server', () => {
  it('notices another one that offers addresses, and says so once in a while', async () => {
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

  it('notices a client that takes the offer of another one, and gives its own offer to others', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.hears(packet('discover', mac(1)));
    rig.hears(packet('request', mac(1), { requested: ip('10.0.100.200'), server: ROGUE }));
    expect(rogues(rig)).toMatchObject([{ server: ROGUE, how: 'a client took its offer' }]);
    rig.hears(packet('discover', mac(2), { requested: POOL.from }));
    expect(rig.udp.said.at(-1)).toMatch(/^offer 10\.0\.100\.100 /);
  });
});
