import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildReporters } from '../../../appliance/lab/rack/reporter.ts';
import { needPackages } from '../../interop/packages.ts';

describe('the reporter', () => {
  beforeAll(() => needPackages(['cpio']));

  it('is a signed kernel and an initrd with the network driver', async () => {
    const { kernel, initrd } = (await buildReporters(['amd64'])).get('amd64') ?? {};
    // PE/COFF: the fifth data directory of the optional header is the certificate table.
    const image = readFileSync(kernel ?? '');
    const optionalHeader = image.readUInt32LE(0x3c) + 24;
    expect(image.readUInt32LE(optionalHeader + 112 + 4 * 8 + 4)).toBeGreaterThan(0);
    const { stdout } = spawnSync('cpio', ['-t', '--quiet'], {
      input: gunzipSync(readFileSync(initrd ?? '')),
      encoding: 'utf8',
    });
    expect(stdout.split('\n')).toEqual(expect.arrayContaining(['init', 'bin/busybox', 'modules/virtio_net.ko']));
  });

  it('is not built again when it is in the cache', async () => {
    const said: string[] = [];
    const first = (await buildReporters(['amd64'])).get('amd64')?.kernel ?? '';
    const before = statSync(first).mtimeMs;
    const again = await buildReporters(['amd64'], { say: (line) => said.push(line) });
    expect(said).toEqual([]);
    expect(again.get('amd64')?.kernel).toBe(first);
    expect(statSync(first).mtimeMs).toBe(before);
  });

  it('rejects a cache that belongs to another user', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-reporter-test-'));
    try {
      const cache = join(folder, 'cache');
      mkdirSync(cache);
      chownSync(cache, 65534, 65534);
      await expect(buildReporters(['amd64'], { cache })).rejects.toThrow('belongs to another user (uid 65534)');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
