// The rendered files, read by the programs that use them: BIND, the C library, Ansible and Prometheus.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExampleDocument, named } from '../../render/plan-rack.ts';
import { siteFiles } from '../../render/site/site-fixture.ts';
import { needPackages } from '../packages.ts';

/** Labels that YAML or Ansible would interpret. */
const LABELS = {
  on: 'yes',
  '12': '1:30',
  null: '~',
  template: "{{ lookup('pipe', 'id') }}",
  block: '{% set x = 1 %}',
  octal: '012',
  date: '2001-01-01',
  quote: `'"\\`,
  'rack/unit': '- a: b',
};

const WIDE = (document: ExampleDocument): void => {
  document.networks.push(
    { name: 'wide', prefix: '172.16.0.0/12', domain: 'wide.example.com' },
    { name: 'narrow', prefix: '10.9.9.64/26' },
    { name: 'other', prefix: '10.9.9.128/25', domain: 'other.test' },
  );
  const node = named(document.nodes, 'node05');
  node.labels = LABELS;
  node.interfaces.push(
    { name: 'eth2', network: 'wide', address: '172.17.3.4' },
    { name: 'eth3', network: 'narrow', address: '10.9.9.70' },
    { name: 'eth4', network: 'other', address: '10.9.9.200' },
  );
};

const folder = mkdtempSync(join(tmpdir(), 'coldiron-site-'));
const files = siteFiles(WIDE);
const at = (path: string): string => join(folder, path);

function outcome(program: string, ...args: string[]) {
  const env = { ...process.env, LC_ALL: 'C.UTF-8', HOME: folder, ANSIBLE_LOCALHOST_WARNING: 'false' };
  return spawnSync(program, args, { encoding: 'utf8', cwd: folder, env });
}

function run(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = outcome(program, ...args);
  expect(status, `${program} ${args.join(' ')}: ${stdout}${stderr}`).toBe(0);
  expect(stderr, `${program} ${args.join(' ')}`).toBe('');
  return stdout;
}

beforeAll(() => {
  needPackages(['bind9-utils', 'ansible-core', 'prometheus']);
  for (const { path, text, mode } of files) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text, { mode });
  }
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('BIND', () => {
  const zones = files.filter(({ path }) => path.startsWith('dns/')).map(({ path }) => path);

  it('gets the expected zones', () => {
    expect(zones).toEqual([
      'dns/example.com.zone',
      'dns/other.test.zone',
      'dns/10.0.10.in-addr.arpa.zone',
      'dns/100.0.10.in-addr.arpa.zone',
      'dns/17.172.in-addr.arpa.zone',
      'dns/200.0.10.in-addr.arpa.zone',
      'dns/9.9.10.in-addr.arpa.zone',
    ]);
  });

  it.each(zones)('loads %s without a warning', (path) => {
    const origin = path.slice('dns/'.length, -'.zone'.length);
    // Every check that it has, as errors.
    const strict = ['-k', 'fail', '-n', 'fail', '-m', 'fail', '-r', 'fail', '-S', 'fail', '-M', 'fail'];
    expect(run('named-checkzone', '-i', 'local', ...strict, origin, at(path))).toBe(
      `zone ${origin}/IN: loaded serial 7\nOK\n`,
    );
  });

  it('resolves each name to its address, and each address to its name', () => {
    const dumped = (origin: string) =>
      run('named-checkzone', '-i', 'local', '-q', '-D', '-o', '-', origin, at(`dns/${origin}.zone`))
        .split('\n')
        .map((line) => line.split(/\s+/));
    const forward = new Map(
      dumped('example.com').flatMap(([name = '', , , type, value = '']) => (type === 'A' ? [[name, value]] : [])),
    );
    expect(forward.get('node05.narrow.example.com.')).toBe('10.9.9.70');
    const pointers = ['200.0.10', '100.0.10', '10.0.10', '17.172', '9.9.10'].flatMap((network) =>
      dumped(`${network}.in-addr.arpa`).flatMap(([name = '', , , type, value = '']) =>
        type === 'PTR' ? [{ name, value }] : [],
      ),
    );
    expect(pointers).toHaveLength(19);
    for (const { name, value } of pointers) {
      const address = name.replace('.in-addr.arpa.', '').split('.').reverse().join('.');
      if (value !== 'node05.other.test.') expect(forward.get(value), name).toBe(address);
    }
  });
});

describe('Ansible', () => {
  interface Listed {
    readonly _meta: { readonly hostvars: Readonly<Record<string, Readonly<Record<string, unknown>>>> };
    readonly [group: string]: unknown;
  }
  const listed = () => JSON.parse(run('ansible-inventory', '-i', at('ansible/inventory.yaml'), '--list')) as Listed;

  it('finds every node in its groups, and how to reach it', () => {
    const inventory = listed();
    expect(inventory.cluster_prod_cluster).toEqual({ hosts: ['node01', 'node02', 'node03', 'node04'] });
    expect(inventory.role_control_plane).toEqual({ hosts: ['node01', 'node02', 'node03'] });
    expect(inventory.profile_debian_12).toEqual({ hosts: ['node05'] });
    expect(inventory.site_example).toEqual({ hosts: ['node01', 'node02', 'node03', 'node04', 'node05'] });
    expect(inventory._meta.hostvars.node01).toEqual({
      ansible_host: '10.0.200.10',
      ansible_user: 'ada',
      coldiron_fqdn: 'node01.example.com',
      coldiron_architecture: 'x86_64',
      coldiron_region: 'region-1',
      coldiron_bmc_address: '10.0.10.50',
      coldiron_labels: { rack: 'r1', unit: '1' },
    });
  });

  it('reads labels as text, and evaluates none of them', () => {
    const labels = listed()._meta.hostvars.node05?.coldiron_labels as Record<string, unknown>;
    const unsafe = (text: string) => ({ __ansible_unsafe: text });
    expect(labels).toEqual({ ...LABELS, template: unsafe(LABELS.template), block: unsafe(LABELS.block) });
    const play = ['-i', at('ansible/inventory.yaml'), 'node05', '-c', 'local', '-m', 'debug'];
    const shown = run('ansible', ...play, '-a', 'msg={{ coldiron_labels.template }}');
    expect(shown).toContain("{{ lookup('pipe', 'id') }}");
    expect(shown).not.toContain('uid=');
  });
});

describe('Prometheus', () => {
  const check = (targets: string) => {
    const config = { scrape_configs: [{ job_name: 'site', file_sd_configs: [{ files: [targets] }] }] };
    writeFileSync(at('prometheus.yml'), JSON.stringify(config));
    return outcome('promtool', 'check', 'config', at('prometheus.yml'));
  };

  it.each(['nodes', 'services'])('accepts the targets of %s', (name) => {
    const { status, stdout, stderr } = check(at(`prometheus/${name}.json`));
    expect(stderr).toBe('');
    expect(stdout).toContain('SUCCESS');
    expect(status).toBe(0);
  });

  it('rejects a label of another form, so our generated names are valid', () => {
    const groups = files.find(({ path }) => path === 'prometheus/nodes.json')?.text ?? '';
    expect(groups).toContain('"label_rack_unit": "- a: b"');
    writeFileSync(at('unfit.json'), groups.replace('label_rack_unit', 'rack/unit'));
    const { status, stderr } = check(at('unfit.json'));
    expect(status).not.toBe(0);
    expect(stderr).toContain('rack/unit');
  });
});
