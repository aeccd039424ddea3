import { describe, expect, it } from 'vitest';
import { BootResolver, type ResolvedBoot } from '../../appliance/boot/boot-resolver.ts';
import { factsFromTftp } from '../../appliance/boot/client-facts.ts';
import { decideImageAccess, isInForce, issuedConfig } from '../../appliance/boot/image-access.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../appliance/domain/network.ts';
import { fleetOf, LOOPBACK } from '../servers/tftp/tftp-rig.ts';
import { intentWith, MAC, machineIn, NOW, name, OTHER_MAC, UUID } from './boot-fixtures.ts';

const INSTALLER = { kind: 'installer', profile: name('worker'), intent: intentWith().id } as const;
const IMAGE = 'nixos/worker/bzImage';

const resolved = (machine: Machine | null, network: Partial<SiteNetwork> = {}): ResolvedBoot =>
  new BootResolver(fleetOf(machine, network), () => NOW).resolve(
    factsFromTftp({ address: LOOPBACK, file: `boot/${IMAGE}`, mac: MAC }),
  );

describe('a configuration that was issued to an address', () => {
  const config = issuedConfig(INSTALLER, { mac: MAC, uuid: UUID }, MAC, NOW);
  if (config === null) throw new Error('an installer loads images');

  it('is valid for half an hour', () => {
    expect(isInForce(config, MAC, NOW + 30 * MINUTE - 1)).toBe(true);
    expect(isInForce(config, MAC, NOW + 30 * MINUTE)).toBe(false);
  });

  it('is not valid for the next holder of the address', () => {
    expect(isInForce(config, OTHER_MAC, NOW)).toBe(false);
  });

  it('is valid while the holder of the address is unknown', () => {
    expect(isInForce(config, null, NOW)).toBe(true);
    expect(isInForce({ ...config, holder: null }, OTHER_MAC, NOW)).toBe(true);
  });

  it('is not recorded when its outcome loads nothing', () => {
    expect(issuedConfig({ kind: 'local-disk' }, { mac: MAC, uuid: UUID }, MAC, NOW)).toBeNull();
  });
});

describe('an image over TFTP', () => {
  const consumed = resolved(machineIn('deploying', { intent: intentWith({ consumedAt: NOW }) }));
  const issued = { outcome: INSTALLER, since: consumed };

  it('is allowed for the machine whose configuration names it, although its intent is consumed', () => {
    const request = { asset: IMAGE, holder: MAC, current: consumed };
    expect(decideImageAccess({ ...request, issued })).toEqual({ allowed: true });
    expect(decideImageAccess({ ...request, issued: null })).toMatchObject({ because: { id: 'intent-consumed' } });
  });

  it('of another profile is not allowed', () => {
    const request = { asset: 'nixos/other/bzImage', holder: MAC, current: consumed, issued };
    expect(decideImageAccess(request)).toMatchObject({ allowed: false });
  });

  it('is not allowed for a machine that is refused since, with the reason', () => {
    const request = { asset: IMAGE, holder: MAC, current: consumed };
    const since = resolved(machineIn('quarantined'));
    expect(decideImageAccess({ ...request, issued: { ...issued, since } })).toMatchObject({
      because: { id: 'quarantined' },
    });
  });

  it.each([
    [true, { allowed: true }],
    [false, { allowed: false, because: { id: 'commissioning' } }],
  ])('of the service OS needs GRUB where no configuration was issued: Secure Boot %s', (secureBoot, access) => {
    const current = resolved(machineIn('commissioning', { spec: { secureBoot } }));
    const asset = 'images/service-os-x86_64/kernel';
    expect(decideImageAccess({ asset, holder: MAC, current, issued: null })).toMatchObject(access);
  });
});
