// Values that are special to some program. Each is rejected by field name, or the parser reads it back unchanged and nothing
// around it has changed.

import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { ColdironError } from '../../../appliance/domain/errors.ts';
import type { DomainName, Hostname } from '../../../appliance/domain/names.ts';
import { renderCloudInit } from '../../../appliance/render/cloud-init/cloud-init.ts';
import { renderAutoinstall } from '../../../appliance/render/installers/autoinstall.ts';
import type { InstallerExtras } from '../../../appliance/render/installers/disks.ts';
import { renderIgnition } from '../../../appliance/render/installers/ignition.ts';
import { renderKickstart } from '../../../appliance/render/installers/kickstart.ts';
import { renderPreseed } from '../../../appliance/render/installers/preseed.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import type { RenderedFile } from '../../../appliance/render/rendered-file.ts';
import { byId, SAMPLE_PLANS } from '../plans.ts';
import { kickstartWords } from './kickstart-model.ts';
import { AGENT, MAAS, SITE, TEMPLATES, withStorage } from './samples.ts';

interface Subject {
  readonly plan: NodePlan;
  readonly extras: InstallerExtras;
}

const KEY = SAMPLE_PLANS.debian.accounts[0]?.sshKeys[0]?.split(' ').slice(0, 2).join(' ') ?? '';

const BASE: Subject = {
  plan: withStorage(
    {
      ...SAMPLE_PLANS.debian,
      siteBootstrap: SITE,
      enrollment: 'first-boot',
      packages: [],
      accounts: [{ name: 'oncall', sshKeys: [KEY], admin: true }],
    },
    {},
  ),
  extras: MAAS,
};

const planWith = (changes: Partial<NodePlan>): Subject => ({ ...BASE, plan: { ...BASE.plan, ...changes } });
const extrasWith = (changes: Partial<InstallerExtras>): Subject => ({ ...BASE, extras: { ...MAAS, ...changes } });

/** The field in error messages, how to set it, and a valid value. */
const PLACES: readonly (readonly [place: string, put: (value: string) => Subject, fine: string])[] = [
  ['hostname', (value) => planWith({ hostname: value as Hostname }), 'node05'],
  ['fqdn', (value) => planWith({ fqdn: value }), 'node05.example.com'],
  ['domain', (value) => planWith({ domain: value as DomainName }), 'example.com'],
  ['searchDomains[0]', (value) => planWith({ searchDomains: [value as DomainName] }), 'example.com'],
  ['timeZone', (value) => planWith({ timeZone: value }), 'UTC'],
  ['locale', (value) => planWith({ locale: value }), 'C.UTF-8'],
  ['keyboard', (value) => planWith({ keyboard: value }), 'de'],
  ['ntpServers[0]', (value) => planWith({ ntpServers: [value] }), 'ntp.example.com'],
  ['kernelParameters[0]', (value) => planWith({ kernelParameters: [value] }), 'quiet'],
  ['accounts[0].name', (value) => planWith({ accounts: [{ name: value, sshKeys: [KEY], admin: true }] }), 'oncall'],
  [
    'accounts[0].sshKeys[0]',
    (value) => planWith({ accounts: [{ name: 'a', sshKeys: [`${KEY} ${value}`], admin: true }] }),
    'me',
  ],
  [
    'links[0].name',
    (value) =>
      planWith({ links: BASE.plan.links.map((link, index) => (index === 0 ? { ...link, name: value } : link)) }),
    'eth0',
  ],
  ['storage.disks[0].byId', (value) => ({ ...BASE, plan: withStorage(BASE.plan, { disks: [byId(value)] }) }), 'ata-A'],
  ['siteBootstrap.name', (value) => planWith({ siteBootstrap: { ...SITE, name: value } }), 'baseline'],
  ['siteBootstrap.version', (value) => planWith({ siteBootstrap: { ...SITE, version: value } }), '1'],
  ['siteBootstrap.script', (value) => planWith({ siteBootstrap: { ...SITE, script: `#!/bin/sh\n${value}` } }), 'true'],
  ['nodeParts[0].script', (value) => extrasWith({ nodeParts: [{ ...AGENT, script: `#!/bin/sh\n${value}` }] }), 'true'],
  ['nodeParts[0].name', (value) => extrasWith({ nodeParts: [{ ...AGENT, name: value }] }), 'agent'],
  ['instanceId', (value) => extrasWith({ instanceId: value }), 'deployment-1'],
  ['filesUrl', (value) => extrasWith({ filesUrl: value }), 'http://10.0.0.1/f/'],
  ['mirrorUrl', (value) => extrasWith({ mirrorUrl: value }), 'http://10.0.0.1/m'],
];

const HOSTILE = [
  'a\nb',
  'a\r\nruncmd: [reboot]',
  '\n#cloud-config\nbootcmd: [reboot]',
  '"',
  "'",
  '\\',
  `\${HOME}`,
  '$(reboot)',
  '`reboot`',
  "'; reboot #",
  '!!python/object/apply:os.system [reboot]',
  '&a *a',
  '{a: b}',
  '%end',
  '\n%end\n%post\nreboot\n%end\n',
  'x'.repeat(4096),
  '🧊',
  'ä',
  '\u2028',
  '\u0085',
  '\u0000',
  '\ud800',
  '\t',
  ' ',
  '',
  '~',
  'yes',
  '1:30',
  '--help',
  '-rf /',
  '../../etc/passwd',
  '/',
  '\u001b[2J',
  'x\n[Match]\nName=*',
  'key=value',
  'a;b',
  '#',
  '%s%n',
  '{{x}}',
  '<<END',
  '\uFEFFx',
];

const FORMATS: Readonly<Record<string, (text: string) => unknown>> = {
  'user-data': load,
  'meta-data': load,
  'vendor-data': load,
  'network-config': load,
  'config.ign': JSON.parse,
  'preseed.cfg': (text) => text.split('\n').map((line) => line.split(' ', 3)),
  'ks.cfg': (text) => kickstartWords(text).map((words) => words[0]),
};

const RENDERERS: readonly (readonly [name: string, render: (subject: Subject) => RenderedFile[]])[] = [
  ['cloud-init', ({ plan, extras }) => renderCloudInit(plan, extras, TEMPLATES)],
  ['autoinstall', ({ plan, extras }) => renderAutoinstall(plan, extras, TEMPLATES)],
  ['preseed', ({ plan, extras }) => renderPreseed(plan, extras, TEMPLATES)],
  ['kickstart', ({ plan, extras }) => renderKickstart(plan, extras, TEMPLATES)],
  ['ignition', ({ plan, extras }) => renderIgnition(plan, extras, TEMPLATES)],
];

/** The structure without the texts: the keys, and the length of each list. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.entries(value).map(([key, inner]) => [key, shape(inner)]);
}

const shapes = (files: readonly RenderedFile[]): unknown =>
  files.flatMap(({ path, text }) => {
    const read = FORMATS[path];
    return read === undefined
      ? []
      : [[path, path === 'preseed.cfg' || path === 'ks.cfg' ? read(text) : shape(read(text))]];
  });

/** Link names are themselves keys, and some installers omit values that equal their default. */
const KEYS_OF_THEIR_OWN = ['links[0].name', 'locale', 'keyboard'];

describe.each(RENDERERS)('%s', (_name, render) => {
  describe.each(PLACES)('with any value in %s', (place, put, fine) => {
    const expected = shapes(render(put(fine)));

    const holds = (value: string): void => {
      let files: RenderedFile[];
      try {
        files = render(put(value));
      } catch (error) {
        // The only allowed error is a rejection that names the field.
        expect(error).toBeInstanceOf(ColdironError);
        expect((error as ColdironError).details.join('\n')).toContain(place);
        return;
      }
      if (!KEYS_OF_THEIR_OWN.includes(place)) expect(shapes(files)).toEqual(expected);
    };

    it('handles values that are known to do harm', () => {
      for (const value of HOSTILE) holds(value);
    });

    it('handles arbitrary values', () => {
      fc.assert(
        fc.property(
          fc.oneof(
            fc.string({ unit: 'binary' }),
            fc.string(),
            fc.string({ unit: fc.constantFrom(...'\n\r\t \'"$\\%#:-[]{}!&*|>`;') }),
          ),
          holds,
        ),
        { numRuns: 30 },
      );
    });
  });
});

describe('a script of a site or a node', () => {
  const anyScript = fc
    .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'grapheme' })), { maxLength: 6 })
    .map((parts) => `#!/bin/sh\n${parts.join('\n')}`)
    .filter((text) => text.isWellFormed() && !text.includes('\0'));

  it('is in the vendor-data unchanged', () => {
    fc.assert(
      fc.property(anyScript, (script) => {
        const [, , vendor] = renderCloudInit({ ...BASE.plan, siteBootstrap: { ...SITE, script } }, MAAS, TEMPLATES);
        const [part] = load(vendor?.text ?? '') as { content: string }[];
        expect(part?.content).toContain(`'${script.replaceAll("'", "'\\''")}'`);
      }),
    );
  });

  it('is in an Ignition file unchanged', () => {
    fc.assert(
      fc.property(anyScript, (script) => {
        const [file] = renderIgnition(BASE.plan, { ...MAAS, nodeParts: [{ ...AGENT, script }] }, TEMPLATES);
        const { files } = JSON.parse(file?.text ?? '').storage as {
          files: { path: string; contents: { source: string } }[];
        };
        const part = files.find(({ path }) => path.includes('20-node'));
        const text = decodeURIComponent(part?.contents.source.slice('data:,'.length) ?? '');
        expect(text).toContain(`'${script.replaceAll("'", "'\\''")}'`);
      }),
    );
  });

  it('never ends a kickstart section early', () => {
    fc.assert(
      fc.property(anyScript, (script) => {
        const [file] = renderKickstart({ ...BASE.plan, siteBootstrap: { ...SITE, script } }, MAAS, TEMPLATES);
        expect(file?.text.match(/^%.*$/gm)).toEqual(['%packages', '%end', '%post --erroronfail', '%end']);
      }),
    );
  });
});
