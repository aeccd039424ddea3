// `coldiron render` as a user runs it, and the tools that read its folders.

import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needPackages } from '../interop/packages.ts';
import { LOOPBACK_SITE, ROOT, ServingProcess, SiteFolder } from './appliance.ts';

const EXAMPLE = readFileSync(join(ROOT, 'inventory/example.yaml'), 'utf8');

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
const contentOf = (folder: string): string[] =>
  filesBelow(folder).map((file) => `${file.slice(folder.length)} ${statSync(file).mode} ${readFileSync(file, 'utf8')}`);
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);
const run = (command: string, ...args: string[]): SpawnSyncReturns<string> =>
  spawnSync(command, args, { encoding: 'utf8' });

describe('without an appliance', () => {
  let site: SiteFolder;
  beforeAll(() => {
    site = new SiteFolder(LOOPBACK_SITE);
    site.write('lab.yaml', EXAMPLE);
    expect(site.run('render', '--site', 'one', '-i', 'lab.yaml').status).toBe(0);
  });
  afterAll(() => site.remove());
  const at = (path: string): string => join(site.path, path);
  const render = (...args: string[]) => site.run('render', ...args, '--inventory', 'lab.yaml');

  it('writes a node, and reports what is missing', () => {
    const done = render('node01', 'node01');
    expect(done, done.stderr).toMatchObject({ status: 0, stderr: '' });
    expect(done.stdout).toMatch(/^Wrote \d+ files to node01 \(inventory revision 0\)\.\nLeft out: the key/);
    expect(modeOf(at('node01/extra-files/etc/nixos/secrets'))).toBe('700');
    expect(modeOf(at('node01/extra-files/etc/nixos/secrets/cluster-config.json'))).toBe('600');
  });

  it('writes the same bytes in two runs, also over each other', () => {
    render('--site', 'two');
    expect(contentOf(at('two'))).toEqual(contentOf(at('one')));
    expect(render('--site', 'two').status).toBe(0);
    expect(contentOf(at('two'))).toEqual(contentOf(at('one')));
  });

  it('prints the rendering without a folder, and as JSON with --json', () => {
    expect(render('node05').stdout).toContain('==> user-data (0644) <==\n#cloud-config\n');
    const rendered = JSON.parse(render('node05', '--json').stdout);
    expect(rendered).toMatchObject({ node: 'node05', kind: 'cloud-image', inventory_revision: 0 });
    expect(rendered.files).toHaveLength(4);
  });

  it('writes Nix files that Nix parses, and a flake that it evaluates', () => {
    needPackages(['nix-bin']);
    const nix = filesBelow(at('one')).filter((file) => file.endsWith('.nix'));
    expect(nix.length).toBeGreaterThan(20);
    const parsed = run('nix-instantiate', '--store', 'dummy://', '--parse', ...nix);
    expect(parsed.status, parsed.stderr).toBe(0);
    const names = run(
      ...(['nix-instantiate', '--store', 'dummy://', '--readonly-mode', '--eval', '--strict', '--json', '-E'] as const),
      `let flake = import ${at('one/flake.nix')};
         made = { nixpkgs.lib.nixosSystem = { modules }: map toString modules;
                  disko.nixosModules.disko = "disko"; };
         outputs = flake.outputs (made // { self = outputs; });
       in outputs.nixosConfigurations`,
    );
    expect(names.status, names.stderr).toBe(0);
    expect(Object.keys(JSON.parse(names.stdout))).toEqual(['node01', 'node02', 'node03', 'node04']);
  });

  it('writes scripts that a shell parses', () => {
    const scripts = filesBelow(at('one')).filter((file) => file.endsWith('.sh'));
    expect(scripts.length).toBeGreaterThan(4);
    for (const script of scripts) expect(run('bash', '-n', script)).toMatchObject({ status: 0, stderr: '' });
  });

  it.each([
    [['nobody', 'x'], 4, 'no node is called nobody'],
    [['node01', '--diff'], 2, 'it does not work offline'],
    [['--site', 'x', 'y'], 2, 'takes one folder and no --diff'],
    [['--site', 'x', '--at', 'mars'], 4, 'there is no site mars'],
    [['node01', 'lab.yaml/x'], 5, 'a part of its path is a file'],
  ] as const)('render %j exits with %i', (args, status, words) => {
    const done = render(...args);
    expect(done.stderr).toContain(words);
    expect(done.status).toBe(status);
  });

  it('leaves a read-only folder unchanged, and says why', () => {
    const done = run(
      'unshare',
      ...[
        '--mount',
        '--',
        'sh',
        '-c',
        'mount -t tmpfs -o ro none "$1" && cd "$2" && "$3" render node01 "$1/x" -i lab.yaml',
      ],
      ...['sh', at('node01'), site.path, join(ROOT, 'coldiron')],
    );
    expect(done.stderr).toContain('it is on a read-only file system');
    expect(done.status).toBe(5);
  });

  it('keeps a hostile inventory value one value, or rejects it by name', () => {
    const evil = `"; rm -rf /; \${builtins.abort "x"} '' #`;
    site.write(
      'evil.yaml',
      EXAMPLE.replace('labels: { rack: r1, unit: "5" }', `labels: { rack: ${JSON.stringify(evil)} }`),
    );
    expect(site.run('render', '--site', 'evil', '-i', 'evil.yaml').status).toBe(0);
    site.write('worse.yaml', EXAMPLE.replace('timezone: Europe/Berlin', `timezone: ${JSON.stringify(evil)}`));
    const refused = site.run('render', 'node01', 'worse', '-i', 'worse.yaml');
    expect(refused.status).toBe(3);
    expect(refused.stderr).toMatch(/time.?zone/i);
  });

  it("tries the operator's templates on every node, and reports every problem with its place", () => {
    const own = 'own/site/hosts.hosts.hbs';
    spawnSync('mkdir', ['-p', at('own/site')]);
    writeFileSync(at(own), '# mine\n{{#each hosts}}\n{{address}} {{nickname}}\n{{/each}}\n');
    for (const args of [['check'], ['render', 'node01', 'with']]) {
      const done = site.run(...args, '--templates', 'own', '-i', 'lab.yaml');
      expect(done.status).toBe(3);
      expect(done.stderr).toContain('template site/hosts.hosts, line 3: nickname is missing (for site example)');
    }
    writeFileSync(at(own), '# mine\n{{#each hosts}}\n{{address}}{{#each names}} {{this}}{{/each}}\n{{/each}}\n');
    expect(site.run('render', '--site', 'mine', '--templates', 'own', '-i', 'lab.yaml').status).toBe(0);
    expect(readFileSync(at('mine/hosts'), 'utf8')).toContain('# mine\n10.0.200.10 node01.example.com node01\n');
  });
});

describe('with an appliance', () => {
  let site: SiteFolder;
  let serving: ServingProcess;
  beforeAll(async () => {
    site = new SiteFolder(`${LOOPBACK_SITE}templates: own\n`);
    spawnSync('mkdir', ['-p', join(site.path, 'own')]);
    site.write('lab.yaml', EXAMPLE);
    serving = await new ServingProcess(site.path).up();
    expect(site.run('apply', 'lab.yaml').status).toBe(0);
  });
  afterAll(async () => {
    await serving.end('SIGKILL');
    site.remove();
  });
  const at = (path: string): string => join(site.path, path);
  const SECRETS = 'node01/extra-files/etc/nixos/secrets';

  it("issues a node's key with private file modes, and a certificate that fits it", () => {
    const done = site.run('render', 'node01', 'node01');
    expect(done, done.stderr).toMatchObject({ status: 0, stderr: '' });
    expect(done.stdout).toContain('1 of them secret');
    expect(
      ['', '/node01-key.pem', '/node01-cert.pem', '/ca-cert.pem'].map((path) => modeOf(at(SECRETS + path))),
    ).toEqual(['700', '600', '644', '644']);
    const verified = run(
      'openssl',
      'verify',
      '-CAfile',
      at(`${SECRETS}/ca-cert.pem`),
      at(`${SECRETS}/node01-cert.pem`),
    );
    expect(verified.stdout).toContain(': OK');
    const key = run('openssl', 'pkey', '-in', at(`${SECRETS}/node01-key.pem`), '-pubout').stdout;
    expect(run('openssl', 'x509', '-in', at(`${SECRETS}/node01-cert.pem`), '-noout', '-pubkey').stdout).toBe(key);
    const inStore = filesBelow(at('node01/flake')).filter((file) => readFileSync(file, 'utf8').includes('PRIVATE KEY'));
    expect(inStore).toEqual([]);
    expect(site.run('audit', 'list').stdout).toContain('rendering.secrets-handed-over');
  });

  it('omits keys on request, and creates none', () => {
    const issued = (): number => site.run('audit', 'list', '--limit', '500').stdout.split('certificate.issued').length;
    const before = issued();
    expect(site.run('render', 'node02', 'node02', '--no-secrets').stdout).toContain('Left out: the key');
    expect(issued()).toBe(before);
  });

  it('shows an edit before and after, for the affected nodes', () => {
    expect(site.run('render', 'node01', '--diff').stdout).toContain('Nothing has changed for node01');
    site.write('lab.yaml', EXAMPLE.replace('timezone: Europe/Berlin', 'timezone: Europe/Rome'));
    const dry = site.run('apply', 'lab.yaml', '--dry-run').stdout;
    expect(dry).toContain('~ rendering of node01\n    nodes/node01.example.com/configuration.nix changed (+1 -1)\n');
    expect(dry).toContain('5 nodes would receive changed files.');
    const text = site.run('apply', 'lab.yaml', '--dry-run', '--diff').stdout;
    expect(text).toContain('-  time.timeZone = "Europe/Berlin";\n+  time.timeZone = "Europe/Rome";\n');
    expect(site.run('apply', 'lab.yaml').status).toBe(0);
    expect(site.run('render', 'node01', '--diff').stdout).toContain('+  time.timeZone = "Europe/Rome";\n');
    expect(site.run('render', 'node05', '--diff').stdout).toContain('node05 has not received any files yet');
  });

  it('renders the same site as without an appliance, except for values that only an appliance has', () => {
    expect(site.run('render', '--site', 'online').status).toBe(0);
    expect(site.run('render', '--site', 'offline', '-i', 'lab.yaml').status).toBe(0);
    const differing = filesBelow(at('online')).filter(
      (file) => readFileSync(file, 'utf8') !== readFileSync(file.replace('/online/', '/offline/'), 'utf8'),
    );
    const names = differing.map((file) => file.slice(at('online/').length));
    // The revision, the serial numbers derived from it, the port of the node API, and machine ids.
    expect(
      names.filter(
        (name) =>
          !/^(coldiron-rendering\.json|dns\/.*|firewall\/appliance\..*|nodes\/.*\/(hardware\.nix|meta-data))$/.test(
            name,
          ),
      ),
    ).toEqual([]);
  });

  it('rejects templates that do not render when it starts, and starts nevertheless', async () => {
    spawnSync('mkdir', ['-p', at('own/site')]);
    writeFileSync(at('own/site/hosts.hosts.hbs'), '{{nothing}}\n');
    await serving.end('SIGTERM');
    serving = await new ServingProcess(site.path).up();
    expect(serving.stderr).toContain('the templates of the site are rejected; the last valid ones stay in use');
    expect(serving.stderr).toContain('template site/hosts.hosts, line 1: nothing is missing');
    expect(site.run('render', '--site', 'still').status).toBe(0);
    const checked = site.run('check');
    expect(checked.status).toBe(3);
    expect(checked.stderr).toContain('template site/hosts.hosts, line 1: nothing is missing');
  });
});
