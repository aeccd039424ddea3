// Attackers send a hundred thousand damaged packets and requests to every socket of a real appliance, while a machine boots from it.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { PE_MACHINE, peFile, put } from '../assets/tiny-files.ts';
import { INPUTS } from '../attack-tally.ts';
import { Lab } from '../interop/dhcp/lab.ts';
import type { Running } from '../interop/namespaces.ts';
import { needPackages } from '../interop/packages.ts';
import { ROOT } from '../process/appliance.ts';

const ATTACKER = join(import.meta.dirname, 'fuzz/attacker.ts');
const SERVER = '10.88.0.1';
const [BOOT, MANAGEMENT, NODE] = [8080, 8443, 8444];
const MAC = '52:54:00:88:00:01';
const RESERVED = '10.88.0.50';
const SEED = 0xf00d;
/** The management API is reachable from the appliance's own host only. */
const ATTACKS = [
  { from: 'attacker', what: 'dhcp', inputs: 0.5 * INPUTS.sockets, port: 67, at: SERVER },
  { from: 'attacker', what: 'tftp', inputs: 0.34 * INPUTS.sockets, port: 69, at: SERVER },
  { from: 'attacker', what: 'http', inputs: 0.08 * INPUTS.sockets, port: BOOT, at: SERVER },
  { from: 'attacker', what: 'tls', inputs: 0.04 * INPUTS.sockets, port: NODE, at: SERVER },
  { from: 'server', what: 'http', inputs: 0.04 * INPUTS.sockets, port: MANAGEMENT, at: '127.0.0.1' },
] as const;
/** Generous: a leak of a kilobyte for each input would be as much. */
const MOST_GROWTH_BYTES = 128 * 1024 * 1024;

const SITE = `listen: { boot: ${SERVER}:${BOOT}, management: 127.0.0.1:${MANAGEMENT}, node: ${SERVER}:${NODE} }
sites: [{ name: lab, bmc_mode: disabled }]
networks:
  - { name: lab, prefix: 10.88.0.0/24, server: ${SERVER}, interface: s1, dhcp: authoritative, unknown: inspect, pools: [{ from: 10.88.0.100, to: 10.88.0.199 }] }
skus: [{ name: gp1, architecture: x86_64 }]
nodes:
  - { name: node01, sku: gp1, interfaces: [{ name: eth0, mac: "${MAC}", network: lab, address: ${RESERVED} }] }
`;
const LOADER = Buffer.concat([peFile(PE_MACHINE.x86_64), Buffer.alloc(60_000, 'loader bytes ')]);

let lab: Lab;
beforeAll(() => needPackages(['udhcpc', 'curl', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'client', 'attacker');
  lab.namespaces.switch(
    'switch',
    { namespace: 'server', device: 's1', address: `${SERVER}/24` },
    { namespace: 'client', device: 'c1' },
    { namespace: 'attacker', device: 'a1', address: '10.88.0.7/24' },
  );
  lab.namespaces.ip('client', 'link', 'set', 'c1', 'address', MAC);
});
afterEach(async () => await lab.remove());

async function startAppliance(): Promise<Running> {
  put(join(lab.state, 'assets/loader'), 'snponly.efi', LOADER);
  const site = join(lab.folder, 'coldiron.yaml');
  writeFileSync(site, SITE);
  const appliance = lab.namespaces.start('server', join(ROOT, 'coldiron'), 'serve', '-c', site, '--state', lab.state);
  await appliance.says(/Coldiron is up/);
  return appliance;
}

async function processIn(namespace: string): Promise<number> {
  const { output: name } = await lab.namespaces.run(namespace, 'ip', 'netns', 'identify');
  const { output } = await lab.namespaces.run('switch', 'ip', 'netns', 'pids', name.trim());
  const [pid = '', ...others] = output.trim().split('\n');
  expect(others).toEqual([]);
  return Number(pid);
}

const descriptorsOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
const residentOf = (pid: number): number =>
  1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** A machine that boots: its address, its loader and its script, each as it should be. */
async function boot(): Promise<void> {
  const run = async (...command: readonly [string, ...string[]]): Promise<string> => {
    const { status, output } = await lab.namespaces.run('client', ...command);
    expect(status, `${command.join(' ')}: ${output}`).toBe(0);
    return output;
  };
  const lease = await run('udhcpc', '-i', 'c1', '-f', '-q', '-n', '-t', '30', '-T', '2', '-s', '/bin/true');
  expect(lease).toContain(`lease of ${RESERVED} obtained`);
  lab.namespaces.ip('client', 'address', 'replace', `${RESERVED}/24`, 'dev', 'c1');
  const file = join(lab.folder, 'loader');
  await run(
    'curl',
    '-sS',
    '--tftp-blksize',
    '1468',
    '--connect-timeout',
    '60',
    '-o',
    file,
    `tftp://${SERVER}/snponly.efi`,
  );
  expect(readFileSync(file).equals(LOADER)).toBe(true);
  const base = `http://${SERVER}:${BOOT}/boot`;
  await run('curl', '-sSf', '--max-time', '60', '-o', file, `${base}/loader/snponly.efi`);
  expect(readFileSync(file).equals(LOADER)).toBe(true);
  const script = `${base}/ipxe/${MAC.replaceAll(':', '-')}.ipxe?buildarch=x86_64&platform=efi`;
  expect(await run('curl', '-sSf', '--max-time', '60', script)).toContain('#!ipxe');
}

it('attackers who damage every packet and request crash nothing, take no memory, and disturb no boot', async ({
  task,
}) => {
  const appliance = await startAppliance();
  const pid = await processIn('server');
  await boot();
  const before = { descriptors: descriptorsOf(pid), resident: residentOf(pid) };

  const attackers = ATTACKS.map(({ from, what, inputs, port, at }, index) => {
    const args = [what, String(inputs), String(SEED + index), at, String(port), 'a1'];
    return lab.namespaces.start(from, process.execPath, ATTACKER, ...args);
  });
  const attacks = Promise.all(attackers.map((attacker) => attacker.finished()));
  let underWay = true;
  const ended = attacks.finally(() => {
    underWay = false;
  });
  let boots = 0;
  do {
    await boot();
    boots += 1;
  } while (underWay);
  const outputs = await ended;
  for (const { status, output } of outputs) expect(status, output).toBe(0);
  await boot();

  expect(appliance.isRunning).toBe(true);
  expect(await processIn('server')).toBe(pid);
  // A transfer that is never acknowledged ends within half a minute, an idle connection in less.
  await expect.poll(() => descriptorsOf(pid), { timeout: 60_000 }).toBeLessThanOrEqual(before.descriptors + 16);
  expect(residentOf(pid) - before.resident).toBeLessThan(MOST_GROWTH_BYTES);
  const errors = appliance.output.split('\n').filter((line) => /"level":(?:50|60)|^\S*Error:/.test(line));
  expect(errors).toEqual([]);
  const inputs = ATTACKS.reduce((sum, attack) => sum + attack.inputs, 0);
  task.meta.inputs = inputs;
  const grown = Math.round((residentOf(pid) - before.resident) / 1024 / 1024);
  console.log(outputs.map(({ output }) => output.trim()).join('\n'));
  console.log(`inputs sent to real sockets: ${inputs}; boots meanwhile: ${boots}; resident memory: ${grown} MiB more`);
}, 600_000);
