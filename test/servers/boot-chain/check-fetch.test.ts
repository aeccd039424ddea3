import { createHash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Asset } from '../../../appliance/assets/asset.ts';
import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { checkFetch } from '../../../appliance/servers/boot-chain/check-fetch.ts';
import type { BootEndpoint, Expectation } from '../../../appliance/servers/boot-chain/expected-fetches.ts';
import { Unreachable } from '../../../appliance/servers/boot-chain/unreachable.ts';
import { bzImage, kernelImage, PE_MACHINE, put, temporaryFolder } from '../../assets/tiny-files.ts';

const KERNEL = Buffer.concat([bzImage(1), Buffer.alloc(20_000, 'kernel ')]);
const OTHER_KERNEL = Buffer.concat([kernelImage(PE_MACHINE.arm64, 'ARM\x64'), Buffer.alloc(30_000)]);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const TEXT = '#!ipxe\nchain http://10.0.100.10:8080/boot/ipxe/x.ipxe\n';

const assetOf = (bytes: Buffer): Asset => ({
  name: 'images/service-os-x86_64/kernel',
  file: put(temporaryFolder(), 'kernel', bytes),
  size: bytes.length,
  sha256: sha256(bytes),
  kind: 'kernel',
  architecture: 'x86_64',
  contentType: 'application/octet-stream',
});

/** What both servers send for every request; a test changes one thing. */
const served = { bytes: KERNEL, etag: '', status: 200, size: 0, options: true };

describe.each(['http', 'tftp'] as const)('what is fetched over %s', (via) => {
  let http: Server;
  let tftp: Socket;
  const requests: string[] = [];

  beforeEach(async () => {
    Object.assign(served, { bytes: KERNEL, etag: sha256(KERNEL), status: 200, size: KERNEL.length, options: true });
    requests.length = 0;
    http = createServer((request, response) => {
      requests.push(`${request.url} ${request.headers['x-own']} ${request.headers.range}`);
      const headers = { ETag: `"${served.etag}"` };
      if (served.status !== 200) return response.writeHead(served.status).end();
      if (request.headers.range === undefined) return response.writeHead(200, headers).end(served.bytes);
      const range = { 'Content-Range': `bytes 0-4095/${served.size}` };
      return response.writeHead(206, { ...headers, ...range }).end(served.bytes.subarray(0, 4096));
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    tftp = createSocket('udp4');
    tftp.bind(0, '127.0.0.1');
    await once(tftp, 'listening');
    let size = 512;
    tftp.on('message', (bytes, peer) => {
      const packet = decodeTftp(bytes);
      const send = (word: Parameters<typeof encodeTftp>[0]): void =>
        tftp.send(encodeTftp(word), peer.port, peer.address);
      if (packet.op === 'error') return void requests.push(`ERROR ${packet.code} ${packet.message}`);
      if (packet.op === 'read') {
        requests.push(packet.fileName);
        if (served.status !== 200) return send({ op: 'error', code: 1, message: 'file not found' });
        size = served.options ? Number(packet.options.get('blksize') ?? 512) : 512;
        const granted = new Map([
          ['tsize', String(served.size)],
          ['blksize', String(size)],
        ]);
        if (served.options) return send({ op: 'optionAck', options: granted });
      }
      const block = packet.op === 'ack' ? packet.block + 1 : 1;
      if ((block - 1) * size > served.bytes.length) return;
      send({ op: 'data', block, payload: served.bytes.subarray((block - 1) * size, block * size) });
    });
  });
  afterEach(() => {
    http.close();
    http.closeAllConnections();
    tftp.close();
  });

  const endpoint = (): BootEndpoint => ({
    address: '127.0.0.1',
    port: via === 'http' ? (http.address() as AddressInfo).port : tftp.address().port,
    server: null,
  });
  const fetched = (expect: Expectation, at = endpoint()): Promise<string | null> =>
    checkFetch({ via, at, path: '/asked', expect }, { headers: { 'x-own': 'key' }, timeoutMs: 2000 });

  it('as a whole must be the file in the library', async () => {
    expect(await fetched({ kind: 'whole', asset: assetOf(KERNEL) })).toBeNull();
    expect(requests).toEqual([via === 'http' ? '/asked key undefined' : '/asked']);
    served.bytes = Buffer.from('other');
    expect(await fetched({ kind: 'whole', asset: assetOf(KERNEL) })).toMatch(/^got 5 bytes that differ from/);
  });

  it('as a text must begin as expected, and contain the address of this appliance', async () => {
    served.bytes = Buffer.from(TEXT);
    const text = { kind: 'text', begins: '#!ipxe\n', names: 'http://10.0.100.10:8080/boot/' } as const;
    expect(await fetched(text)).toBeNull();
    expect(await fetched({ ...text, names: 'http://10.0.0.1:8080/boot/' })).toBe(
      'does not contain http://10.0.0.1:8080/boot/',
    );
    served.bytes = Buffer.from('<html>');
    expect(await fetched(text)).toBe('does not begin with #!ipxe');
  });

  it('as a beginning must have the size, the first bytes, the type and the architecture', async () => {
    expect(await fetched({ kind: 'beginning', asset: assetOf(KERNEL) })).toBeNull();
    // The expectation differs from the file: the library recorded something else.
    const asset = { ...assetOf(KERNEL), architecture: 'arm64' } as const;
    expect(await fetched({ kind: 'beginning', asset })).toBe(
      'is served as a Linux kernel for x86_64 instead of a Linux kernel for arm64',
    );
    expect(await fetched({ kind: 'beginning', asset: { ...asset, kind: 'initrd', architecture: null } })).toContain(
      'instead of an initrd',
    );
  });

  it.each([
    ['of another size', { size: 5 }, 'is served with 5 bytes instead of'],
    [
      'of another architecture',
      { bytes: OTHER_KERNEL },
      'does not begin with the same bytes as the file in the library',
    ],
  ])('as a beginning %s is reported', async (_what, spoiled, words) => {
    Object.assign(served, spoiled);
    expect(await fetched({ kind: 'beginning', asset: assetOf(KERNEL) })).toContain(words);
  });

  it('and refused is reported with the error of the server', async () => {
    served.status = 404;
    const words = via === 'http' ? 'the server answers 404' : 'error 1: file not found';
    for (const kind of ['whole', 'beginning'] as const) {
      await expect(fetched({ kind, asset: assetOf(KERNEL) })).rejects.toThrow(words);
    }
  });

  it('from an unreachable server is reported as such', async () => {
    const at = { ...endpoint(), port: 9 };
    const attempt = checkFetch(
      { via, at, path: '/asked', expect: { kind: 'beginning', asset: assetOf(KERNEL) } },
      { headers: {}, timeoutMs: 300 },
    );
    await expect(attempt).rejects.toThrow(Unreachable);
  });
});

describe('a beginning over TFTP', () => {
  it('is closed with an ERROR after the needed bytes, with or without options', async () => {
    for (const options of [true, false]) {
      const server = createSocket('udp4');
      server.bind(0, '127.0.0.1');
      await once(server, 'listening');
      const received: string[] = [];
      let size = 512;
      const closed = new Promise<void>((resolve) => {
        server.on('message', (bytes, peer) => {
          const packet = decodeTftp(bytes);
          received.push(packet.op);
          const send = (word: Parameters<typeof encodeTftp>[0]): void =>
            server.send(encodeTftp(word), peer.port, peer.address);
          if (packet.op === 'error') return resolve();
          if (packet.op === 'read' && options) {
            size = 1428;
            const granted = new Map([
              ['tsize', '250000000'],
              ['blksize', '1428'],
            ]);
            return send({ op: 'optionAck', options: granted });
          }
          const block = packet.op === 'ack' ? packet.block + 1 : 1;
          send({ op: 'data', block, payload: new Uint8Array(size) });
        });
      });
      const asset = { ...assetOf(Buffer.alloc(4096)), size: 250_000_000, kind: 'disk' } as const;
      const at = { address: '127.0.0.1', port: server.address().port, server: null };
      const found = await checkFetch(
        { via: 'tftp', at, path: 'boot/x', expect: { kind: 'beginning', asset } },
        { headers: {}, timeoutMs: 2000 },
      );
      await closed;
      expect(found).toBe(options ? null : 'is served with an unknown number of bytes instead of 250000000');
      expect(received.length).toBeLessThan(12);
      server.close();
    }
  });
});
