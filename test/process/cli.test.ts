import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { coldiron, LOOPBACK_SITE, ROOT, ServingProcess, SiteFolder } from './appliance.ts';

const EXAMPLE = join(ROOT, 'inventory/example.yaml');

describe('without an appliance', () => {
  it('check accepts the example', () => {
    const run = coldiron(['check', '--inventory', 'inventory/example.yaml']);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toContain('5 nodes');
  });

  it.each([
    ['7', 'snponly.efi'],
    ['0', 'undionly.kpxe'],
  ])('explain --arch %s names %s, the script, the local disk, and a because at each stage', (arch, loader) => {
    const run = coldiron([
      'explain',
      '52:54:00:12:34:56',
      '--arch',
      arch,
      '--inventory',
      'inventory/example.yaml',
      '--json',
    ]);
    expect(run.status, run.stderr).toBe(0);
    const explained = JSON.parse(run.stdout);
    const stage = (name: string) => explained.stages.find((candidate: { stage: string }) => candidate.stage === name);
    expect(stage('firmware').file).toBe(loader);
    expect(stage('ipxe').url).toBe('http://10.0.100.10:8080/boot/ipxe/boot.ipxe');
    expect(explained.outcome).toEqual({ kind: 'local-disk' });
    for (const each of explained.stages)
      expect(each.because).toMatchObject({
        id: expect.stringMatching(/^[a-z-]+$/),
        words: expect.stringMatching(/\w+/),
      });
  });

  it('explain --as deploying shows an armed installation and says that it is assumed', () => {
    const asked = ['explain', 'node01', '--as', 'deploying', '-i', EXAMPLE];
    const armed = coldiron(asked);
    expect(armed.stdout).toMatch(/outcome +installer of/);
    expect(armed.stdout.replaceAll(/\s+/g, ' ')).toMatch(/note As if a deployment of profile \S+ were armed for it/);
    expect(armed.stdout.replaceAll(/\s+/g, ' ')).toContain('note Offline: assumes');
    expect(JSON.parse(coldiron([...asked, '--not-armed', '--json']).stdout).outcome).toEqual({ kind: 'local-disk' });
  });

  it('says that no appliance runs, and what to type', () => {
    const empty = new SiteFolder(LOOPBACK_SITE);
    try {
      const run = empty.run('nodes', 'list');
      expect(run.status).toBe(7);
      expect(run.stderr).toContain('no appliance is running');
      expect(run.stderr).toContain('coldiron serve');
    } finally {
      empty.remove();
    }
  });

  it.each([
    [['check', '-i', 'nowhere.yaml'], 3, 'nowhere.yaml'],
    [['check', '-i', 'package.json'], 3, 'package.json: name: '],
    [['explain', 'nobody', '-i', 'inventory/example.yaml'], 4, 'no node is called nobody'],
    [
      ['explain', 'node01', '--arch', '99', '-i', 'inventory/example.yaml'],
      2,
      'not a client architecture in the IANA registry: 99',
    ],
    [['explain', 'node01', '--as', 'happy', '-i', 'inventory/example.yaml'], 2, 'Allowed choices are discovered'],
    [['frobnicate'], 2, "unknown command 'frobnicate'"],
    [['serve', '--config', 'nowhere.yaml'], 3, 'the site file nowhere.yaml does not exist'],
    [['nodes', 'list', '--server', 'http://127.0.0.1:9'], 6, 'needs a token'],
  ] as const)('%j exits with %i', (args, status, words) => {
    const run = coldiron(args);
    expect(run.stderr).toContain(words);
    expect(run.status).toBe(status);
  });

  it('prints failures as JSON with --json', () => {
    const run = coldiron(['explain', 'nobody', '-i', 'inventory/example.yaml', '--json']);
    expect(run.status).toBe(4);
    expect(JSON.parse(run.stdout)).toMatchObject({ code: 'not_found' });
  });

  it('runs through a symbolic link and from any folder', () => {
    const folder = new SiteFolder(LOOPBACK_SITE);
    try {
      spawnSync('ln', ['-s', join(ROOT, 'coldiron'), join(folder.path, 'ci')]);
      const run = spawnSync(join(folder.path, 'ci'), ['--version'], { cwd: '/', encoding: 'utf8' });
      expect(run.stdout.trim()).toBe(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version);
    } finally {
      folder.remove();
    }
  });
});

describe('shell completion', () => {
  const bash = (script: string): string => spawnSync('bash', ['-c', script], { cwd: ROOT, encoding: 'utf8' }).stdout;
  const complete = (line: string): string[] =>
    bash(
      `source <(./coldiron completion bash); COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _coldiron; printf '%s\\n' "\${COMPREPLY[@]}"`,
    )
      .trim()
      .split('\n');

  it('includes verbs, sub-verbs and options, because it is generated from them', () => {
    expect(complete('coldiron exp')).toEqual(['explain', 'exports']);
    expect(complete('coldiron nodes ""')).toEqual(expect.arrayContaining(['list', 'show', 'add', 'accept', 'import']));
    expect(complete('coldiron nodes list --m')).toEqual(['--match']);
    expect(complete('coldiron apply --dr')).toEqual(['--dry-run']);
  });

  it.each(['bash', 'zsh', 'fish'])('%s gets a script', (shell) => {
    const run = coldiron(['completion', shell]);
    expect(run.status).toBe(0);
    expect(run.stdout).toContain('explain');
  });
});

describe('with an appliance', () => {
  let site: SiteFolder;
  let serving: ServingProcess;

  beforeAll(async () => {
    site = new SiteFolder(LOOPBACK_SITE);
    site.write('lab.yaml', readFileSync(EXAMPLE, 'utf8'));
    serving = await new ServingProcess(site.path).up();
  });
  afterAll(async () => {
    await serving.end('SIGKILL');
    site.remove();
  });

  const json = (...args: string[]) => {
    const run = site.run(...args, '--json');
    expect(run.status, run.stderr + run.stdout).toBe(0);
    return JSON.parse(run.stdout);
  };
  const changes = (answer: { changes: { change: string }[]; unchanged: number }): Record<string, number> => {
    const groups = Object.entries(Object.groupBy(answer.changes, ({ change }) => change));
    const counted = groups.map(([change, list]) => [change, list?.length ?? 0] as const);
    return Object.fromEntries([
      ...counted,
      ...(answer.unchanged > 0 ? [['unchanged', answer.unchanged] as const] : []),
    ]);
  };

  it('apply --dry-run shows what apply then does, and applying twice changes nothing', () => {
    const dry = json('apply', 'lab.yaml', '--dry-run');
    expect(changes(dry)).toEqual({ created: 16 });
    expect(json('nodes', 'list')).toEqual([]);
    const done = json('apply', 'lab.yaml');
    expect(changes(done)).toEqual({ created: 16 });
    expect(json('nodes', 'list')).toHaveLength(5);
    const again = json('apply', 'lab.yaml');
    expect(changes(again)).toEqual({ unchanged: 16 });
    expect(again.revision).toBe(done.revision);
  });

  it('an edit takes effect at once, and a node that left its file is removed', () => {
    const text = readFileSync(EXAMPLE, 'utf8');
    site.write('lab.yaml', text.replace('10.0.100.65', '10.0.100.66'));
    expect(changes(json('apply', 'lab.yaml'))).toEqual({ changed: 1, unchanged: 15 });
    expect(json('nodes', 'show', 'node05').interfaces[0].address).toBe('10.0.100.66');
    site.write('lab.yaml', text.slice(0, text.indexOf('  - name: node05')));
    expect(changes(json('apply', 'lab.yaml'))).toEqual({ removed: 1, unchanged: 15 });
    expect(json('nodes', 'list')).toHaveLength(4);
    site.write('lab.yaml', text);
    json('apply', 'lab.yaml');
  });

  it('a broken inventory changes nothing and lists every problem', () => {
    const before = json('apply', 'lab.yaml', '--dry-run').revision;
    site.write(
      'bad.yaml',
      readFileSync(EXAMPLE, 'utf8').replaceAll('sku: ', 'sku: no-').replace('52:54:00:12:34:57', '52:54:00:12:34:56'),
    );
    const run = site.run('apply', 'bad.yaml');
    expect(run.status).toBe(3);
    expect(run.stderr.split('\n').filter((line) => line.includes('bad.yaml: nodes[')).length).toBeGreaterThanOrEqual(6);
    expect(json('apply', 'lab.yaml', '--dry-run').revision).toBe(before);
  });

  it('nodes can be added by hand and imported from CSV, and apply leaves them alone', () => {
    const added = site.run(
      'nodes',
      'add',
      'spare1',
      '--mac',
      '52:54:00:99:00:01',
      '--network',
      'provisioning',
      '--sku',
      'worker-1u',
    );
    expect(added.status, added.stderr).toBe(0);
    site.write(
      'rack.csv',
      'name,mac,network,sku,address\nspare2,52:54:00:99:00:02,provisioning,worker-1u,10.0.100.72\n',
    );
    expect(changes(json('nodes', 'import', 'rack.csv'))).toEqual({ created: 1 });
    expect(changes(json('apply', 'lab.yaml'))).toEqual({ unchanged: 16 });
    expect(json('nodes', 'list', '--match', 'spare').map((node: { hostname: string }) => node.hostname)).toEqual([
      'spare1',
      'spare2',
    ]);
    expect(
      site.run(
        'nodes',
        'add',
        'spare3',
        '--mac',
        '52:54:00:99:00:02',
        '--network',
        'provisioning',
        '--sku',
        'worker-1u',
      ).status,
    ).not.toBe(0);
  });

  it('a node is retired, brought back, and removed only with its name or --yes', () => {
    const life = (...args: string[]) => json(...args)[0].state;
    expect(site.run('remove', 'node04', '--yes').status).toBe(5);
    expect(life('retire', 'node04', '--note', 'fan noise')).toBe('retired');
    expect(life('reactivate', 'node04')).toBe('registered');
    expect(life('quarantine', 'node04')).toBe('quarantined');
    expect(life('clear-quarantine', 'node04')).toBe('registered');
    expect(life('retire', 'node04')).toBe('retired');
    expect(site.run('remove', 'node04').status).toBe(2);
    expect(life('remove', 'node04', '--yes')).toBe('removed');
    expect(site.run('nodes', 'show', 'node04').stdout).toMatch(/^state +removed since/m);
  });

  it('explain queries the running appliance, by MAC, name or id', () => {
    const { id } = json('nodes', 'show', 'node01');
    const explained = ['node01', '52:54:00:12:34:56', '52-54-00-12-34-56', id].map((name) =>
      json('explain', name, '--arch', '7'),
    );
    for (const each of explained) expect(each).toEqual(explained[0]);
    expect(site.run('explain', 'node01').stdout).toContain('outcome     local disk');
  });

  it('works the same over --server with a token file, and rejects a wrong token', () => {
    const server = new URL(serving.where('management')).origin;
    const args = ['nodes', 'list', '--json', '--server', server, '--token-file'];
    const token = join(site.state, 'admin-token');
    expect(site.run(...args, token).status).toBe(0);
    const wrong = site.write('wrong-token', `ci_0123456789ab_${'A'.repeat(43)}`);
    expect(site.run(...args, wrong).status).toBe(6);
  });

  it('output has colour on a terminal only', () => {
    const piped = site.run('nodes', 'list');
    expect(piped.stdout).not.toContain('\u001b');
    const terminal = spawnSync('script', ['-qec', `${join(ROOT, 'coldiron')} nodes list`, '/dev/null'], {
      cwd: site.path,
      encoding: 'utf8',
      env: { ...process.env, TERM: 'xterm', NO_COLOR: undefined },
    });
    expect(terminal.stdout).toContain('\u001b[1mNAME');
  });

  it('audit verify passes with a running and with a stopped appliance, and finds a tampered row', async () => {
    expect(site.run('audit', 'verify').stdout).toMatch(/^Intact: \d+ entries/);
    await serving.end('SIGTERM');
    expect(site.run('audit', 'verify').stdout).toMatch(/^Intact: \d+ entries/);
    const database = new BetterSqlite3(join(site.state, 'coldiron.db'));
    for (const { name } of database.prepare("select name from sqlite_master where type = 'trigger'").all() as {
      name: string;
    }[]) {
      database.exec(`drop trigger "${name}"`);
    }
    database.exec("update audit set actor = 'nobody' where seq = 3");
    database.close();
    const run = site.run('audit', 'verify');
    expect(run.status).toBe(8);
    expect(run.stderr).toContain('entry 3');
  });
});
