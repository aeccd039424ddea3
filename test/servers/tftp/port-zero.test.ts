// Source port 0 (RFC 768: no answer is wanted) cannot be had from an ordinary socket: whoever sends it means it.

import koffi from 'koffi';
import { expect, it, onTestFinished } from 'vitest';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { load, read, sloppyClient } from './sloppy-client.ts';
import { LOADER, startServer } from './tftp-rig.ts';

const AF_INET = 2;
const SOCK_RAW = 3;
const IPPROTO_UDP = 17;
const UDP_HEADER_BYTES = 8;

/** Sends datagrams from port 0 to one of loopback. */
function fromPortZero(port: number): (payload: Uint8Array) => void {
  const c = koffi.load(null);
  const socket: (domain: number, type: number, protocol: number) => number = c.func('int socket(int, int, int)');
  const close: (fd: number) => number = c.func('int close(int)');
  const sendto: (...args: readonly (number | Buffer)[]) => number = c.func(
    'int64_t sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)',
  );
  const fd = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
  if (fd < 0) throw new Error('a raw socket needs root');
  onTestFinished(() => void close(fd));
  const to = Buffer.from([AF_INET, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  return (payload) => {
    // Ports, length, and no checksum.
    const packet = Buffer.alloc(UDP_HEADER_BYTES + payload.length);
    packet.writeUInt16BE(port, 2);
    packet.writeUInt16BE(packet.length, 4);
    packet.set(payload, UDP_HEADER_BYTES);
    expect(sendto(fd, packet, packet.length, 0, to, to.length)).toBe(packet.length);
  };
}

it('packets from port zero are not answered, and everybody else is served as before', async () => {
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
  expect(rig.notes.map(({ kind }) => kind)).toEqual(['tftp.probe', 'tftp.completed']);
});
