import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { eraseIntentWith, intentWith, MAC, machineIn, OTHER_MAC, UUID } from '../../boot/boot-fixtures.ts';
import { applianceWith } from './grub-appliance.ts';

const NEIGHBOUR = mustParse(parseIpv4('127.0.0.2'));
const OWN = `grub/machine/${MAC}_${UUID}.cfg`;
const INSTALLER = 'boot/nixos/worker/bzImage';
const SERVICE_OS = 'boot/service-os-x86_64/kernel';

/** Bound to the chassis, as every intent of a machine with a known UUID. */
const INSTALLED = machineIn('deploying', { intent: intentWith() });
const ERASED = machineIn('releasing', { intent: eraseIntentWith() });

describe.each([
  ['whose address identifies its card', { holder: MAC }],
  ['whose address identifies nothing', { holder: null }],
  ['whose address identifies nothing, where unknown machines are held', { holder: null, network: { unknown: 'hold' } }],
] as const)('a machine with GRUB and a known chassis %s', (_whose, place) => {
  it.each([
    ['be installed', INSTALLED, INSTALLER, 'nixos/worker/bzImage'],
    ['be erased', ERASED, SERVICE_OS, 'images/service-os-x86_64/kernel'],
  ])('that should %s gets the images that its configuration names', async (_what, machine, image, asset) => {
    const boot = await applianceWith(machine, place);
    expect(await boot.fetch('grub/grub.cfg')).toContain('grub/machine/');
    expect(await boot.fetch(OWN)).toContain(`(tftp,127.0.0.1)/${image}`);
    expect(boot.intentIsUsed()).toBe(true);
    expect(await boot.fetch(image)).toBe(asset);
  });

  it('gets no image of another profile, and none at all half an hour later', async () => {
    const boot = await applianceWith(INSTALLED, place);
    await boot.fetch(OWN);
    expect(await boot.fetch('boot/nixos/other/bzImage')).toBe('ERROR 2');
    boot.pass(30 * 60_000 - 1);
    expect(await boot.fetch(INSTALLER)).toBe('nixos/worker/bzImage');
    boot.pass(1);
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
  });

  it('gets none before it has its configuration, and other addresses get none afterwards', async () => {
    const boot = await applianceWith(INSTALLED, place);
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
    await boot.fetch('grub/grub.cfg');
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
    await boot.fetch(OWN);
    expect(await boot.fetch(INSTALLER, NEIGHBOUR)).toBe('ERROR 2');
  });

  it('gets none after it was quarantined, or was issued another configuration', async () => {
    const boot = await applianceWith(INSTALLED, place);
    await boot.fetch(OWN);
    boot.become(machineIn('quarantined'));
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
    boot.become(machineIn('ready'));
    expect(await boot.fetch(OWN)).toContain('boots from its own disk');
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
  });

  it('keeps its images when the common configuration is requested again', async () => {
    const boot = await applianceWith(INSTALLED, place);
    await boot.fetch(OWN);
    await boot.fetch('grub/grub.cfg');
    expect(await boot.fetch(INSTALLER)).toBe('nixos/worker/bzImage');
  });

  it('gets no images, and keeps its intent, when the start cannot be persisted', async () => {
    const boot = await applianceWith(INSTALLED, { ...place, canWrite: false });
    expect(await boot.fetch(OWN)).toContain('asks again');
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
    expect(boot.intentIsUsed()).toBe(false);
  });

  it('is recorded with the configuration that it was issued and the images that it loaded, with the reason', async () => {
    const boot = await applianceWith(INSTALLED, place);
    const issued = await boot.answer(OWN);
    expect([issued.mac, issued.resolved?.decision.because.id]).toEqual([MAC, 'deploy-armed']);
    const loaded = await boot.answer(INSTALLER);
    expect([loaded.mac, loaded.resolved?.machine?.spec.hostname]).toEqual([MAC, 'node01']);
  });
});

describe('the images of a machine', () => {
  it('are refused to the next holder of its address', async () => {
    const boot = await applianceWith(INSTALLED);
    await boot.fetch(OWN);
    boot.moveTo(OTHER_MAC);
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
  });

  it('are refused to the next holder of its address, where unknown machines boot from their own disk', async () => {
    const boot = await applianceWith(INSTALLED, { network: { unknown: 'local-disk' } });
    await boot.fetch(OWN);
    expect(await boot.fetch(INSTALLER)).toBe('nixos/worker/bzImage');
    boot.moveTo(OTHER_MAC);
    expect(await boot.fetch(INSTALLER)).toBe('ERROR 2');
  });
});

describe('a search for a configuration by MAC', () => {
  it('consumes nothing, however often it is repeated, and leads to the configuration of this machine', async () => {
    const boot = await applianceWith(INSTALLED);
    const byCard = `grub/grub.cfg-01-${MAC.replaceAll(':', '-')}`;
    const entry = await boot.fetch('grub/grub.cfg');
    expect([await boot.fetch(byCard), await boot.fetch(byCard)]).toEqual([entry, entry]);
    expect(boot.intentIsUsed()).toBe(false);
    expect(await boot.fetch(OWN)).toContain(INSTALLER);
  });
});
