// The power status of 500 BMCs, queried at once: by our appliance, by FreeIPMI's ipmipower, and by ipmitool in a loop; and
// the memory that 2,000 open sessions take.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bmcSystemClock } from '../../appliance/bmc/clock.ts';
import { BmcGates } from '../../appliance/bmc/gates.ts';
import { IPMI_DEPS, type IpmiDeps, type SuiteMemory } from '../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { paced } from '../../appliance/bmc/paced.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { ADMIN } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { needPackages } from '../interop/packages.ts';
import { bmcAddresses, bmcHostRange, withSimulators } from './bmc-rack.ts';
import { median, printTable, printVerdict, shown } from './figures.ts';
import { ownCpuSeconds } from './process-cost.ts';

const run = promisify(execFile);
const SESSIONS = 2000;
/** One after the other is slow: a sample of them is enough. */
const IN_A_LOOP = 50;
const SUITES = [17, 3] as const;

export async function benchBmc(count = 500, rounds = 7): Promise<void> {
  needPackages(['freeipmi-tools', 'ipmitool']);
  const results: SuiteResult[] = [];
  for (const suite of SUITES) {
    results.push(await withSimulators(count, suite, () => measureSuite(suite, count, rounds)));
  }
  printTable(
    [`power status of ${count} BMCs, BMCs/s`, ...SUITES.map((suite) => `suite ${suite}`)],
    ROWS.map(([name, key]) => [name, ...results.map((result) => shown(result[key]))]),
  );
  const { before, during } = await withSimulators(SESSIONS, SUITES[0], measureSessions);
  printTable(
    ['memory of coldiron', 'MB'],
    [
      ['before', shown(before)],
      [`with ${SESSIONS} sessions open`, shown(during)],
    ],
  );
  const [first] = results;
  if (!first) return;
  const peers = [
    { name: 'ipmipower', value: first.ipmipower },
    { name: 'ipmitool', value: first.ipmitool },
  ];
  printVerdict('bmc', first.ours, peers, [`cpu_us_per_bmc=${shown(first.cpuMicroseconds)}`]);
}

interface SuiteResult {
  readonly firstLogin: number;
  readonly ours: number;
  readonly ipmipower: number;
  readonly ipmitool: number;
  /** Our processor time per BMC whose suite is remembered. */
  readonly cpuMicroseconds: number;
}

const ROWS: readonly (readonly [string, keyof SuiteResult])[] = [
  ['coldiron, with strangers', 'firstLogin'],
  ['coldiron, suite remembered', 'ours'],
  ['ipmipower, suite given', 'ipmipower'],
  ['ipmitool in a loop, suite given', 'ipmitool'],
];

async function measureSuite(suite: number, count: number, rounds: number): Promise<SuiteResult> {
  const memory = suiteMemory();
  const speeds = { firstLogin: [] as number[], ours: [] as number[], ipmipower: [] as number[] };
  const costs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    speeds.firstLogin.push(await ours(count, IPMI_DEPS));
    const cpuBefore = ownCpuSeconds();
    speeds.ours.push(await ours(count, { ...IPMI_DEPS, memory }));
    costs.push(((ownCpuSeconds() - cpuBefore) * 1e6) / count);
    speeds.ipmipower.push(await ipmipower(count, suite));
  }
  return {
    firstLogin: median(speeds.firstLogin),
    // The first round is a warm-up.
    ours: median(speeds.ours.slice(1)),
    ipmipower: median(speeds.ipmipower),
    ipmitool: await ipmitool(suite),
    cpuMicroseconds: median(costs.slice(1)),
  };
}

function suiteMemory(): SuiteMemory {
  const known = new Map<string, number>();
  return {
    suite: (address) => known.get(address) ?? null,
    rememberSuite: (address, suite) => known.set(address, suite),
  };
}

/** BMCs per second: log in, query, log out. */
async function ours(count: number, tools: IpmiDeps): Promise<number> {
  const gates = new BmcGates(bmcSystemClock);
  const password = new Secret(ADMIN.password);
  const credential = gates.fingerprint(ADMIN.name, password);
  const status = async (address: string): Promise<string> => {
    const target = { address, userName: ADMIN.name, password, bmcKey: null };
    const bmc = paced(ipmiBmc(target, { efi: true }, tools), gates.gate(address), credential);
    try {
      return await bmc.powerState();
    } finally {
      await bmc.close();
    }
  };
  return speedOf(count, async () => (await Promise.all(bmcAddresses(count).map(status))).map((power) => `: ${power}`));
}

const ipmipower = (count: number, suite: number): Promise<number> =>
  speedOf(count, async () => {
    const login = ['-D', 'LAN_2_0', '-I', String(suite), '-u', ADMIN.name, '-p', ADMIN.password];
    const { stdout } = await run('ipmipower', [...login, '-h', bmcHostRange(count), '--stat'], { maxBuffer: 1e8 });
    return stdout.trim().split('\n');
  });

const ipmitool = (suite: number): Promise<number> =>
  speedOf(IN_A_LOOP, async () => {
    const said: string[] = [];
    for (const address of bmcAddresses(IN_A_LOOP)) {
      const login = ['-I', 'lanplus', '-C', String(suite), '-H', address, '-U', ADMIN.name, '-P', ADMIN.password];
      const { stdout } = await run('ipmitool', [...login, 'power', 'status']);
      said.push(stdout.replace('Chassis Power is ', ': ').trim());
    }
    return said;
  });

async function speedOf(count: number, work: () => Promise<readonly string[]>): Promise<number> {
  const began = performance.now();
  const answers = await work();
  const seconds = (performance.now() - began) / 1000;
  const right = answers.filter((answer) => answer.endsWith(': off')).length;
  if (right !== count) throw new Error(`${right} of ${count} BMCs gave the right answer`);
  return count / seconds;
}

async function measureSessions(): Promise<{ readonly before: number; readonly during: number }> {
  const program = fileURLToPath(import.meta.resolve('./bmc-sessions.ts'));
  return JSON.parse((await run(process.execPath, [program, String(SESSIONS)])).stdout);
}
