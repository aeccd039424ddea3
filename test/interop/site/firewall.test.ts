// The rendered firewalls in a kernel, with packets from members, from inside and from outside.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { named } from '../../render/plan-rack.ts';
import { siteFiles } from '../../render/site/site-fixture.ts';
import { Namespaces } from '../namespaces.ts';
import { needPackages } from '../packages.ts';
import { FIREWALL_PEER, type Knocks } from './firewall-peer.ts';

const PORTS: Knocks = {
  tcp: [22, 53, 2379, 2380, 2381, 2479, 2480, 5000, 8080, 8443, 9090, 9091, 9092, 10250],
  udp: [53, 67, 68, 69, 4011, 5000],
};

/** The site's own networks are inside, and one beyond its router. */
const FILES = siteFiles(({ sites }) => {
  named(sites, 'example').inside = ['10.0.0.0/16', '172.31.0.0/24'];
});
const fileNamed = (path: string) => {
  const found = FILES.find((file) => file.path === path);
  if (!found) throw new Error(`${path} was not rendered`);
  return found;
};

/** The sources of the knocks, and the address of the guarded machine that they try. */
const CLIENTS = {
  member: { device: 'to-member', here: '10.0.200.20', there: '10.0.200.10' },
  inside: { device: 'to-inside', here: '172.31.0.5', there: '172.31.0.1' },
  outside: { device: 'to-outside', here: '192.0.2.7', there: '192.0.2.1' },
} as const;

const namespaces = new Namespaces();
const folder = mkdtempSync(join(tmpdir(), 'coldiron-site-'));
const control = join(folder, 'control');
const peer = (...args: string[]) => [process.execPath, FIREWALL_PEER, ...args] as const;

async function run(program: string, ...args: string[]): Promise<string> {
  const { status, output } = await namespaces.run('guarded', program, ...args);
  expect(status, `${program} ${args.join(' ')}: ${output}`).toBe(0);
  return output;
}

async function reach(client: keyof typeof CLIENTS, ports = PORTS): Promise<Knocks> {
  const { there } = CLIENTS[client];
  const who = `${client} ${++knocks}`;
  const { status, output } = await namespaces.run(client, ...peer('knock', control, JSON.stringify(ports), who, there));
  expect(status, output).toBe(0);
  return JSON.parse(output) as Knocks;
}
let knocks = 0;

function written(path: string): string {
  const file = join(folder, path.replaceAll('/', '-'));
  writeFileSync(file, fileNamed(path).text, { mode: fileNamed(path).mode });
  return file;
}

beforeAll(async () => {
  needPackages(['nftables', 'iptables', 'iputils-ping', 'shellcheck']);
  namespaces.add('guarded', 'member', 'inside', 'outside');
  for (const [name, { device, here, there }] of Object.entries(CLIENTS)) {
    namespaces.connect(
      { namespace: 'guarded', device, address: `${there}/24` },
      { namespace: name, device: 'eth0', address: `${here}/24` },
    );
  }
  await namespaces.start('guarded', ...peer('listen', control, JSON.stringify(PORTS))).says(/listening/);
});
afterAll(async () => {
  await namespaces.remove();
  rmSync(folder, { recursive: true, force: true });
});

const ENGINES = [
  ['nft', async (path: string) => void (await run('nft', '-f', written(`${path}.nft`)))],
  ['sh', async (path: string) => void (await run('sh', written(`${path}.sh`)))],
] as const;

/** Removes all rules. */
const unguarded = () => run('nft', 'flush', 'ruleset');

/** Without the counters, and without nft's warnings about rules made by iptables. */
const ruleset = () => run('sh', '-c', 'nft --stateless list ruleset 2>/dev/null');

describe('without rules', () => {
  it('every port is reachable, so that a rule can make a difference', async () => {
    await unguarded();
    expect(await reach('outside')).toEqual(PORTS);
  });
});

describe.each(FILES.filter(({ path }) => path.startsWith('firewall/')).map(({ path }) => path))('%s', (path) => {
  it('is accepted by its program', async () => {
    const file = written(path);
    if (path.endsWith('.nft')) {
      await run('nft', '-c', '-f', file);
      return;
    }
    await run('sh', '-n', file);
    await run('bash', '-n', file);
    await run('shellcheck', '--norc', '--enable=all', '--exclude=SC2312', file);
  });
});

describe.each(ENGINES)('rules for %s', (_engine, guard) => {
  it('give cluster members every port of a control plane, insiders its services, others nothing', async () => {
    await unguarded();
    await guard('firewall/prod-cluster/control-plane');
    expect(await reach('member')).toEqual({ tcp: [22, 53, 2379, 2380, 2381, 2479, 2480, 8080], udp: [53, 68] });
    expect(await reach('inside')).toEqual({ tcp: [22, 53, 8080], udp: [53, 68] });
    expect(await reach('outside')).toEqual({ tcp: [], udp: [68] });
  });

  it('let insiders reach the services of a worker', async () => {
    await unguarded();
    await guard('firewall/prod-cluster/worker');
    expect(await reach('inside')).toEqual({ tcp: [22, 9090, 9091, 9092, 10250], udp: [68] });
    expect(await reach('outside')).toEqual({ tcp: [], udp: [68] });
  });

  it('let machines boot from the appliance, and insiders manage it', async () => {
    await unguarded();
    await guard('firewall/appliance');
    expect(await reach('inside')).toEqual({ tcp: [22, 8080, 8443], udp: [67, 68, 69, 4011] });
    expect(await reach('outside')).toEqual({ tcp: [], udp: [68] });
  });

  it('can be applied again, and one set replaces the other, without a gap in access', async () => {
    await unguarded();
    await guard('firewall/appliance');
    const rules = await ruleset();
    await guard('firewall/appliance');
    expect(await ruleset()).toBe(rules);
    await guard('firewall/prod-cluster/worker');
    expect((await reach('inside')).tcp).toEqual([22, 9090, 9091, 9092, 10250]);
  });

  it('do not change other rules', async () => {
    await unguarded();
    const own = join(folder, 'own.nft');
    writeFileSync(
      own,
      'table ip theirs {\n chain input {\n type filter hook input priority 10\n tcp dport 22 drop\n }\n}\n',
    );
    await run('nft', '-f', own);
    await guard('firewall/appliance');
    expect(await run('nft', 'list', 'table', 'ip', 'theirs')).toContain('tcp dport 22 drop');
    expect((await reach('inside')).tcp).toEqual([8080, 8443]);
  });
});
