// Errors that installers would find too late: dangling references, unused partitions, missing disks.

import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { renderAutoinstall } from '../../../appliance/render/installers/autoinstall.ts';
import { renderIgnition } from '../../../appliance/render/installers/ignition.ts';
import { renderKickstart } from '../../../appliance/render/installers/kickstart.ts';
import { renderPreseed } from '../../../appliance/render/installers/preseed.ts';
import { kickstartProblems } from './kickstart-model.ts';
import { INSTALLER_CASES, TEMPLATES } from './samples.ts';

type Action = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };

interface Autoinstall {
  readonly version: number;
  readonly storage: { readonly config: readonly Action[]; readonly swap: { readonly size: number | string } };
  readonly [key: string]: unknown;
}

/** The properties of subiquity's published schema that we use, and the required ones. */
const AUTOINSTALL_KEYS = [
  ...['version', 'early-commands', 'late-commands', 'locale', 'keyboard', 'timezone', 'network', 'apt', 'storage'],
  ...['ssh', 'packages', 'user-data', 'shutdown'],
];

/** The references of a curtin action, by its type. */
const REFERENCES: Readonly<Record<string, readonly string[]>> = {
  disk: [],
  partition: ['device'],
  format: ['volume'],
  mount: ['device'],
  raid: ['devices'],
  lvm_volgroup: ['devices'],
  lvm_partition: ['volgroup'],
  dm_crypt: ['volume'],
};

describe.each(INSTALLER_CASES.autoinstall)('autoinstall of %s', (_name, plan, extras) => {
  const [, file] = renderAutoinstall(plan, extras, TEMPLATES);
  const document = load(file?.text ?? '') as { autoinstall: Autoinstall };
  const { config } = document.autoinstall.storage;

  it('has one top-level key, and below it only keys of the schema', () => {
    expect(Object.keys(document)).toEqual(['autoinstall']);
    expect(document.autoinstall.version).toBe(1);
    expect(Object.keys(document.autoinstall).filter((key) => !AUTOINSTALL_KEYS.includes(key))).toEqual([]);
    // One of the two is required; the other creates an account with a password.
    expect(document.autoinstall).toHaveProperty('user-data');
    expect(document.autoinstall).not.toHaveProperty('identity');
  });

  it('refers only to earlier actions, and uses everything once', () => {
    const seen = new Set<string>();
    const used: string[] = [];
    for (const action of config) {
      const fields = REFERENCES[action.type];
      expect(fields, action.type).toBeDefined();
      for (const name of (fields ?? []).flatMap((field) => action[field] as string | string[])) {
        expect([...seen]).toContain(name);
        if (action.type !== 'partition') used.push(name);
      }
      expect([...seen]).not.toContain(action.id);
      seen.add(action.id);
    }
    expect(new Set(used).size).toBe(used.length);
    const unused = config.filter(
      ({ type, id, flag }) => !used.includes(id) && !['disk', 'mount'].includes(type) && flag !== 'bios_grub',
    );
    // The boot loader's installer fills the EFI system partition of the second disk; it is not mounted.
    expect(unused.map(({ id }) => id).filter((id) => !/^efi[1-9]-format$/.test(id))).toEqual([]);
  });

  it('has one root, can be booted by the firmware, and lets only the last partition of a disk grow', () => {
    expect(config.filter(({ path }) => path === '/')).toHaveLength(1);
    const starts = config.filter((action) => action.grub_device === true);
    expect(starts.length).toBe(plan.storage?.layout === 'mirror' ? plan.storage.disks.length : 1);
    expect(new Set(starts.map(({ type }) => type))).toEqual(
      new Set([extras.firmware === 'efi' ? 'partition' : 'disk']),
    );
    for (const { id } of config.filter(({ type }) => type === 'disk')) {
      const sizes = config.filter(({ device, type }) => type === 'partition' && device === id).map(({ size }) => size);
      expect(sizes.indexOf(-1)).toBe(sizes.length - 1);
    }
  });
});

describe.each(INSTALLER_CASES.kickstart)('kickstart of %s', (_name, plan, extras) => {
  const [file] = renderKickstart(plan, extras, TEMPLATES);
  const text = file?.text ?? '';

  it('has only known commands and options, and no unused partitions', () => {
    expect(kickstartProblems(text)).toEqual([]);
  });

  it('modifies only the disks of the plan', () => {
    const named = new Set(text.match(/\/dev\/disk\/by-id\/[^\s,']+/g));
    expect([...named]).toEqual(plan.storage?.disks.map(({ byId }) => `/dev/disk/by-id/${byId}`));
    expect(text).toMatch(/^ignoredisk --only-use=/m);
    expect(text).not.toMatch(/\/dev\/(sd|nvme|vd)/);
  });
});

describe('the model of kickstart', () => {
  it('finds errors', () => {
    const wrong = 'autopart\nlang\npart / --grwo\npart raid.1 --size=1\nvolgroup g pv.7\npart / --size=1\n';
    expect(kickstartProblems(wrong)).toEqual([
      'unknown command autopart',
      'lang takes 1 to 1 words, not 0',
      'part has no --grwo',
      'raid.1 is made and not used',
      'pv.7 is used and not made',
      'there are 2 root filesystems',
    ]);
  });
});

describe.each(INSTALLER_CASES.preseed)('preseed of %s', (_name, plan, extras) => {
  const files = renderPreseed(plan, extras, TEMPLATES);
  const text = files.find(({ path }) => path === 'preseed.cfg')?.text ?? '';
  const answer = (question: string): string =>
    new RegExp(`^\\S+ ${question} \\S+ ?(.*)$`, 'm').exec(text)?.[1] ?? 'none';

  it('names the disks of the plan from the start: if none is named, partman selects the only disk', () => {
    expect(answer('partman-auto/disk').split(' ')).toEqual(
      plan.storage?.disks.map(({ byId }) => `/dev/disk/by-id/${byId}`),
    );
  });

  it('has a partition recipe that partman can read, with one root', () => {
    const [name, ...words] = answer('partman-auto/expert_recipe').split(' :: ');
    expect(name).toBe('coldiron');
    const partitions = words
      .join('')
      .split(/ \.(?: |$)/)
      .filter((line) => line !== '');
    for (const line of partitions) {
      expect(line).toMatch(/^\d+ \d+ (\d+|-1) (ext4|xfs|linux-swap|free)( \$?[a-z_]+\{ ([^{} ]+ )?\})+$/);
      const [least, wanted, most] = line.split(' ').map(Number);
      expect(wanted).toBeGreaterThanOrEqual(least ?? 0);
      expect(most === -1 || (most ?? 0) >= (least ?? 0)).toBe(true);
    }
    expect(partitions.filter((line) => line.includes('mountpoint{ / }'))).toHaveLength(1);
    expect(partitions.filter((line) => line.split(' ')[2] === '-1')).toHaveLength(1);
    expect(partitions[0]).toContain(extras.firmware === 'efi' ? 'method{ efi }' : 'method{ biosgrub }');
  });

  it('answers no question twice', () => {
    const questions = text
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(' ')[1]);
    expect(new Set(questions).size).toBe(questions.length);
  });

  it('sets no usable password', () => {
    expect(answer('passwd/root-password-crypted')).toBe('!');
    expect(answer('passwd/make-user')).toBe('false');
  });
});

describe.each(INSTALLER_CASES.ignition)('ignition of %s', (_name, plan, extras) => {
  const [file] = renderIgnition(plan, extras, TEMPLATES);
  const config = JSON.parse(file?.text ?? '');

  it('has its declared version, and every path absolute and unique', () => {
    expect(config.ignition).toEqual({ version: '3.4.0' });
    const paths: string[] = [...config.storage.files, ...config.storage.links].map(
      ({ path }: { path: string }) => path,
    );
    expect(paths.every((path) => path.startsWith('/') && !path.includes('..'))).toBe(true);
    expect(new Set(paths).size).toBe(paths.length);
  });

  it('mounts and mirrors only what it creates or the image has', () => {
    const labels: string[] = (config.storage.disks ?? []).flatMap((disk: { partitions: { label: string }[] }) =>
      disk.partitions.map(({ label }) => label),
    );
    const members: string[] = (config.storage.raid ?? []).flatMap((raid: { devices: string[] }) => raid.devices);
    for (const member of members) expect(labels).toContain(member.replace('/dev/disk/by-partlabel/', ''));
    expect(new Set(labels).size).toBe(labels.length);
  });

  it('sets no password', () => {
    for (const user of config.passwd.users) expect(Object.keys(user)).toEqual(['name', 'shell', 'sshAuthorizedKeys']);
  });
});
