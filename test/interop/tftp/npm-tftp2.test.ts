// The npm package tftp2 has no options and no timers: plain RFC 1350, in blocks of 512 bytes.

import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { LOADER, startServer } from '../../servers/tftp/tftp-rig.ts';

const tftp2 = createRequire(import.meta.url)('tftp2');

it('the npm package tftp2 fetches a file without any option', async () => {
  const rig = await startServer();
  const client = tftp2('127.0.0.1', rig.port);
  const blocks: Uint8Array[] = [];
  await client.read(
    'snponly.efi',
    async (block: Uint8Array) => void blocks.push(Uint8Array.from(block)),
    () => {},
  );
  client.close();
  expect(Buffer.concat(blocks).equals(LOADER)).toBe(true);
  const [note] = await rig.noted('tftp.completed');
  expect(note?.data).toMatchObject({ blockSize: 512, windowSize: 1 });
});
