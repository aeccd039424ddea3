import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bootRoute } from '../../../appliance/servers/http-boot/boot-route.ts';
import { MAC } from '../../boot/boot-fixtures.ts';

describe('a path below /boot/', () => {
  it.each([
    ['/boot/ipxe/boot.ipxe', { kind: 'entry-script' }],
    ['/boot/ipxe/menu.ipxe', { kind: 'menu-script' }],
    ['/boot/ipxe/52-54-00-12-34-56.ipxe', { kind: 'machine-script', mac: MAC }],
    ['/boot/ipxe/525400123456.ipxe', { kind: 'machine-script', mac: MAC }],
    ['/boot/report', { kind: 'report' }],
    ['/boot/loader/ipxe.efi', { kind: 'asset', name: 'ipxe.efi' }],
    ['/boot/loader/arm64-efi/snponly.efi', { kind: 'asset', name: 'arm64-efi/snponly.efi' }],
    ['/boot/nixos/worker/bzImage', { kind: 'asset', name: 'nixos/worker/bzImage' }],
    ['/boot/debian-12.raw.zst', { kind: 'asset', name: 'images/debian-12.raw.zst' }],
    [`/boot/session/${'a'.repeat(43)}`, { kind: 'session', session: { what: 'open', ticket: 'a'.repeat(43) } }],
    ['/boot/session/order', { kind: 'session', session: { what: 'order' } }],
    ['/boot/session/files/user-data', { kind: 'session', session: { what: 'file', name: 'user-data' } }],
    ['/boot/debian-13/disk.img', { kind: 'asset', name: 'images/debian-13/disk.img' }],
  ])('%s is valid', (path, route) => {
    expect(bootRoute(path)).toEqual(route);
  });

  it.each([
    '/boot/',
    '/boot/nixos',
    '/boot/loader',
    '/boot/session/',
    '/boot/session/too-short',
    '/boot/session/files/../order',
    '/boot/session/files/',
    '/boot/session/order/more',
    '/boot/../etc/passwd',
    '/boot/loader/../../etc/passwd',
    '/boot/loader/..',
    '/boot/loader/%2e%2e/x',
    '/boot/loader/%2e%2e%2fx',
    '/boot/loader/a%00.efi',
    '/boot/loader/a\0.efi',
    '/boot/loader/a\\b.efi',
    '/boot/loader//ipxe.efi',
    '/boot/loader/./ipxe.efi',
    '/boot/loader/.hidden',
    '/boot/loader/nixos/worker/bzImage',
    '/boot/loader/images/x/y',
    '/boot/nixos/worker/',
    '/boot/ipxe/other.ipxe',
    '/boot/ipxe/52-54-00-12-34-56',
    '/boot/ipxe/ff-ff-ff-ff-ff-ff.ipxe',
    '/boot/ipxe/a/52-54-00-12-34-56.ipxe',
  ])('%j is unknown', (path) => {
    expect(bootRoute(path).kind).toBe('unknown');
  });

  it('never becomes a name with path traversal, whatever is sent', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '/', '\\', '%2e', '%2f', '\0', 'loader', 'nixos', 'a'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const route = bootRoute(`/boot/${pieces.join('/')}`);
        if (route.kind !== 'asset') return;
        expect(route.name).toMatch(/^[A-Za-z0-9._+/-]+$/);
        expect(route.name.split('/').every((segment) => /^[A-Za-z0-9]/.test(segment))).toBe(true);
      }),
    );
  });
});
