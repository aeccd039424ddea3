import { describe, expect, it } from 'vitest';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { factsFromTftp } from '../../../appliance/boot/client-facts.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { TftpContent, TftpResolver } from '../../../appliance/servers/tftp/tftp-resolver.ts';
import { MAC, machineIn, NODE_ID, NOW, UUID } from '../../boot/boot-fixtures.ts';
import { ack, load, read, sloppyClient } from './sloppy-client.ts';
import { fleetOf, LOOPBACK, startServer } from './tftp-rig.ts';

const OWN = `grub/machine/${MAC}_${UUID}.cfg`;

/** Sends the same to every client, as decided for this machine. */
function resolverThatSends(content: TftpContent, machine: Machine): Pick<TftpResolver, 'answer'> {
  const resolver = new BootResolver(fleetOf(machine), () => NOW);
  return {
    answer: async (name) => {
      const resolved = resolver.resolve(factsFromTftp({ address: LOOPBACK, file: name, mac: MAC }));
      return { name, mac: MAC, resolved, reply: { do: 'send', content } };
    },
  };
}
const text = { text: new TextEncoder().encode('exit\n') };

describe('the record of a read request', () => {
  it('has the decision and its reason for the configuration of a machine', async () => {
    const rig = await startServer({}, resolverThatSends(text, machineIn('commissioning')));
    await load(await sloppyClient(), rig.port, OWN);
    expect(await rig.noted('boot.decided')).toEqual([
      {
        kind: 'boot.decided',
        mac: MAC,
        machine: NODE_ID,
        data: {
          file: OWN,
          outcome: 'service-os',
          because: 'commissioning',
          words: expect.stringContaining('node01'),
        },
      },
    ]);
    expect(rig.notes.map(({ kind }) => kind)).toEqual(['tftp.completed', 'boot.decided']);
  });

  it('has no decision for files that every machine gets', async () => {
    const rig = await startServer({}, resolverThatSends(text, machineIn('commissioning')));
    for (const name of ['grub/grub.cfg', 'autoexec.ipxe', 'snponly.efi']) {
      await load(await sloppyClient(), rig.port, name);
    }
    await rig.noted('tftp.completed', 3);
    expect(rig.notes.map(({ kind }) => kind)).not.toContain('boot.decided');
  });

  it('has the start and the end of an image transfer', async () => {
    const rig = await startServer({}, resolverThatSends({ text: new Uint8Array(5000) }, machineIn('commissioning')));
    await load(await sloppyClient(), rig.port, 'boot/service-os-x86_64/initrd');
    await rig.noted('tftp.completed');
    expect(rig.notes.map(({ kind }) => kind)).toEqual(['tftp.begun', 'tftp.completed']);
    expect(rig.notes[0]).toMatchObject({
      mac: MAC,
      machine: NODE_ID,
      data: { file: 'boot/service-os-x86_64/initrd', size: 5000 },
    });
  });
});

describe('the beginning of a transfer', () => {
  it.each([
    ['snponly.efi', ['tftp.begun', 'tftp.completed']],
    ['grub/grub.cfg', ['tftp.completed']],
  ])('of %s is recorded if it is a loader', async (name, kinds) => {
    const rig = await startServer({}, resolverThatSends(text, machineIn('commissioning')));
    await load(await sloppyClient(), rig.port, name);
    await rig.noted('tftp.completed');
    expect(rig.notes.map(({ kind }) => kind)).toEqual(kinds);
  });

  it('is not recorded for a client without a lease, whose address may be forged', async () => {
    const resolver = resolverThatSends(text, machineIn('commissioning'));
    const answer: TftpResolver['answer'] = async (...args) => ({ ...(await resolver.answer(...args)), mac: null });
    const rig = await startServer({}, { answer });
    await load(await sloppyClient(), rig.port, 'snponly.efi');
    await rig.noted('tftp.completed');
    expect(rig.notes.map(({ kind }) => kind)).toEqual(['tftp.completed']);
  });
});

describe('a transfer without progress', () => {
  it('is recorded with what is missing, while it goes on', async () => {
    const rig = await startServer({}, resolverThatSends(text, machineIn('commissioning')));
    const client = await sloppyClient();
    client.send(read('snponly.efi'), rig.port);
    expect(await rig.noted('tftp.stalled')).toMatchObject([
      {
        mac: MAC,
        machine: NODE_ID,
        data: { file: 'snponly.efi', blocks: 0, reason: expect.stringContaining('never acknowledged') },
      },
    ]);
    expect(rig.server.transfersUnderWay).toBe(1);
  });
});

describe('a check by the appliance itself', () => {
  it('is not recorded in the trail', async () => {
    const resolver = resolverThatSends(text, machineIn('commissioning'));
    const answer: TftpResolver['answer'] = async (...args) => ({ ...(await resolver.answer(...args)), own: true });
    const rig = await startServer({}, { answer });
    for (const name of [OWN, 'boot/service-os-x86_64/kernel']) await load(await sloppyClient(), rig.port, name);
    await expect.poll(() => rig.logged.filter((line) => line.includes('by the appliance itself'))).toHaveLength(2);
    expect(rig.notes).toEqual([]);
  });
});

describe('a request that is not resolved', () => {
  const whoIs = () => ({ mac: MAC, machine: NODE_ID });

  it.each([
    [
      'to write',
      { op: 'write', fileName: 'snponly.efi', mode: 'octet', options: new Map() },
      'this server is read-only',
    ],
    ['by mail', { op: 'read', fileName: 'snponly.efi', mode: 'mail', options: new Map() }, 'mode mail is not served'],
  ] as const)('%s is recorded as a refusal, for the holder of the address', async (_what, packet, why) => {
    const rig = await startServer({}, undefined, { whoIs });
    const client = await sloppyClient();
    client.send(packet, rig.port);
    await client.next();
    expect(await rig.noted('tftp.refused')).toEqual([
      { kind: 'tftp.refused', mac: MAC, machine: NODE_ID, data: { file: 'snponly.efi', address: '127.0.0.1', why } },
    ]);
  });

  it('because it is malformed is recorded with the reason', async () => {
    const rig = await startServer({}, undefined, { whoIs });
    const client = await sloppyClient();
    client.send(Uint8Array.of(0, 1, 65, 65), rig.port);
    await client.next();
    expect(await rig.noted('tftp.malformed')).toMatchObject([{ mac: MAC, data: { why: expect.stringMatching(/\S/) } }]);
  });

  it('because there are too many is recorded with the requested name', async () => {
    const rig = await startServer({ atOnce: 1 });
    const [first, second] = [await sloppyClient(), await sloppyClient()];
    first.send(read('snponly.efi'), rig.port);
    first.send(ack(1), (await first.next()).from);
    await first.next();
    second.send(read('ipxe.efi'), rig.port);
    await second.next();
    expect(await rig.noted('tftp.refused')).toMatchObject([
      { mac: null, machine: null, data: { file: 'ipxe.efi', why: 'too many transfers at once (1)' } },
    ]);
  });

  it('because of a server failure is recorded too', async () => {
    const gone = { name: 'initrd', file: '/nowhere/initrd', size: 5, sha256: 'a', kind: 'initrd' } as const;
    const content = { asset: { ...gone, architecture: null, contentType: '' } };
    const rig = await startServer({}, resolverThatSends(content, machineIn('commissioning')));
    const client = await sloppyClient();
    client.send(read('boot/service-os-x86_64/initrd'), rig.port);
    await client.next();
    expect(await rig.noted('tftp.refused')).toMatchObject([{ data: { why: 'the server cannot send the file now' } }]);
  });
});
