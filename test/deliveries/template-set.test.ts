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
  it('take the place of ours by their name; all others stay', async () => {
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

  it('are not looked for where the site file names none', async () => {
    const set = await open(null);
    expect(hostsOf(set)).toContain('localhost');
    expect(await set.look()).toEqual([]);
  });

  it('with a mistake are refused with template, line, field and node, and the last good ones stay', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    const set = await open();
    put(
      'nixos/system.nix.hbs',
      system.replace('nixpkgs.lib.nixosSystem {', 'nixpkgs.lib.nixosSystem {\n  # {{shown rack.row}}'),
    );
    const findings = await set.look();
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
      message: 'the templates of the site are refused; the last good ones stay in force',
    });
  });

  it('are good again once they are corrected, and are not tried again while nothing changes', async () => {
    put('site/hosts.hosts.hbs', '{{nothing}}\n');
    const set = await open();
    expect(hostsOf(set)).toContain('localhost');
    const told = lines.length;
    expect(await set.look()).toHaveLength(1);
    expect(lines).toHaveLength(told);
    put('site/hosts.hosts.hbs', GOOD);
    expect(await set.look()).toEqual([]);
    expect(hostsOf(set)).toContain('# ours');
  });

  it('that were good before a restart are used when those of now are not', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    await open();
    put('site/hosts.hosts.hbs', '{{#if}}');
    expect(hostsOf(await open())).toBe('# ours\n10.0.0.1 node01\n');
  });

  it('that a restart cannot use any more give way to ours', async () => {
    mkdirSync(join(place, 'state'));
    writeFileSync(join(place, 'state/templates-in-force.json'), '[["site/hosts.hosts","{{{x}}}"]]');
    put('site/hosts.hosts.hbs', '{{#if}}');
    expect(hostsOf(await open())).toContain('localhost');
  });

  it.each([
    ['ipxe/menu.ipxe.hbs', 'x\n', 'is no template that can be replaced'],
    ['bundle/install-node-agent.sh.hbs', 'x\n', 'is no template that can be replaced'],
    ['nixos/configuration.nix', 'x\n', 'is no template that can be replaced'],
    ['nixos/mine.nix.hbs', '{ }\n', 'takes the place of no template'],
    ['site/hosts.hosts.hbs', '{{{address}}}\n', 'cannot leave out its format'],
  ])('called %s are refused for what they say: %j', async (name, text, why) => {
    put(name, text);
    const set = await open();
    const [finding] = await set.look();
    expect(finding?.message).toContain(name.replace(/\.hbs$/, ''));
    expect(finding?.message).toContain(why);
    expect(set.overridden).toBe(0);
  });

  it('never come through a link: it could lead to a secret', async () => {
    mkdirSync(join(place, 'own/site'));
    symlinkSync('/etc/shadow', join(place, 'own/site/hosts.hosts.hbs'));
    const set = await open();
    expect(await set.look()).toEqual([{ message: expect.stringContaining('is not a file'), nodes: [] }]);
  });

  it('in a folder that is gone are a problem, not an end', async () => {
    put('site/hosts.hosts.hbs', GOOD);
    const set = await open();
    rmSync(join(place, 'own'), { recursive: true });
    expect(await set.look()).toEqual([{ message: expect.stringContaining('cannot be read'), nodes: [] }]);
    expect(hostsOf(set)).toContain('# ours');
  });
});
