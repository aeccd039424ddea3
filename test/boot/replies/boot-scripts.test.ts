import { describe, expect, it } from 'vitest';
import type { BootImage } from '../../../appliance/boot/boot-images.ts';
import { decideBoot } from '../../../appliance/boot/decide-boot.ts';
import type { BootSubject } from '../../../appliance/boot/replies/boot-subject.ts';
import { GRUB_CONFIGS, parseGrubConfigName, renderGrubEntry } from '../../../appliance/boot/replies/grub-config.ts';
import { IPXE_SCRIPTS, renderEntryScript, renderMenuScript } from '../../../appliance/boot/replies/ipxe-script.ts';
import { EVERYTHING_STARTS } from '../../../appliance/boot/startability.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { UnknownPolicy } from '../../../appliance/domain/network.ts';
import { mustParse, parsed, unparsable } from '../../../appliance/domain/parsed.ts';
import { readBootTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import {
  eraseIntentWith,
  factsOf,
  intentWith,
  MAC,
  machineIn,
  NOW,
  networkWith,
  profileWith,
  UUID,
} from '../boot-fixtures.ts';
import { grubCommands } from './grub-shell-model.ts';
import { ipxeCommands, ipxeLabels } from './ipxe-shell-model.ts';

const templates = readBootTemplates();
const server = { address: mustParse(parseIpv4('10.0.100.10')), bootPort: 8080 };
const NIXOS = {
  kernel: 'nixos/worker/bzImage',
  initrd: 'nixos/worker/initrd',
  parameters: ['init=/nix/store/abc-nixos-system-worker/init', 'loglevel=4'],
};
const SERVICE_OS = {
  kernel: 'images/service-os-x86_64/kernel',
  initrd: 'images/service-os-x86_64/initrd',
  parameters: [],
};

function subject(
  machine: BootSubject['machine'],
  image: BootImage | null = null,
  unknown: UnknownPolicy = 'refuse',
): BootSubject {
  const network = networkWith({ unknown });
  const startability = {
    ...EVERYTHING_STARTS,
    image: () => (image === null ? unparsable('an image') : parsed(image)),
  };
  const question = { facts: factsOf(7), machine, network, profile: profileWith(), now: NOW, startability };
  return { decision: decideBoot(question), machine, mac: MAC, server, architecture: 'x86_64' };
}

const REMOVED = machineIn('removed', { lifecycle: { note: 'no longer declared by lab' } });

const SUBJECTS: readonly (readonly [name: string, BootSubject])[] = [
  ['local-disk', subject(machineIn('active'))],
  ['local-disk-sanboot', subject(machineIn('active', { spec: { labels: { 'local-boot': 'sanboot' } } }))],
  ['service-os', subject(machineIn('commissioning'), SERVICE_OS)],
  ['erase', subject(machineIn('releasing', { intent: eraseIntentWith() }), SERVICE_OS)],
  ['installer', subject(machineIn('deploying', { intent: intentWith() }), NIXOS)],
  ['refusal', subject(machineIn('quarantined', { lifecycle: { note: 'card moved || exit # $(errno)' } }))],
  ['refusal-unknown', subject(null)],
  ['refusal-removed', subject(REMOVED)],
  ['wait', subject(null, null, 'hold')],
];

const IPXE = new Map<string, string>([
  ['boot', renderEntryScript(templates, server)],
  ['menu', renderMenuScript(templates, { machine: machineIn('ready'), mac: MAC, server }, [profileWith()])],
  ['hold', IPXE_SCRIPTS.hold(templates, subject(machineIn('ready')), 'the appliance cannot write')],
  ...SUBJECTS.map(([name, one]) => [name, IPXE_SCRIPTS.boot(templates, one) ?? ''] as const),
]);
const GRUB = new Map<string, string>([
  ['grub', renderGrubEntry(templates, server)],
  ['hold', GRUB_CONFIGS.hold(templates, subject(machineIn('ready')), 'the appliance cannot write')],
  ...SUBJECTS.map(([name, one]) => [name, GRUB_CONFIGS.boot(templates, one) ?? ''] as const),
]);

describe.each([...IPXE])('the iPXE script %s', (name, script) => {
  it('matches its golden file', async () => {
    await expect(script).toMatchFileSnapshot(`goldens/${name}.ipxe`);
  });

  it('is a script, says in its first line who gets what and why, and reports failures', () => {
    expect(script.startsWith('#!ipxe\n')).toBe(true);
    expect(ipxeCommands(script).find(({ words }) => words[0] === 'echo')?.words[1]).toMatch(/^Coldiron/);
    const report = ipxeCommands(script).find(({ words }) => words[0] === 'imgfetch');
    expect(report?.words.at(-1)).toMatch(/^http:\/\/10\.0\.100\.10:8080\/boot\/report\?.*&errno=<problem>/);
  });

  it('jumps only to its own labels, each defined once, and always exits at its end', () => {
    const labels = ipxeLabels(script);
    expect(new Set(labels).size).toBe(labels.length);
    const targets = ipxeCommands(script).flatMap(({ words }) => (words[0] === 'goto' ? [words[1] ?? ''] : []));
    expect(targets.filter((target) => target !== '<chosen>' && !labels.includes(target))).toEqual([]);
    expect(ipxeCommands(script).at(-1)?.words).toEqual(['exit']);
  });

  it('exits on UEFI with a failure, which leads to the next boot entry', () => {
    expect(script).toMatch(/iseq \$\{platform\} efi && exit 1 \|\|\n/);
  });

  it('has no identity except the public one', () => {
    expect(script).not.toContain(UUID);
    expect(script).not.toContain('intent-1');
  });
});

describe('the menu', () => {
  it('says for each profile what must be done first', () => {
    const said = (machine: BootSubject['machine']) =>
      /^echo To install worker: (.*)$/m.exec(
        renderMenuScript(templates, { machine, mac: MAC, server }, [profileWith()]),
      )?.[1];
    expect(said(machineIn('ready'))).toBe('coldiron deploy node01 --profile worker');
    expect(said(null)).toBe('register the machine first');
    expect(said(REMOVED)).toBe('node01 was removed: declare the machine again first');
  });

  it('starts nothing by itself: it only retries, shows, or exits', () => {
    const started = ipxeCommands(IPXE.get('menu') ?? '').map(({ words }) => words[0]);
    expect(
      started.filter((command) => ['kernel', 'initrd', 'boot', 'sanboot', 'imgexec'].includes(command ?? '')),
    ).toEqual([]);
  });
});

describe.each([...GRUB])('the GRUB configuration %s', (name, config) => {
  it('matches its golden file', async () => {
    await expect(config).toMatchFileSnapshot(`goldens/${name}.cfg`);
  });

  it('has only commands that the signed GRUB has built in, and only the common one chains to another', () => {
    const everywhere = ['echo', 'sleep', 'exit', 'set', 'if', 'then', 'else', 'fi', 'linux', 'initrd', 'boot'];
    const known = name === 'grub' ? [...everywhere, 'smbios', 'while', 'do', 'source', 'done'] : everywhere;
    expect(grubCommands(config).filter(([command]) => !known.includes(command ?? ''))).toEqual([]);
  });

  it('exits at its end, or returns when it is to wait', () => {
    const waits = name === 'hold' || name === 'wait';
    expect(grubCommands(config).at(-1)).toEqual(waits ? ['set', 'again=1'] : ['exit']);
    expect(grubCommands(config).filter(([command]) => command === 'exit')).toHaveLength(waits ? 0 : 1);
  });
});

describe('the GRUB configuration for all machines', () => {
  it('retries while it has to wait, and loads once otherwise, without recursion', () => {
    const commands = grubCommands(GRUB.get('grub') ?? '').map((words) => words.join(' '));
    expect(commands.slice(1, -5)).toEqual([
      'set again=1',
      'while [ <again> = 1 ]',
      'do',
      'set again=0',
      'source (tftp,10.0.100.10)/grub/machine/<net_default_mac>_<uuid>.cfg',
      'done',
    ]);
  });
});

describe('a decision to send no reply', () => {
  it('has no script in either language', () => {
    const network = networkWith({ unknown: 'ignore' });
    const decision = decideBoot({ facts: factsOf(7), machine: null, network, profile: null, now: NOW });
    const silent: BootSubject = { decision, machine: null, mac: MAC, server, architecture: null };
    expect(IPXE_SCRIPTS.boot(templates, silent)).toBeNull();
    expect(GRUB_CONFIGS.boot(templates, silent)).toBeNull();
  });
});

describe('the names that GRUB requests', () => {
  const BY_CARD = `grub.cfg-01-${MAC.replaceAll(':', '-')}`;

  it.each(['grub/grub.cfg', '/grub/grub.cfg', 'grub.cfg', BY_CARD])('%s is what every machine gets first', (name) => {
    expect(parseGrubConfigName(name)).toEqual({ kind: 'entry' });
  });

  it('identify the machine, its card and its chassis, when our entry chains there', () => {
    expect(parseGrubConfigName(`/grub/machine/${MAC}_${UUID}.cfg`)).toEqual({ kind: 'machine', mac: MAC, uuid: UUID });
    expect(parseGrubConfigName(`grub/machine/${MAC}_.cfg`)).toEqual({ kind: 'machine', mac: MAC, uuid: null });
  });

  it.each([
    'grub/x86_64-efi/grub.cfg',
    'grub/grub.cfg-0A000001',
    'grub/grub.cfg-01-52-54',
    'grub/machine/zz_.cfg',
    '',
    '../grub.cfg',
  ])('%j is rejected', (name) => {
    expect(parseGrubConfigName(name)).toBeNull();
  });
});
