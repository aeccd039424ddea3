// Each source of problems, with the command that it names.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Asset } from '../../appliance/assets/asset.ts';
import { degrades } from '../../appliance/domain/appliance-problem.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { bootFileProblems } from '../../appliance/self-check/boot-file-problems.ts';
import { certificateProblems } from '../../appliance/self-check/certificate-problems.ts';
import { ClockCheck } from '../../appliance/self-check/clock-check.ts';
import { diskProblems, freeSpaceOf } from '../../appliance/self-check/disk-space.ts';
import { shellWord } from '../../appliance/self-check/next-steps.ts';
import { otherDhcpProblems } from '../../appliance/self-check/other-dhcp-problems.ts';
import { StoreWrites } from '../../appliance/self-check/store-problem.ts';
import { observedStore } from '../../appliance/store/observed-store.ts';
import type { Store } from '../../appliance/store/store.ts';
import { temporaryFolder } from '../assets/tiny-files.ts';
import { name, networkWith, profileWith } from '../boot/boot-fixtures.ts';
import { ip, mac } from '../boot/leases/lease-fixtures.ts';

const MEBIBYTE = 1024 * 1024;

describe('boot files', () => {
  const asset = (name: string, more: Partial<Asset> = {}): Asset => ({
    ...{ name, file: `/f/${name}`, size: 1, sha256: 'a', contentType: '' },
    ...{ kind: name.endsWith('kernel') ? 'kernel' : 'initrd', architecture: null },
    ...more,
  });
  const facts = {
    assets: [],
    unusable: [],
    profiles: [],
    networks: [],
    cpus: new Set<string>(),
    profilesInUse: new Set<string>(),
    state: '/var/lib/cold iron',
  };
  const words = 'has changed since it was taken from Debian 12';

  it('that are damaged name the command that restores them', () => {
    const damage = { words, restore: 'build' } as const;
    const found = bootFileProblems({
      ...facts,
      assets: [
        asset('images/service-os-x86_64/initrd', { damage }),
        asset('images/debian-12/disk.raw.zst', { kind: 'disk', damage }),
        asset('images/mine/disk.raw', { kind: 'disk', damage: { words, restore: 'fetch' } }),
      ],
      unusable: [{ name: 'snponly.efi', reason: 'must be an EFI program for x86_64, is of no type that boots' }],
    });
    const state = "--state '/var/lib/cold iron'";
    expect(found.map(({ id, subject, nextStep }) => [id, subject, nextStep])).toEqual([
      [
        'boot-file-damaged',
        'images/service-os-x86_64/initrd',
        `coldiron assets build images/service-os-x86_64 ${state}`,
      ],
      ['boot-file-damaged', 'images/debian-12/disk.raw.zst', `coldiron assets build images/debian-12 ${state}`],
      ['boot-file-damaged', 'images/mine/disk.raw', `coldiron assets fetch images/mine/disk.raw ${state}`],
      ['boot-file-damaged', 'snponly.efi', `coldiron assets build snponly.efi ${state}`],
    ]);
    expect(found[0]).toMatchObject({
      words: `the boot file images/service-os-x86_64/initrd is damaged: it ${words}`,
      what: 'service OS',
      architectures: ['x86_64'],
    });
    expect(found[3]).toMatchObject({ what: 'loader' });
  });

  it('that are missing are a problem only where a machine needs them', () => {
    expect(bootFileProblems(facts)).toEqual([]);
    const found = bootFileProblems({ ...facts, cpus: new Set(['x86_64']) });
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ id }) => id === 'boot-file-missing' && !degrades({ id }))).toBe(true);
    expect(found.map(({ subject }) => subject)).toContain('images/service-os-x86_64/kernel');
    expect(found.map(({ subject }) => subject)).not.toContain('images/service-os-arm64/kernel');
    expect(found.map(({ subject }) => subject)).not.toContain('snponly.efi');
  });

  it('of an installer are missing only for a profile that a machine has', () => {
    const profiles = [profileWith({ kind: 'nixos', name: name('nix'), architectures: ['x86_64'] })];
    const missing = (inUse: string[]): string[] =>
      bootFileProblems({ ...facts, cpus: new Set(['x86_64']), profiles, profilesInUse: new Set(inUse) })
        .map(({ subject }) => subject)
        .filter((subject) => subject.startsWith('nixos/'));
    expect(missing([])).toEqual([]);
    expect(missing(['nix'])).toEqual(['nixos/nix/bzImage', 'nixos/nix/initrd']);
  });

  it('that are loaders are missing where a network would offer them', () => {
    const network = networkWith({ efiLoader: 'snponly', secureBoot: false });
    const missing = (facts_: Partial<Parameters<typeof bootFileProblems>[0]>): string[] =>
      bootFileProblems({ ...facts, cpus: new Set(['x86_64']), networks: [network], ...facts_ })
        .map(({ subject }) => subject)
        .filter((subject) => !subject.startsWith('images/'));
    expect(missing({})).toEqual(['undionly.kpxe', 'snponly.efi']);
    expect(missing({ networks: [{ ...network, dhcp: 'off' }] })).toEqual([]);
    expect(missing({ assets: [asset('undionly.kpxe', { kind: 'bios', architecture: 'x86_64' })] })).toEqual([
      'snponly.efi',
    ]);
  });
});

describe('the disk', () => {
  const free = (bytes: number, hasInodes = true) => diskProblems([{ folder: '/state', bytes, hasInodes }]);
  it('is low, then full', () => {
    expect(free(300 * MEBIBYTE)).toEqual([]);
    expect(free(100 * MEBIBYTE)).toMatchObject([
      { id: 'disk-low', subject: '/state', words: 'the disk of /state is nearly full: 105 MB free' },
    ]);
    expect(free(MEBIBYTE)).toMatchObject([{ id: 'disk-full', nextStep: 'df -h /state', freeBytes: MEBIBYTE }]);
    expect(free(300 * MEBIBYTE, false)).toMatchObject([{ id: 'disk-full', nextStep: 'df -i /state' }]);
  });

  it('is measured where the folder is', async () => {
    const folder = join(temporaryFolder(), 'state');
    expect(await freeSpaceOf(folder)).toBeNull();
    mkdirSync(folder);
    expect((await freeSpaceOf(folder))?.bytes).toBeGreaterThan(0);
  });
});

describe('the store', () => {
  const opened = () => {
    const engine = { full: false };
    const write = async (): Promise<void> => {
      if (engine.full)
        throw new ColdironError('store_unavailable', '/state/coldiron.db: the disk is full (SQLITE_FULL)');
    };
    const writes = new StoreWrites();
    const store = observedStore({ appendEvents: write } as unknown as Store, writes);
    return { engine, writes, store, problems: () => writes.problems('/state/coldiron.db') };
  };

  it('fails from the first write that fails to the next that succeeds', async () => {
    const { engine, store, problems } = opened();
    await store.appendEvents([]);
    expect(problems()).toEqual([]);
    engine.full = true;
    await expect(store.appendEvents([])).rejects.toThrow('the disk is full');
    expect(problems()).toMatchObject([
      { id: 'store-failing', subject: '/state/coldiron.db', nextStep: 'df -h /state/coldiron.db' },
    ]);
    expect(problems()[0]?.words).toContain('the disk is full (SQLITE_FULL)');
    engine.full = false;
    await store.appendEvents([]);
    expect(problems()).toEqual([]);
  });
});

describe('the clock', () => {
  const last = Date.UTC(2026, 5, 1);
  it('is wrong before the last recorded event', () => {
    const check = new ClockCheck({ lastEvent: last, installed: last - 90 * DAY });
    expect(check.look(last + HOUR, 0)).toEqual([]);
    const early = new ClockCheck({ lastEvent: last, installed: null });
    expect(early.look(Date.UTC(2020, 0, 1), 0)).toMatchObject([
      { id: 'clock-wrong', subject: 'clock', nextStep: 'timedatectl status' },
    ]);
    expect(early.look(last + 1, 1)).toMatchObject([{ id: 'clock-stepped' }]);
  });

  it('is wrong before this software was installed', () => {
    const check = new ClockCheck({ lastEvent: null, installed: last });
    expect(check.look(last - 3 * DAY, 0)).toMatchObject([{ id: 'clock-wrong' }]);
    expect(new ClockCheck({ lastEvent: null, installed: null }).look(0, 0)).toEqual([]);
  });

  it('is reported for a while after a jump, and not for a slow adjustment', () => {
    const check = new ClockCheck({ lastEvent: null, installed: null });
    check.look(last, 0);
    expect(check.look(last + 5 * SECOND + 500, 5 * SECOND)).toEqual([]);
    const [jump] = check.look(last - 50 * SECOND + 500, 10 * SECOND);
    expect(jump).toMatchObject({ id: 'clock-stepped', seconds: -60 });
    expect(jump?.words).toContain('jumped 60 s back');
    expect(check.look(last - 45 * SECOND + 500, 15 * SECOND)).toMatchObject([{ id: 'clock-stepped' }]);
    expect(check.look(last + 11 * MINUTE, 15 * SECOND + 11 * MINUTE + 44_500)).toEqual([]);
  });
});

describe('a certificate of the appliance', () => {
  const certificate = (notAfter: number) => ({ of: 'node API', notBefore: 0, notAfter, nextStep: 'coldiron ca show' });
  it('is reported when it was not renewed in time, and when it has expired', () => {
    expect(certificateProblems([certificate(90 * DAY)], 60 * DAY)).toEqual([]);
    expect(certificateProblems([certificate(90 * DAY)], 80 * DAY)).toMatchObject([{ id: 'certificate-expiring' }]);
    expect(certificateProblems([certificate(90 * DAY)], 90 * DAY)).toMatchObject([{ id: 'certificate-expired' }]);
    // A short one is not about to expire all its life.
    expect(certificateProblems([certificate(2 * DAY)], DAY)).toEqual([]);
  });
});

describe('another DHCP server', () => {
  it('is named with address and MAC', () => {
    const server = { network: 'boot', interface: 'eth1', address: ip('10.0.100.66'), how: 'it sent an OFFER' };
    const [found] = otherDhcpProblems([{ ...server, mac: mac(7) }], '/state');
    expect(found).toMatchObject({ id: 'other-dhcp-server', subject: 'boot 10.0.100.66', mac: mac(7) });
    expect(found?.words).toContain(`10.0.100.66 (MAC ${mac(7)}), assigns addresses on boot via eth1`);
    expect(found?.nextStep).toBe('coldiron check --state /state');
    expect(otherDhcpProblems([{ ...server, mac: null }], '/state')[0]?.words).not.toContain('MAC');
  });
});

it('a path in a command is one word of the shell', () => {
  expect(['/a/b-c_1.2', '/a b', "it's"].map(shellWord)).toEqual(['/a/b-c_1.2', "'/a b'", "'it'\\''s'"]);
});
