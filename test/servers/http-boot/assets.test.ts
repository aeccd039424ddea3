import { truncateSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BootServerRig, patternBytes } from './boot-server-rig.ts';

let rig: BootServerRig;
let kernel: Buffer;
let disk: Buffer;

beforeAll(async () => {
  // The second file does not fit into memory with the first, nor alone.
  rig = await BootServerRig.start({ memoryBudget: 2_000_000 });
  kernel = rig.shelve('nixos/worker/bzImage', patternBytes(1_234_567));
  disk = rig.shelve('images/debian/disk.img', patternBytes(3_000_001));
  rig.shelve('ipxe.efi', 'MZ loader', { contentType: 'application/efi' });
  rig.shelve('images/empty/none', '');
});
afterAll(() => rig.stop());

const fetched = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(rig.url(path), { headers });
  return { response, body: Buffer.from(await response.arrayBuffer()) };
};

describe('a boot file over HTTP', () => {
  it('arrives complete, from memory and from the disk, at the first request and at every later one', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await fetched('/boot/nixos/worker/bzImage')).body.equals(kernel)).toBe(true);
      expect((await fetched('/boot/debian/disk.img')).body.equals(disk)).toBe(true);
    }
    expect(rig.server.usage.heldBytes).toBe(kernel.length);
  });

  it('has header names in the case that GRUB looks for, and nothing that GRUB cannot parse', async () => {
    const answer = await rig.raw('GET', '/boot/loader/ipxe.efi');
    const head = answer.slice(0, answer.indexOf('\r\n\r\n'));
    expect(head.startsWith('HTTP/1.1 200 OK\r\n')).toBe(true);
    expect(head).toContain('\r\nContent-Length: 9\r\n');
    expect(head).toContain('\r\nContent-Type: application/efi\r\n');
    expect(head).toMatch(/\r\nETag: "[0-9a-f]{64}"\r\n/);
    expect(head).toContain('Accept-Ranges: bytes');
    expect(head).not.toMatch(/Transfer-Encoding|Content-Encoding/i);
    expect(answer.endsWith('\r\n\r\nMZ loader')).toBe(true);
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const [head, get] = [await rig.raw('HEAD', '/boot/loader/ipxe.efi'), await rig.raw('GET', '/boot/loader/ipxe.efi')];
    const lines = (answer: string) => answer.slice(0, answer.indexOf('\r\n\r\n')).replace(/Date: .*\r\n/, '');
    expect(lines(head)).toBe(lines(get));
    expect(head.endsWith('\r\n\r\n')).toBe(true);
  });

  it('is never compressed, whatever the client accepts', async () => {
    const { response, body } = await fetched('/boot/nixos/worker/bzImage', { 'accept-encoding': 'gzip, br' });
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(body.length).toBe(kernel.length);
  });

  it('returns exactly the requested range', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.nat(3_100_000), fc.nat(400_000), async (small, start, length) => {
        const [path, bytes] = small ? ['/boot/nixos/worker/bzImage', kernel] : ['/boot/debian/disk.img', disk];
        const { response, body } = await fetched(path as string, { range: `bytes=${start}-${start + length}` });
        if (start >= bytes.length) {
          expect(response.status).toBe(416);
          expect(response.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
          return;
        }
        const slice = (bytes as Buffer).subarray(start, start + length + 1);
        expect(response.status).toBe(206);
        const last = start + slice.length - 1;
        expect(response.headers.get('content-range')).toBe(`bytes ${start}-${last}/${bytes.length}`);
        expect(body.equals(slice)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('answers 304 to a client that has it, and makes one that resumes another version start over', async () => {
    const etag = `"${rig.assets.get('nixos/worker/bzImage')?.sha256}"`;
    expect((await fetched('/boot/nixos/worker/bzImage', { 'if-none-match': etag })).response.status).toBe(304);
    expect((await fetched('/boot/nixos/worker/bzImage', { 'if-match': '"other"' })).response.status).toBe(412);
    const resumed = await fetched('/boot/nixos/worker/bzImage', { 'if-range': '"other"', range: 'bytes=5-' });
    expect(resumed.response.status).toBe(200);
    expect(resumed.body.equals(kernel)).toBe(true);
  });

  it('may be empty', async () => {
    const { response, body } = await fetched('/boot/empty/none');
    expect([response.status, body.length]).toEqual([200, 0]);
  });

  it('is recorded in the trail: name, size, and completeness', async () => {
    rig.notes.length = 0;
    await fetched('/boot/nixos/worker/bzImage', { range: 'bytes=10-19' });
    const [note] = await rig.noted('http.served');
    expect(note?.data).toEqual({
      asset: 'nixos/worker/bzImage',
      from: 10,
      bytes: 10,
      of: 10,
      complete: true,
      ms: expect.any(Number),
    });
  });

  it('is recorded in the trail too when only its headers are requested, as EDK2 does first', async () => {
    for (const path of ['/boot/loader/ipxe.efi', '/boot/ipxe/boot.ipxe', '/boot/ipxe/menu.ipxe']) {
      rig.notes.length = 0;
      await rig.raw('HEAD', path, ['User-Agent: UefiHttpBoot/1.0']);
      expect(await rig.noted('http.probe')).toMatchObject([{ data: { path } }]);
      expect(rig.notes).toHaveLength(1);
    }
  });

  it('that is not in the library is not found, whatever is on the disk', async () => {
    rig.notes.length = 0;
    for (const path of ['/boot/loader/other.efi', '/boot/loader/..%2fipxe.efi', '/boot/loader/../loader/ipxe.efi']) {
      const answer = await rig.raw('GET', path);
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ code: 'not_found' });
    }
    expect(await rig.noted('http.refused', 3)).toHaveLength(3);
  });

  it('that is missing is reported to iPXE in one line of text', async () => {
    const answer = await rig.raw('GET', '/boot/loader/other.efi', ['User-Agent: iPXE/1.21.1']);
    expect(answer).toContain('Content-Type: text/plain');
    expect(answer).toMatch(/\r\n\r\nnot_found: no boot file other\.efi \(id-\d+\)\n$/);
  });

  it('that changed on disk is not sent with the old checksum', async () => {
    rig.shelve('images/moving/target', patternBytes(1000));
    truncateSync(rig.assets.get('images/moving/target')?.file ?? '', 500);
    const { response, body } = await fetched('/boot/moving/target');
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, null]);
    expect(JSON.parse(body.toString()).message).toContain('has changed on disk');
  });

  it('is read-only', async () => {
    const response = await fetch(rig.url('/boot/loader/ipxe.efi'), { method: 'PUT', body: 'x' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('is served only below /boot/; other paths go to the other handler', async () => {
    expect((await fetched('/health')).body.toString()).toBe('elsewhere');
  });
});
