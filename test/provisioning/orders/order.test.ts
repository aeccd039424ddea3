import { describe, expect, it } from 'vitest';
import type { Asset } from '../../../appliance/assets/asset.ts';
import type { DiskImage, DiskSelector, Storage } from '../../../appliance/domain/system.ts';
import { commissionOrder, installOrder, installProblems } from '../../../appliance/provisioning/orders/order.ts';
import { servedImage } from '../../../appliance/provisioning/orders/served-image.ts';
import { SERVER } from '../../boot/boot-fixtures.ts';
import { SAMPLE_PLANS } from '../../render/plans.ts';

const PLAN = SAMPLE_PLANS.debian;
const IMAGE = {
  url: 'http://10.0.100.10:8080/boot/debian/disk.raw',
  sha256: 'ab',
  format: 'raw',
  bytes: 5000,
  unpackedBytes: null,
} as const;
const CALL_HOME = 'http://10.0.100.10:8080/health';
const CALLS = { home: CALL_HOME, nodeApi: null };

const storageOf = (changes: Partial<DiskSelector>, layout: Storage['layout'] = 'single'): Storage => ({
  layout,
  disks: [{ byId: null, serial: null, model: null, minBytes: null, maxBytes: null, rotational: null, ...changes }],
  filesystem: 'ext4',
  swapMegabytes: 0,
});

describe('the problems of an installation', () => {
  it('of NixOS: encrypted disks, because their passphrase would be lost', () => {
    expect(installProblems(SAMPLE_PLANS.controlPlane)).toEqual([]);
    const encrypted = { ...SAMPLE_PLANS.controlPlane, storage: storageOf({}, 'luks') };
    expect(installProblems(encrypted).join()).toMatch(/does not store their passphrase/);
  });
});

describe('the order for an installation', () => {
  it('names the image, the disk, and the URL to report to', () => {
    expect(installOrder(PLAN, IMAGE, CALLS)).toMatchObject({
      mode: 'install',
      node: PLAN.hostname,
      profile: PLAN.profile.name,
      image: { url: IMAGE.url, sha256: 'ab', format: 'raw', bytes: 5000 },
      network: { call_home: CALL_HOME, gateway: PLAN.gateway, nameservers: PLAN.nameservers },
      seed: ['meta-data', 'user-data', 'vendor-data', 'network-config'],
      grow: true,
    });
  });

  it('names the node API for a system that enrolls by itself', () => {
    const calls = { ...CALLS, nodeApi: 'https://10.0.100.10:8444' };
    expect(installOrder(PLAN, IMAGE, calls)).toMatchObject({ network: { node_api: calls.nodeApi } });
    expect(JSON.stringify(installOrder(PLAN, IMAGE, CALLS))).not.toContain('node_api');
  });

  it('has every link, with the fields of its kind', () => {
    const order = installOrder(SAMPLE_PLANS.debian, IMAGE, CALLS) as unknown as {
      network: { links: readonly Record<string, unknown>[] };
    };
    expect(order.network.links.map(({ name }) => name)).toEqual(PLAN.links.map(({ name }) => name));
    for (const link of order.network.links) {
      expect(Object.keys(link)).toEqual(expect.arrayContaining(['kind', 'name', 'address', 'mtu', 'routes']));
    }
  });

  it('never selects a disk that is smaller than the image, if the size is known', () => {
    const disk = (image: object, storage: Storage | null) =>
      installOrder({ ...PLAN, storage }, { ...IMAGE, ...image }, CALLS) as unknown as {
        disk: { min_bytes: number };
      };
    expect(disk({}, null).disk.min_bytes).toBe(5000);
    expect(disk({ format: 'zstd' }, null).disk.min_bytes).toBe(1);
    expect(disk({}, storageOf({ minBytes: 9000 })).disk.min_bytes).toBe(9000);
    expect(disk({ bytes: null }, storageOf({ serial: 'D-1' })).disk).toMatchObject({ min_bytes: 1, serial: 'D-1' });
  });

  it('has no secret and no key', () => {
    const text = JSON.stringify([installOrder(PLAN, IMAGE, CALLS), commissionOrder('node01')]);
    expect(text).not.toMatch(/ssh-|token|PRIVATE/);
  });
});

describe('a plan', () => {
  it.each([
    ['an image on one disk', { storage: storageOf({}) }, []],
    ['an image on any disk', { storage: null }, []],
    ['an image on a mirror', { storage: storageOf({}, 'mirror') }, [expect.stringContaining('an image to one disk')]],
    [
      'a kind that cannot be installed',
      { profile: { ...PLAN.profile, kind: 'kickstart' } },
      [expect.stringContaining('of kind kickstart')],
    ],
  ] as const)('with %s', (_, changes, problems) => {
    expect(installProblems({ ...PLAN, ...changes })).toEqual(problems);
  });
});

describe('the image of a profile', () => {
  const asset = { name: 'images/debian/disk.raw', sha256: 'ab', size: 7 } as Asset;
  const find = (name: string) => (name === asset.name ? asset : null);
  const image: DiskImage = { source: 'debian/disk.raw', sha256: 'ab', format: 'raw' };

  it('is fetched from this appliance, with its size', () => {
    const url = 'http://10.0.100.10:8080/boot/debian/disk.raw';
    expect(servedImage(image, SERVER, find)).toEqual({
      ok: true,
      value: { url, sha256: 'ab', format: 'raw', bytes: 7, unpackedBytes: null },
    });
  });

  it('is fetched from the URL in the profile', () => {
    const elsewhere = { ...image, source: 'https://images.example.com/x.raw' };
    expect(servedImage(elsewhere, SERVER, find)).toMatchObject({ value: { url: elsewhere.source, bytes: null } });
  });

  it.each([
    [{ source: 'other.raw' }, 'its image other.raw is not in the library (images/other.raw)'],
    [{ sha256: 'cd' }, 'its image debian/disk.raw has sha256 ab, but the profile says cd'],
  ])('is refused when it does not match (%#)', (changes, reason) => {
    expect(servedImage({ ...image, ...changes }, SERVER, find)).toEqual({ ok: false, reason });
  });
});
