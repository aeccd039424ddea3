import { describe, expect, it } from 'vitest';
import { renderAutoinstall } from '../../../appliance/render/installers/autoinstall.ts';
import type { InstallerExtras } from '../../../appliance/render/installers/disks.ts';
import { renderIgnition } from '../../../appliance/render/installers/ignition.ts';
import { renderKickstart } from '../../../appliance/render/installers/kickstart.ts';
import { renderPreseed } from '../../../appliance/render/installers/preseed.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { ANY_DISK, byId, SAMPLE_PLANS } from '../plans.ts';
import { type Case, INSTALLER_CASES, MAAS, MANUAL, TEMPLATES, WITH_PASSPHRASE, withStorage } from './samples.ts';

const RENDERERS = {
  autoinstall: renderAutoinstall,
  preseed: renderPreseed,
  kickstart: renderKickstart,
  ignition: renderIgnition,
} as const;
type Installer = keyof typeof RENDERERS;
const INSTALLERS = Object.keys(RENDERERS) as Installer[];

const rendered = (installer: Installer, plan: NodePlan, extras: InstallerExtras) =>
  RENDERERS[installer](plan, extras, TEMPLATES);

describe.each(INSTALLERS)('%s', (installer) => {
  const cases: readonly Case[] = INSTALLER_CASES[installer];
  const files = cases.flatMap(([name, plan, extras]) =>
    rendered(installer, plan, extras).map((file) => [`${name}/${file.path}`, file.text] as const),
  );

  it.each(files)('matches its golden %s', async (path, text) => {
    await expect(text).toMatchFileSnapshot(`goldens/${installer}/${path}`);
  });

  it('renders the same bytes every time', () => {
    for (const [, plan, extras] of cases) {
      expect(rendered(installer, structuredClone(plan), extras)).toEqual(rendered(installer, plan, extras));
    }
  });

  it('marks what makes a machine a node as secret, and has it in no other file', () => {
    const [, plan] = cases[0] ?? [];
    if (plan === undefined) throw new Error('no case');
    const all = rendered(installer, plan, MAAS);
    expect(all.some((file) => file.secret)).toBe(true);
    for (const file of all.filter(({ secret }) => secret)) expect(file.mode).toBe(0o600);
    for (const file of all.filter(({ secret }) => !secret)) expect(file.text).not.toContain('echo enrolled');
  });

  const plan = withStorage({ ...SAMPLE_PLANS.worker, packages: [], accounts: [] }, {});
  const refused = (changes: Parameters<typeof withStorage>[1], reason: string): void => {
    expect(() => rendered(installer, withStorage(plan, changes), WITH_PASSPHRASE)).toThrowError(
      expect.objectContaining({
        code: 'invalid_inventory',
        details: expect.arrayContaining([expect.stringContaining(reason)]),
      }),
    );
  };

  it.each([
    ['serial', { serial: 'S64FNE0R500001' }],
    ['model', { model: 'SAMSUNG' }],
    ['minBytes', { minBytes: 1 }],
    ['maxBytes', { maxBytes: 1 }],
    ['rotational', { rotational: false }],
  ])('selects no disk by its %s, and reports it', (field, selector) => {
    refused({ disks: [{ ...ANY_DISK, ...selector }] }, `storage.disks[0].${field}: ${installer} cannot select by it`);
    // Also beside an id: a condition that cannot be checked must not be accepted.
    refused({ disks: [{ ...byId('ata-A'), ...selector }] }, `storage.disks[0].${field}`);
  });

  it.each(['../../sda', 'a b', "a'b", 'a\nb', '$(reboot)', '', '-rf'])('rejects a disk with the id %j', (name) => {
    refused({ disks: [byId(name)] }, 'storage.disks[0].byId is not a name below /dev/disk/by-id');
  });

  it('rejects the same disk twice, a disk without an id, and a mirror of one disk', () => {
    refused(
      { layout: 'mirror', disks: [byId('ata-A'), byId('ata-A')] },
      installer === 'preseed' ? 'mirror' : 'named twice',
    );
    refused({ disks: [ANY_DISK] }, 'storage.disks[0]: the disk has no id');
    refused(
      { layout: 'mirror', disks: [byId('ata-A')] },
      installer === 'preseed' ? 'does not support layout mirror' : '2 disks or more for mirror, not 1',
    );
    refused({ disks: [byId('ata-A'), byId('ata-B')] }, 'needs one disk for single, not 2');
  });

  it('rejects ZFS, and lists the layouts that it supports', () => {
    refused({ layout: 'zfs' }, `${installer} does not support layout zfs; it supports single`);
  });
});

describe('a passphrase', () => {
  it.each(['autoinstall', 'preseed', 'kickstart'] as const)(
    'is needed by %s for luks, and makes its file secret',
    (installer) => {
      const [, plan] = INSTALLER_CASES[installer].find(([name]) => name === 'luks') ?? [];
      if (plan === undefined) throw new Error('no case');
      expect(() => rendered(installer, plan, MANUAL)).toThrowError(
        expect.objectContaining({ details: ['diskPassphrase: the layout luks needs a passphrase'] }),
      );
      const holding = rendered(installer, plan, WITH_PASSPHRASE).filter(({ text }) => text.includes('correct-horse'));
      expect(holding.map(({ secret, mode }) => [secret, mode])).toEqual([[true, 0o600]]);
    },
  );

  it('is not needed by Ignition, which has the TPM open the disk', () => {
    const [, plan, extras] = INSTALLER_CASES.ignition[2];
    const config = JSON.parse(rendered('ignition', plan, extras)[0]?.text ?? '');
    expect(config.storage.luks).toEqual([expect.objectContaining({ clevis: { tpm2: true } })]);
  });
});

describe('names and packages', () => {
  it.each(['kickstart', 'ignition'] as const)('%s adds no key to the existing system account operator', (installer) => {
    expect(() => rendered(installer, { ...SAMPLE_PLANS.worker, packages: [] }, MANUAL)).toThrowError(
      expect.objectContaining({
        details: [expect.stringContaining('accounts[0].name: the system already has an account operator')],
      }),
    );
  });

  it('Ignition installs no packages, and lists the requested ones', () => {
    const plan = { ...SAMPLE_PLANS.worker, accounts: [] };
    expect(() => rendered('ignition', plan, MANUAL)).toThrowError(
      expect.objectContaining({ details: ['packages: Ignition installs none; build an image that has curl, jq'] }),
    );
  });

  it('all problems are reported at once', () => {
    const plan: NodePlan = {
      ...withStorage(SAMPLE_PLANS.worker, { layout: 'zfs' }),
      timeZone: '../etc/passwd',
      packages: ['--reinstall'],
      accounts: [{ name: 'root', sshKeys: ['ssh-ed25519 AAAA'], admin: true }],
    };
    expect(() => rendered('preseed', plan, { ...MANUAL, filesUrl: "http://x/' && reboot '" })).toThrowError(
      expect.objectContaining({
        details: [
          expect.stringMatching(/^timeZone is not a time zone/),
          expect.stringMatching(/^packages\[0\] is not the name of a package/),
          expect.stringMatching(/^accounts\[0\]\.name: logging in as root/),
          expect.stringMatching(/^accounts\[0\]\.sshKeys\[0\]: /),
          expect.stringMatching(/^filesUrl is not an http or https address/),
          expect.stringMatching(/^filesUrl does not end with a slash/),
          expect.stringMatching(/^storage\.layout: preseed does not support layout zfs/),
        ],
      }),
    );
  });
});
