import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../appliance/assets/template-files.ts';
import { openTemplateSet } from '../../appliance/deliveries/template-set.ts';
import { indexOf } from '../render/plan-rack.ts';

let place: string;
let lines: { level: string; about: object; message: string }[];

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'coldiron-templates-'));
  mkdirSync(join(place, 'own'));
  lines = [];
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const put = (name: string, text: string): void => {
  const file = join(place, 'own', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};
const log = (level: string) => (about: object, message: string) => void lines.push({ level, about, message });
const open = (folder: string | null = join(place, 'own')) =>
  openTemplateSet({
    folder,
    state: join(place, 'state'),
    index: () => indexOf(),
    log: { info: log('info'), error: log('error') },
  });

const HOSTS = 'site/hosts.hosts';
const hostsOf = (templates: { render(name: string, values: object): string }): string =>
  templates.render(HOSTS, { hosts: [{ address: '10.0.0.1', names: ['node01'] }] });
const GOOD = '# ours\n{{#each hosts}}\n{{address}}{{#each names}} {{this}}{{/each}}\n{{/each}}\n';
const system = readTemplateFiles(BUILT_IN_TEMPLATES).get('nixos/system.nix') ?? '';

describe("an operator's templates", () => {
  it('replace ours by name; all others stay', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    const set = await open();
    expect(hostsOf(set)).toBe('# ours\n10.0.0.1 node01\n');
    expect(set.overridden).toBe(1);
    expect(
      set.render('site/reverse.zone', {
        serial: 1,
        primary: 'a.',
        contact: 'b.',
        nameservers: [],
        origin: 'c.',
        records: [],
      }),
    ).toContain('SOA');
  });

  it('are not read if the site file names no folder', async () => {
    const set = await open(null);
    expect(hostsOf(set)).toContain('localhost');
    expect(await set.reload()).toEqual([]);
  });

  it('with an error are rejected with template, line, field and node, and the last valid ones stay in use', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    const set = await open();
    put(
      'nixos/system.nix.hbs',
      system.replace('nixpkgs.lib.nixosSystem {', 'nixpkgs.lib.nixosSystem {\n  # {{shown rack.row}}'),
    );
    const findings = await set.reload();
    expect(findings).toEqual([
      {
        message: expect.stringMatching(
          /^template nixos\/system\.nix, line 4: rack\.row is missing \(for node01, node02, node03, node04\)$/,
        ),
        nodes: ['node01', 'node02', 'node03', 'node04'],
      },
    ]);
    expect(hostsOf(set)).toBe('# ours\n10.0.0.1 node01\n');
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      message: 'the templates of the site are rejected; the last valid ones stay in use',
    });
  });

  it('are valid again once they are corrected, and are not tested again while nothing changes', async () => {
    put('site/hosts.hosts.hbs', '{{nothing}}\n');
    const set = await open();
    expect(hostsOf(set)).toContain('localhost');
    const logged = lines.length;
    expect(await set.reload()).toHaveLength(1);
    expect(lines).toHaveLength(logged);
    put('site/hosts.hosts.hbs', GOOD);
    expect(await set.reload()).toEqual([]);
    expect(hostsOf(set)).toContain('# ours');
  });

  it('that were valid before a restart are used when the current ones are not', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    await open();
    put('site/hosts.hosts.hbs', '{{#if}}');
    expect(hostsOf(await open())).toBe('# ours\n10.0.0.1 node01\n');
  });

  it('that cannot be compiled after a restart are replaced by ours', async () => {
    mkdirSync(join(place, 'state'));
    writeFileSync(join(place, 'state/templates-in-force.json'), '[["site/hosts.hosts","{{{x}}}"]]');
    put('site/hosts.hosts.hbs', '{{#if}}');
    expect(hostsOf(await open())).toContain('localhost');
  });

  it.each([
    ['ipxe/menu.ipxe.hbs', 'x\n', 'is not a replaceable template'],
    ['bundle/install-node-agent.sh.hbs', 'x\n', 'is not a replaceable template'],
    ['nixos/configuration.nix', 'x\n', 'is not a replaceable template'],
    ['nixos/mine.nix.hbs', '{ }\n', 'replaces no template'],
    ['site/hosts.hosts.hbs', '{{{address}}}\n', 'cannot bypass its format'],
  ])('called %s are rejected for their contents: %j', async (name, text, why) => {
    put(name, text);
    const set = await open();
    const [finding] = await set.reload();
    expect(finding?.message).toContain(name.replace(/\.hbs$/, ''));
    expect(finding?.message).toContain(why);
    expect(set.overridden).toBe(0);
  });

  it('are never read through a link, which could lead to a secret', async () => {
    mkdirSync(join(place, 'own/site'));
    symlinkSync('/etc/shadow', join(place, 'own/site/hosts.hosts.hbs'));
    const set = await open();
    expect(await set.reload()).toEqual([{ message: expect.stringContaining('is not a file'), nodes: [] }]);
  });

  it('in a missing folder are a problem and not fatal', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    const set = await open();
    rmSync(join(place, 'own'), { recursive: true });
    expect(await set.reload()).toEqual([{ message: expect.stringContaining('cannot be read'), nodes: [] }]);
    expect(hostsOf(set)).toContain('# ours');
  });
});
