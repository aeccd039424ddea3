import { describe, expect, it } from 'vitest';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { OPTION } from '../../../appliance/codecs/dhcp4/options.ts';
import { ColdironError } from '../../../appliance/domain/errors.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { factsOf, MAC, machineIn, NOW, name, networkWith, OTHER_UUID, SERVER } from '../../boot/boot-fixtures.ts';
import { ip, mac, NETWORK, NODE, POOL, RESERVED } from '../../boot/leases/lease-fixtures.ts';
import { FIRMWARE, packet, Rig } from './rig.ts';

const take = (client = mac(1), xid = 7) =>
  packet('request', client, { requested: POOL.from, server: SERVER.address, xid });

describe('an exchange', () => {
  it('goes from DISCOVER to ACK, and records each step', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(packet('discover', mac(1), { options: FIRMWARE }));
    rig.receives(packet('request', mac(1), { requested: POOL.from, server: SERVER.address, options: FIRMWARE }));
    await rig.udp.until(2);
    expect(rig.udp.sentInWords).toEqual([
      'offer 10.0.100.100 to 255.255.255.255:68 by eth1:67',
      'ack 10.0.100.100 to 255.255.255.255:68 by eth1:67',
    ]);
    expect(rig.story).toEqual(['dhcp.discover', 'dhcp.offer pool', 'dhcp.request', 'dhcp.ack selected']);
    expect(rig.notes.map((note) => note.beginsAttempt ?? false)).toEqual([true, false, false, false]);
    expect(rig.lines.filter(({ level }) => level === 'info').map(({ message }) => message)).toEqual([
      'dhcp: answers on eth1',
      'dhcp ack to request: it accepts the offered address',
    ]);
    expect(rig.unknown).toEqual(['52:54:00:00:00:01 on provisioning']);
    await rig.server.stop();
  });

  it('assigns a machine of the inventory its own address and name', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(packet('discover', MAC));
    expect(rig.udp.sentInWords).toEqual([`offer ${RESERVED} to 255.255.255.255:68 by eth1:67`]);
    expect(Buffer.from(rig.udp.replies[0]?.message.options.get(OPTION.hostName) ?? []).toString()).toBe('node01');
    expect(rig.unknown).toEqual([]);
  });

  it('uses the server identifier override of the relay (RFC 5107)', async () => {
    const rig = new Rig();
    await rig.server.start();
    const relay = ip('10.0.100.1');
    const override = ip('10.0.100.2');
    const from = { address: relay, port: 67 };
    const options = [[OPTION.relayAgentInformation, Uint8Array.of(11, 4, 10, 0, 100, 2)]] as const;
    rig.receives(packet('discover', mac(1), { giaddr: relay, options }), { from });
    const taken = { requested: POOL.from, server: override, giaddr: relay, options };
    rig.receives(packet('request', mac(1), taken), { from });
    await rig.udp.until(2);
    const named = rig.udp.replies.map(({ message }) => message.options.get(OPTION.serverIdentifier));
    expect(named).toEqual([Uint8Array.of(10, 0, 100, 2), Uint8Array.of(10, 0, 100, 2)]);
    expect(rig.story.filter((line) => /offer|ack/.test(line))).toEqual(['dhcp.offer pool', 'dhcp.ack selected']);
    await rig.server.stop();
  });

  it('offers an address that is reserved on another network only', async () => {
    const elsewhere = { name: 'eth0', mac: MAC, network: name('storage'), address: POOL.from, mtu: null };
    const rig = new Rig({ machines: [machineIn('ready', { spec: { interfaces: [elsewhere] } })] });
    await rig.server.start();
    rig.receives(packet('discover', mac(1)));
    expect(rig.udp.sentInWords).toEqual([`offer ${POOL.from} to 255.255.255.255:68 by eth1:67`]);
  });

  it('ends with a NAK where the address is wrong', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(packet('request', mac(1), { requested: ip('192.168.1.9') }));
    expect(rig.udp.sentInWords).toEqual(['nak 0.0.0.0 to 255.255.255.255:68 by eth1:67']);
    expect(rig.store.commits).toEqual([]);
  });

  it('does not start for an unknown machine on a network that ignores unknown machines', async () => {
    const rig = new Rig({ networks: [{ ...NETWORK, unknown: 'ignore' }] });
    await rig.server.start();
    for (let n = 0; n < 3; n++) rig.receives(packet('discover', mac(1), { options: FIRMWARE }));
    expect(rig.udp.sentInWords).toEqual([]);
    expect(rig.story.at(-1)).toBe('dhcp.silent unaccepted-ignored');
    const silences = rig.lines.filter(({ message }) => message.startsWith('dhcp silent'));
    expect(silences.map(({ level }) => level)).toEqual(['info', 'debug', 'debug']);
  });

  it('assigns a removed machine a pool address, for its refusal text, and not its former address', async () => {
    const rig = new Rig({ networks: [{ ...NETWORK, unknown: 'ignore' }] });
    rig.fleet.update([{ ...NODE, lifecycle: { ...NODE.lifecycle, state: 'removed' } }], rig.fleet.at);
    await rig.server.start();
    rig.receives(packet('discover', MAC, { options: FIRMWARE }));
    expect(rig.udp.sentInWords).toEqual([`offer ${POOL.from} to 255.255.255.255:68 by eth1:67`]);
    const { machine, decision } = new BootResolver(rig.fleet, () => NOW).resolve(factsOf(7), NETWORK);
    expect(machine).toBeNull();
    // Its history continues.
    expect(rig.notes.map(({ kind, machine: about }) => [kind, about])).toEqual([
      ['dhcp.discover', NODE.id],
      ['dhcp.offer', NODE.id],
    ]);
    expect(decision).toMatchObject({
      outcome: { kind: 'refusal', whatToDo: expect.stringContaining('coldiron apply') },
      because: { id: 'removed', words: expect.stringContaining('node01') },
    });
  });

  it('reports a chassis other than the declared one', async () => {
    const rig = new Rig({ machines: [machineIn('ready', { spec: { uuid: OTHER_UUID } })] });
    await rig.server.start();
    const uuid = Uint8Array.from([
      0, 0x1e, 0xab, 0x11, 0x7a, 0, 0, 0x80, 0x40, 0x80, 0, 0x52, 0x54, 0, 0x12, 0x34, 0x56,
    ]);
    rig.receives(packet('discover', MAC, { options: [...FIRMWARE, [OPTION.chassisUuid, uuid]] }));
    expect(rig.findings).toEqual(['node01 chassis-mismatch']);
  });

  it('does not start for malformed packets', async () => {
    const rig = new Rig();
    await rig.server.start();
    const from = { address: ip('10.0.100.9'), port: 68 };
    rig.udp.deliver('eth1:67', new Uint8Array(3), from);
    rig.udp.deliver('eth1:67', new Uint8Array(400), from);
    rig.receives(packet('request', mac(1)));
    rig.receives(packet('request', mac(1), { options: [[OPTION.serverIdentifier, Uint8Array.of(1, 2)]] }));
    rig.receives({ ...packet('discover', mac(1)), htype: 32, hlen: 0 });
    rig.receives({ ...packet('discover', mac(1)), options: new Map() });
    expect(rig.udp.sentInWords).toEqual([]);
    expect(rig.story.filter((note) => note.startsWith('dhcp.silent'))).toEqual([
      'dhcp.silent malformed',
      'dhcp.silent malformed',
      'dhcp.silent malformed',
      'dhcp.silent malformed',
      'dhcp.silent not-ethernet',
      'dhcp.silent malformed',
    ]);
    rig.receives(packet('discover', mac(1)));
    expect(rig.udp.sentInWords).toHaveLength(1);
  });
});

describe('a lease', () => {
  it('is on disk before its ACK is sent, and many share a commit', async () => {
    const rig = new Rig();
    await rig.server.start();
    let open = (): void => {};
    rig.store.gate = new Promise((resolve) => {
      open = resolve;
    });
    for (const n of [0, 1, 2, 3]) {
      rig.receives(packet('request', mac(n + 1), { requested: ip(`10.0.100.${100 + n}`), server: SERVER.address }));
    }
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(rig.udp.sentInWords).toEqual([]);
    open();
    await rig.udp.until(4);
    expect(rig.store.commits.map((commit) => commit.length)).toEqual([4]);
    expect(rig.udp.sentInWords.every((said) => said.startsWith('ack'))).toBe(true);
  });

  it('is not acknowledged while the store fails, and is when it works again', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.store.failure = new ColdironError('store_unavailable', 'the disk is full');
    rig.receives(take());
    await rig.server.stop();
    expect(rig.udp.sentInWords).toEqual([]);
    expect(rig.story.at(-1)).toBe('dhcp.silent not-written');
    expect(rig.lines.filter(({ level }) => level === 'error')).toHaveLength(1);

    rig.store.failure = null;
    const again = new Rig();
    await again.server.start();
    again.store.failure = new Error('for a moment');
    again.receives(take());
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    again.store.failure = null;
    again.receives(take());
    await again.udp.until(1);
    expect(again.udp.sentInWords).toEqual(['ack 10.0.100.100 to 255.255.255.255:68 by eth1:67']);
  });

  it('is acknowledged again without a second write when the request is repeated', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(take());
    rig.receives(take());
    await rig.udp.until(1);
    rig.receives(take());
    expect(rig.udp.sentInWords).toHaveLength(2);
    expect(rig.udp.sent[1]?.bytes).toEqual(rig.udp.sent[0]?.bytes);
    expect(rig.store.commits).toHaveLength(1);
    expect(rig.story).toContain('dhcp.silent answer-under-way');
  });

  it('survives a restart: no other client gets its address', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(take());
    await rig.udp.until(1);
    const after = new Rig({ stored: [...rig.store.commits.flat()] });
    await after.server.start();
    after.receives(packet('discover', mac(2)));
    after.receives(packet('discover', mac(1)));
    expect(after.udp.sentInWords.map((line) => line.split(' ')[1])).toEqual(['10.0.100.101', '10.0.100.100']);
  });

  it('that is being committed is acknowledged before the server stops', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(take());
    await rig.server.stop();
    expect(rig.udp.sentInWords).toHaveLength(1);
    expect(rig.udp.opened).toEqual([]);
    rig.receives(packet('discover', mac(2)));
    expect(rig.udp.sentInWords).toHaveLength(1);
  });

  it('that is released or declined is written without a reply', async () => {
    const rig = new Rig();
    await rig.server.start();
    rig.receives(take());
    await rig.udp.until(1);
    rig.receives(packet('decline', mac(1), { requested: POOL.from, server: SERVER.address }));
    rig.receives(packet('discover', mac(1)));
    expect(rig.udp.sentInWords.at(-1)).toMatch(/^offer 10\.0\.100\.101/);
    await rig.server.stop();
    expect(rig.store.commits.flat().map(({ state }) => state)).toEqual(['bound', 'declined']);
    expect(rig.story).toContain('dhcp.conflict');
  });
});

describe('interfaces', () => {
  const second = networkWith({
    name: name('second'),
    interface: 'eth2',
    prefix: { network: ip('10.0.101.0'), length: 24 },
    server: ip('10.0.101.10'),
    pools: [{ from: ip('10.0.101.100'), to: ip('10.0.101.110') }],
    unknown: 'inspect',
  });
  const first = { ...NETWORK, unknown: 'inspect' as const };

  it('answer independently, with their own addresses', async () => {
    const rig = new Rig({ networks: [first, second] });
    await rig.server.start();
    rig.receives(packet('discover', mac(1)), { at: 'eth1:67' });
    rig.receives(packet('discover', mac(1)), { at: 'eth2:67' });
    expect(rig.udp.sentInWords).toEqual([
      'offer 10.0.100.100 to 255.255.255.255:68 by eth1:67',
      'offer 10.0.101.100 to 255.255.255.255:68 by eth2:67',
    ]);
    rig.receives(packet('discover', mac(2), { giaddr: ip('10.0.101.1') }), { at: 'eth1:67' });
    expect(rig.story.at(-1)).toBe('dhcp.silent other-interface');
  });

  it('follow the inventory', async () => {
    const rig = new Rig({ networks: [first] });
    await rig.server.start();
    expect(rig.udp.opened).toEqual(['eth1:4011', 'eth1:67', 'eth1:68']);
    rig.declare([{ ...first, dhcp: 'off' }, second]);
    await rig.server.reconcile();
    expect(rig.udp.opened).toEqual(['eth2:4011', 'eth2:67', 'eth2:68']);
    await rig.server.stop();
  });

  it('that cannot be opened are reported, leave nothing open, and are retried', async () => {
    const rig = new Rig({ networks: [first, second] });
    rig.udp.refuse(
      'eth1:4011',
      new ColdironError('service_unavailable', 'cannot listen on eth1, UDP port 4011: taken'),
    );
    await rig.server.start();
    expect(rig.udp.opened.filter((at) => at.startsWith('eth1'))).toEqual([]);
    expect(rig.server.states()).toEqual([
      {
        interface: 'eth1',
        networks: ['provisioning'],
        state: 'failed',
        refusedBecause: 'cannot listen on eth1, UDP port 4011: taken',
      },
      { interface: 'eth2', networks: ['second'], state: 'running', refusedBecause: null },
    ]);
    rig.udp.permit('eth1:4011');
    await rig.server.reconcile();
    expect(rig.server.states()[0]?.refusedBecause).toBeNull();
  });
});

describe('a machine in a loop', () => {
  const boot = async (rig: Rig, xid: number, pause: number = MINUTE): Promise<void> => {
    const asks = { requested: POOL.from, server: SERVER.address, xid, options: FIRMWARE };
    rig.receives(packet('request', mac(1), asks));
    await rig.udp.until(rig.udp.sent.length + 1);
    await rig.clock.advance(pause, async () => {});
  };

  it('is reported when it gets the same loader three times and never fetches its script', async () => {
    const rig = new Rig();
    await rig.server.start();
    for (const xid of [1, 2, 3]) await boot(rig, xid);
    expect(rig.notes.filter(({ kind }) => kind === 'dhcp.loop').map(({ data }) => data)).toEqual([
      { network: 'provisioning', file: 'ipxe.efi', times: 3 },
    ]);
  });

  it('is offered the script once when the loop continues, and its loader again when that did not help', async () => {
    const rig = new Rig();
    await rig.server.start();
    for (const xid of [1, 2, 3, 4, 5, 6, 6, 7]) await boot(rig, xid, 20_000);
    const loader = 'ipxe.efi';
    const script = `http://${SERVER.address}:8080/boot/ipxe/boot.ipxe`;
    const files = rig.udp.replies.map(({ message }) => message.file);
    expect(files).toEqual([loader, loader, loader, loader, loader, script, script, loader]);
  });

  it('is not reported when it boots as often, but not within minutes', async () => {
    const rig = new Rig();
    await rig.server.start();
    for (const xid of [1, 2, 3, 4, 5, 6]) await boot(rig, xid, 2 * MINUTE);
    expect(rig.udp.replies.map(({ message }) => message.file)).toEqual(Array.from({ length: 6 }, () => 'ipxe.efi'));
  });

  it('is not reported when it fetched the script in between', async () => {
    const rig = new Rig();
    await rig.server.start();
    await boot(rig, 1);
    await boot(rig, 2);
    rig.server.scriptFetched(mac(1));
    await boot(rig, 3);
    expect(rig.story).not.toContain('dhcp.loop');
  });
});
