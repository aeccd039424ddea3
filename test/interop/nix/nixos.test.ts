// Our NixOS renderings and modules, evaluated by Nix itself and compared with the plans.

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { Inspection } from '../../../appliance/render/nixos/render-nixos.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import type { RenderedFile } from '../../../appliance/render/rendered-file.ts';
import { TEXT_FORMATS } from '../../../appliance/render/text-format.ts';
import { at, configuredValues, gapsIn, plannedValues } from '../../render/nixos/expected-configuration.ts';
import {
  type Evaluated,
  evaluateNodes,
  inFolder,
  mustEvaluate,
  nixInstantiate,
  nodeModules,
  REPOSITORY,
  siteFiles,
} from '../../render/nixos/nix-evaluation.ts';
import { objectionsIn } from '../../render/nixos/nixos-objections.ts';
import { HOSTILE_PARTS, hostileText, planOf } from '../../render/nixos/plan-arbitrary.ts';
import { NIXOS_SAMPLES, RESOLVED, SAMPLE_PLANS } from '../../render/plans.ts';
import { needPackages } from '../packages.ts';

const configurations = (outcome: ReturnType<typeof evaluateNodes>): Record<string, Evaluated> => {
  if (!outcome.ok) throw new Error(outcome.error);
  return JSON.parse(outcome.output);
};

beforeAll(() => needPackages(['nix-bin']));

describe('every Nix file', () => {
  it('parses: rendered ones, our modules, the flake', () => {
    const files: Pick<RenderedFile, 'path' | 'text'>[] = siteFiles(NIXOS_SAMPLES);
    const ours = readdirSync(join(REPOSITORY, 'nixos'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.nix'))
      .map((name) => join('nixos', name));
    expect(ours.length).toBeGreaterThan(10);
    inFolder(files, (folder) => {
      const rendered = files.filter(({ path }) => path.endsWith('.nix')).map(({ path }) => join(folder, path));
      const { ok, error } = nixInstantiate([
        '--parse',
        ...rendered,
        ...['flake.nix', ...ours].map((name) => join(REPOSITORY, name)),
      ]);
      expect(error).toBe('');
      expect(ok).toBe(true);
      expect(rendered.length).toBeGreaterThan(30);
    });
  });

  it('has no path literal that would copy a secret into the store', () => {
    const copiesSecret = /(?:^|[\s([])(?:\.{1,2}|~)?\/[\w./-]*secrets\//m;
    expect('key = ./secrets/key.pem;').toMatch(copiesSecret);
    expect('key = /etc/nixos/secrets/key.pem;').toMatch(copiesSecret);
    const files = siteFiles(NIXOS_SAMPLES).filter(({ path }) => path.startsWith('nodes/') && path.endsWith('.nix'));
    for (const { path, text } of files) expect(text, path).not.toMatch(copiesSecret);
  });
});

describe('a value in a Nix file', () => {
  it('comes back unchanged, whatever text or data it is', () => {
    const sound = fc.dictionary(
      hostileText,
      fc.oneof(hostileText, fc.maxSafeInteger(), fc.boolean(), fc.constant(null), fc.array(hostileText)),
    );
    const values = [
      ...HOSTILE_PARTS,
      ...HOSTILE_PARTS.flatMap((a) => HOSTILE_PARTS.map((b) => a + b)),
      'é😀\u2028\ufeff\u007f',
      'x'.repeat(4096),
      '',
      ...fc.sample(sound, 300),
    ];
    const literals = values.map((value) => mustParse(TEXT_FORMATS.nix.literal(value)));
    expect(mustEvaluate(`[ ${literals.join('\n')} ]`)).toEqual(values);
  });

  it('is rejected where no Nix file could hold it', () => {
    expect(TEXT_FORMATS.nix.literal('a\0b')).toMatchObject({ ok: false, reason: expect.stringContaining('U+0000') });
    expect(TEXT_FORMATS.nix.literal('\ud800')).toMatchObject({ ok: false });
    expect(TEXT_FORMATS.nix.literal({ a: [1.5] })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('.a[0]'),
    });
  });
});

describe('a rendered configuration', () => {
  it('matches the plan, field by field, for every sample', () => {
    const found = configurations(evaluateNodes(RESOLVED));
    for (const plan of RESOLVED) {
      const configuration = found[plan.hostname] ?? null;
      expect(configuredValues(configuration, plan)).toEqual(plannedValues(plan));
      expect(gapsIn(configuration)).toEqual([]);
      expect(objectionsIn(configuration)).toEqual([]);
    }
  });

  it('matches the plan for 200 generated plans, on UEFI and BIOS', () => {
    const many = fc.tuple(...Array.from({ length: 200 }, (_, at) => planOf(at + 1)));
    // Nix starts slowly, so all of them are one run, and a failure is reported unshrunk.
    fc.assert(fc.property(many, sayWhatTheyMean), { numRuns: 1, endOnFailure: true });
  });

  it('requires a choice of disk before an inspection', () => {
    const { ok, error } = evaluateNodes([SAMPLE_PLANS.uninspected]);
    expect(ok).toBe(false);
    expect(error).toContain(
      'cold01: which disk is the one with at least 400 GB, not rotating, is known after an inspection',
    );
  });

  it('requires the secrets that an operator must encrypt', () => {
    const { ok, error } = evaluateNodes([SAMPLE_PLANS.allInOne], new Map(), undefined, []);
    expect(ok).toBe(false);
    expect(error).toContain('lab01: its secrets.yaml is not here');
  });

  it('takes the disk from the inspection', () => {
    const disk = {
      path: '/dev/sda',
      byId: ['ata-SSD_1'],
      serial: '1',
      model: 'SSD',
      bytes: 480_000_000_000,
      rotational: false,
    };
    const inspection = { firmware: 'efi', disks: [disk, { ...disk, byId: ['ata-HDD_1'], rotational: true }] } as const;
    const found = configurations(evaluateNodes([SAMPLE_PLANS.uninspected], new Map([['cold01', inspection]])));
    expect(diskDevices(found.cold01 ?? null)).toEqual(['/dev/disk/by-id/ata-SSD_1']);
  });

  it('has scripts that bash and dash can parse', () => {
    const found = configurations(evaluateNodes(RESOLVED));
    const scripts = [
      ...[...nodeModules].filter(([name]) => name.endsWith('.sh')).map(([, text]) => text),
      ...Object.values(found).flatMap((configuration) => scriptsIn(configuration)),
    ];
    expect(scripts.length).toBeGreaterThan(1);
    for (const shell of ['bash', 'dash']) {
      for (const script of scripts)
        expect(spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' }).stderr).toBe('');
    }
  });
});

function sayWhatTheyMean(plans: readonly NodePlan[]): void {
  const bios = plans.filter(({ architecture }, at) => architecture === 'x86_64' && at % 2 === 0);
  const inspections = new Map(bios.map((plan) => [plan.hostname, biosWith(plan)]));
  const found = configurations(evaluateNodes(plans, inspections));
  for (const plan of plans) {
    const configuration = found[plan.hostname] ?? null;
    expect(configuredValues(configuration, plan)).toEqual(plannedValues(plan));
    expect(gapsIn(configuration)).toEqual([]);
    expect(objectionsIn(configuration)).toEqual([]);
    expect(diskDevices(configuration)).toEqual(plan.storage?.disks.map(({ byId }) => `/dev/disk/by-id/${byId}`));
    if (bios.includes(plan)) expect(at(configuration, 'boot', 'loader', 'grub', 'enable')).toBe(true);
  }
}

const biosWith = (plan: NodePlan): Inspection => ({
  firmware: 'bios',
  disks: (plan.storage?.disks ?? []).map(({ byId }, at) => ({
    path: `/dev/sd${'abc'[at]}`,
    byId: [byId ?? ''],
    serial: null,
    model: null,
    bytes: 1e12,
    rotational: false,
  })),
});

function diskDevices(configuration: Evaluated): (Evaluated | undefined)[] {
  const disks = at(configuration, 'disko', 'devices', 'disk');
  return ['main', 'disk2', 'disk3'].flatMap((name) => {
    const device = at(disks, name, 'device');
    return device === undefined ? [] : [device];
  });
}

function scriptsIn(configuration: Evaluated): string[] {
  const services = at(configuration, 'systemd', 'services');
  return Object.values(typeof services === 'object' && services !== null ? services : {}).flatMap((unit) => {
    const script = at(unit as Evaluated, 'script');
    return typeof script === 'string' ? [script] : [];
  });
}

describe('the evaluation itself', () => {
  const MISTAKES: readonly [what: string, file: string, from: string | RegExp, to: string, error: RegExp][] = [
    ['a misspelt option', 'configuration.nix', 'nameservers', 'nameserver', /networking.nameserver: no such option/],
    ['a wrong type', 'configuration.nix', /prefixLength = 24/, 'prefixLength = "24"', /prefixLength: "24" is not/],
    ['an impossible address', 'configuration.nix', '10.0.200.1"', '10.0.200.256"', /10.0.200.256/],
    ['an unknown package', 'configuration.nix', '"jq"', '"jqq"', /nixpkgs has no package called jqq/],
    [
      'a quote that is not closed',
      'configuration.nix',
      '"node01"',
      '"node01',
      /syntax error|undefined variable|unexpected/,
    ],
    [
      'an import outside',
      'configuration.nix',
      './hardware.nix',
      '../../../hardware.nix',
      /leaves the folder|No such file|does not exist/,
    ],
    ['a misspelt service', 'configuration.nix', 'services."iam"', 'services."iamm"', /services.iamm: no such option/],
    [
      'an option with another name in another release',
      'configuration.nix',
      'console.keyMap',
      'services.journald.extraConfig = ""; console.keyMap',
      /services.journald: no such option/,
    ],
    ['a misspelt key of disko', 'disko.nix', 'mountpoint = "/"', 'mountpiont = "/"', /mountpiont: no such option/],
    ['an impossible size', 'disko.nix', '"1G"', '"1 G"', /"1 G" is not/],
    [
      'a kernel setting that two modules make, although they agree',
      'configuration.nix',
      'console.keyMap',
      'boot.kernel.sysctl."vm.swappiness" = lib.mkDefault 10; console.keyMap',
      /vm.swappiness: defined more than once/,
    ],
    ['a misspelt upstream module', 'hardware.nix', 'not-detected', 'not-detectd', /unknown upstream module/],
  ];

  it.each(MISTAKES)('finds %s', (_what, file, from, to, error) => {
    const outcome = evaluateNodes([SAMPLE_PLANS.controlPlane], new Map(), (files) =>
      files.map((one) => (one.path.endsWith(`/${file}`) ? { ...one, text: changed(one.text, from, to) } : one)),
    );
    expect(outcome.ok).toBe(false);
    expect(outcome.error).toMatch(error);
  });

  const GAPS: readonly [what: string, file: string, from: string | RegExp, to: string, gap: string][] = [
    ['no boot loader', 'hardware.nix', 'enable = true;', 'enable = false;', '0 boot loaders'],
    ['no root file system', 'disko.nix', 'mountpoint = "/";', 'mountpoint = "/srv";', 'no root file system'],
    ['no platform', 'hardware.nix', /nixpkgs.hostPlatform.*/, '', 'no platform'],
    [
      'predictable names with eth0',
      'configuration.nix',
      'InterfaceNames = false',
      'InterfaceNames = true',
      'eth names that no interface will have',
    ],
    [
      'a gateway elsewhere',
      'configuration.nix',
      'address = "10.0.200.1";',
      'address = "10.9.9.1";',
      'a gateway on none of its networks',
    ],
    [
      'a user of no kind',
      'configuration.nix',
      'isNormalUser = true;',
      '',
      'operator is neither a person nor a service',
    ],
  ];

  it.each(GAPS)('finds %s', (_what, file, from, to, gap) => {
    const found = configurations(
      evaluateNodes([SAMPLE_PLANS.controlPlane], new Map(), (files) =>
        files.map((one) => (one.path.endsWith(`/${file}`) ? { ...one, text: changed(one.text, from, to) } : one)),
      ),
    );
    expect(gapsIn(found.node01 ?? null)).toEqual([gap]);
  });

  const { controlPlane, bonded } = SAMPLE_PLANS;
  const OBJECTIONS: readonly [
    what: string,
    plan: NodePlan,
    file: string,
    from: string | RegExp,
    to: string,
    objection: string,
  ][] = [
    [
      'a bond whose name is too long',
      bonded,
      'configuration.nix',
      /"bond0"/g,
      '"bond-of-the-rack"',
      'bond-of-the-rack is too long for a link',
    ],
    [
      'arrays without a mail address',
      bonded,
      'hardware.nix',
      'MAILADDR root',
      '',
      'RAID arrays without an alert for a failed disk',
    ],
    [
      'GRUB in the EFI variables',
      bonded,
      'hardware.nix',
      'Variables = false',
      'Variables = true',
      'GRUB both as removable and in the EFI variables',
    ],
    ['GRUB without disks', bonded, 'hardware.nix', /mirroredBoots = \[[\s\S]*?\n {4}\];/, '', 'GRUB on no disk'],
    [
      'an administrator without a key',
      controlPlane,
      'configuration.nix',
      /"ssh-ed25519[^"]*"/,
      '',
      'nobody could ever log in',
    ],
    [
      'an order without a wish',
      controlPlane,
      'node-agent.nix',
      /wants = .*/,
      '',
      'coldiron-node-agent: after network-online.target, but nothing wants it',
    ],
    [
      'a oneshot without an end',
      controlPlane,
      'automation.nix',
      '"on-failure"',
      '"always"',
      'chainfire-cluster-join: a oneshot cannot be restarted always',
    ],
    [
      'rules that are not used',
      controlPlane,
      'configuration.nix',
      'networking = {',
      'networking = { nftables.enable = false;',
      'rules although nftables is disabled',
    ],
    ['no state version', controlPlane, 'configuration.nix', /system.stateVersion.*/, '', 'no state version'],
    ['a service without a group', controlPlane, 'services.nix', 'inherit group;', '', 'chainfire has no group'],
    [
      'a group that does not exist',
      controlPlane,
      'services.nix',
      /users.groups.*/,
      '',
      'chainfire has the undefined group coldiron-cluster',
    ],
    [
      'an MTU that udev never reads',
      bonded,
      'configuration.nix',
      'linkConfig.MTUBytes = "4200";',
      '',
      '10-enp2s0.link hides the MTU of enp2s0',
    ],
    [
      'a member of a bond with an address',
      bonded,
      'configuration.nix',
      'interfaces."enp1s0f0" = {',
      'interfaces."enp1s0f0" = { ipv4.addresses = [ { address = "10.0.100.62"; prefixLength = 24; } ];',
      'enp1s0f0 is in a bond and has an address',
    ],
    [
      'another localhost',
      controlPlane,
      'configuration.nix',
      '"node02.example.com"',
      '"localhost"',
      '10.0.200.11 is called localhost',
    ],
  ];

  it.each(OBJECTIONS)('finds %s', (_what, plan, file, from, to, objection) => {
    const found = configurations(
      evaluateNodes([plan], new Map(), (files) =>
        files.map((one) =>
          one.path.endsWith(`/${file}`) || one.path === file ? { ...one, text: changed(one.text, from, to) } : one,
        ),
      ),
    );
    expect(objectionsIn(found[plan.hostname] ?? null)).toContain(objection);
  });

  function changed(text: string, from: string | RegExp, to: string): string {
    const after = text.replace(from, to);
    expect(after).not.toBe(text);
    return after;
  }
});
