import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { interfaceMtu } from '../../../appliance/servers/tftp/interface-mtu.ts';
import { put, temporaryFolder } from '../../assets/tiny-files.ts';
import { load, read, sloppyClient } from './sloppy-client.ts';
import { resolverFor } from './tftp-resolver-for.ts';
import { startServer } from './tftp-rig.ts';

const PLACES = [
  ['in threads of their own', {}],
  ['in the thread of the server', { transferPorts: { from: 45_000, to: 45_999 } }],
  ['from the port of the requests', { singlePort: true }],
] as const;

async function grantedBlockSize(requested: number, settings: object, mtu: number | null): Promise<unknown> {
  const { port } = await startServer(settings, undefined, { mtuAt: async () => mtu });
  const client = await sloppyClient();
  client.send(read('snponly.efi', { blksize: String(requested) }), port);
  const { packet } = await client.next();
  return packet.op === 'optionAck' ? Number(packet.options.get('blksize')) : packet;
}

describe.each(PLACES)('the block size, transfers %s', (_where, place) => {
  it.each<[string, requested: number, most: number, mtu: number | null, granted: number]>([
    ['is as requested when it fits', 1024, 1468, 1500, 1024],
    ['is at most the limit of the site file', 8192, 4096, 9000, 4096],
    ['is at most what leaves the interface in one piece', 8192, 8192, 1500, 1468],
    ['is smaller where the MTU is smaller, as in a tunnel', 1468, 1468, 1400, 1368],
    ['is the limit of the site file where the MTU is unknown', 8192, 4096, null, 4096],
  ])('%s', async (_how, requested, most, mtu, granted) => {
    expect(await grantedBlockSize(requested, { ...place, maxBlockSize: most }, mtu)).toBe(granted);
  });

  it('may use jumbo frames, from memory and from the disk', async () => {
    const content = Buffer.alloc(1024 * 1024 + 17, 'large packets ');
    const asset = { file: put(temporaryFolder(), 'initrd', content), size: content.length };
    for (const memoryBytes of [1024, 64 * 1024 * 1024]) {
      const settings = { ...place, maxBlockSize: 8192, memoryBytes };
      const { port, noted } = await startServer(settings, resolverFor(asset));
      const client = await sloppyClient();
      expect((await load(client, port, 'initrd', { blksize: '8192', windowsize: '4' })).equals(content)).toBe(true);
      const [note] = await noted('tftp.completed');
      expect(note?.data).toMatchObject({ blockSize: 8192, windowSize: 4 });
    }
  });
});

describe('the MTU of an address', () => {
  it('is that of the interface that has it', async () => {
    const loopback = Number(readFileSync('/sys/class/net/lo/mtu', 'utf8'));
    expect(await interfaceMtu('127.0.0.1')).toBe(loopback);
  });

  it('is null where no interface has the address', async () => {
    expect(await interfaceMtu('192.0.2.1')).toBeNull();
  });
});
