import { expect, it } from 'vitest';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { fromPortZero } from '../../net/udp/from-port-zero.ts';
import { load, read, sloppyClient } from './sloppy-client.ts';
import { LOADER, startServer } from './tftp-rig.ts';

it('ignores packets from port zero and serves other clients as before', async () => {
  const rig = await startServer();
  const client = await sloppyClient();
  client.send(read('snponly.efi', { tsize: '0' }), rig.port);
  const { from: transferPort } = await client.next();
  for (const port of [rig.port, transferPort]) {
    const send = fromPortZero(port);
    for (let time = 0; time < 50; time += 1) {
      send(encodeTftp({ op: 'ack', block: 1 }));
      send(Uint8Array.of(0, 1, 0x66));
      send(encodeTftp(read('snponly.efi', { tsize: '0' })));
    }
  }
  client.send({ op: 'error', code: 0, message: 'closed' }, transferPort);
  await rig.noted('tftp.probe');
  const another = await sloppyClient();
  expect((await load(another, rig.port, 'snponly.efi', { blksize: '1468' })).equals(LOADER)).toBe(true);
  await rig.noted('tftp.completed');
  expect(rig.notes.map(({ kind }) => kind)).toEqual([
    ...['tftp.begun', 'tftp.probe'],
    ...['tftp.begun', 'tftp.completed'],
  ]);
});
