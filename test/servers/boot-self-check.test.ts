import { createHash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Asset } from '../../appliance/assets/asset.ts';
import { decodeTftp } from '../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../appliance/codecs/tftp/encode.ts';
import { checkServed, type ServedFrom } from '../../appliance/servers/boot-self-check.ts';

const LOADER = Buffer.from('a loader'.repeat(500));
const INITRD = Buffer.concat([Buffer.from('070701'), Buffer.alloc(10_000)]);

const asset = (name: string, bytes: Buffer, kind: Asset['kind']): Asset => ({
  name,
  file: '/nowhere',
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  kind,
  architecture: null,
  contentType: 'application/octet-stream',
});
const ASSETS = [asset('undionly.kpxe', LOADER, 'bios'), asset('images/x/initrd', INITRD, 'initrd')];

/** What the two servers really hand out; a test spoils one thing. */
const served = { script: '#!ipxe\n', loader: LOADER, initrd: INITRD, etag: '', tftp: LOADER, status: 200 };

describe('the check of what is served', () => {
  let http: Server;
  let tftp: Socket;
  let from: ServedFrom;

  beforeEach(async () => {
    Object.assign(served, {
      script: '#!ipxe\n',
      loader: LOADER,
      initrd: INITRD,
      etag: `"${ASSETS[1]?.sha256}"`,
      tftp: LOADER,
      status: 200,
    });
    http = createServer((request, response) => {
      if (request.url === '/boot/ipxe/boot.ipxe') return response.end(served.script);
      if (request.url === '/boot/loader/undionly.kpxe') return response.writeHead(served.status).end(served.loader);
      const slice = served.initrd.subarray(0, 4096);
      return response
        .writeHead(206, { 'Content-Range': `bytes 0-4095/${served.initrd.length}`, ETag: served.etag })
        .end(slice);
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    tftp = createSocket('udp4');
    tftp.bind(0, '127.0.0.1');
    await once(tftp, 'listening');
    tftp.on('message', (bytes, peer) => {
      const packet = decodeTftp(bytes);
      if (packet.op === 'read' && packet.fileName !== 'undionly.kpxe') {
        return tftp.send(encodeTftp({ op: 'error', code: 1, message: 'file not found' }), peer.port, peer.address);
      }
      const block = packet.op === 'ack' ? packet.block + 1 : 1;
      const payload = served.tftp.subarray((block - 1) * 512, block * 512);
      if (packet.op === 'ack' && (block - 1) * 512 > served.tftp.length) return;
      tftp.send(encodeTftp({ op: 'data', block, payload }), peer.port, peer.address);
    });
    from = {
      http: { address: '127.0.0.1', port: (http.address() as AddressInfo).port },
      tftp: [{ address: '127.0.0.1', port: tftp.address().port }],
    };
  });
  afterEach(() => {
    http.close();
    http.closeAllConnections();
    tftp.close();
  });

  it('finds nothing when everything comes as it should', async () => {
    expect(await checkServed(ASSETS, from)).toEqual([]);
  });

  it.each([
    ['a script that is none', { script: '<html>' }, '/boot/ipxe/boot.ipxe: is not an iPXE script'],
    ['a loader with other bytes', { loader: Buffer.from('other') }, 'undionly.kpxe over HTTP: 5 bytes came'],
    ['a loader that is refused', { status: 503 }, 'undionly.kpxe over HTTP: the server answers 503'],
    ['other bytes over TFTP', { tftp: Buffer.from('other') }, 'undionly.kpxe over TFTP from 127.0.0.1: 5 bytes came'],
    [
      'an image of another size',
      { initrd: INITRD.subarray(0, 5000) },
      'images/x/initrd over HTTP: is served with 5000 bytes',
    ],
    ['an image under another checksum', { etag: '"x"' }, 'images/x/initrd over HTTP: is served with another checksum'],
    [
      'an image of another type',
      { initrd: Buffer.alloc(INITRD.length) },
      'images/x/initrd over HTTP: is served as unknown',
    ],
  ])('finds %s', async (_what, spoiled, words) => {
    Object.assign(served, spoiled);
    const found = await checkServed(ASSETS, from);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(words);
  });

  it('finds a file that the TFTP server does not have', async () => {
    const other = asset('ipxe.efi', LOADER, 'efi');
    expect(await checkServed([other], { http: null, tftp: from.tftp })).toEqual([
      'ipxe.efi over TFTP from 127.0.0.1: error 1: file not found',
    ]);
  });
});
