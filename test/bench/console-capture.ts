// The cost of captured consoles: node console-capture.ts COUNT SECONDS captures the consoles of COUNT simulated BMCs as the appliance
// does, and prints what this process took.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { bmcSystemClock } from '../../appliance/bmc/clock.ts';
import { Captures } from '../../appliance/bmc/console/captures.ts';
import { ConsoleFiles } from '../../appliance/bmc/console/console-files.ts';
import { SharedConsole } from '../../appliance/bmc/console/shared-console.ts';
import { IPMI_DEPS } from '../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { lifeIn } from '../../appliance/domain/lifecycle.ts';
import type { Machine, MachineId } from '../../appliance/domain/machine.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { ADMIN } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { aMachine } from '../machines/machines.ts';
import { bmcAddresses } from './bmc-rack.ts';
import { cpuSecondsOf, megabytesOf } from './process-cost.ts';

const [count = 0, seconds = 10] = process.argv.slice(2).map(Number);
const password = new Secret(ADMIN.password);
const folder = mkdtempSync(join(tmpdir(), 'coldiron-bench-consoles-'));

const totals = { bytes: 0, open: 0, events: 0 };
const shared = bmcAddresses(count).map(
  (address) =>
    new SharedConsole({
      clock: bmcSystemClock,
      open: async (options) => {
        const bmc = ipmiBmc({ address, userName: ADMIN.name, password, bmcKey: null }, { efi: true }, IPMI_DEPS);
        const console = await bmc.openConsole(options);
        totals.open += 1;
        return { console: counted(console), close: () => bmc.close() };
      },
      onIdle: () => undefined,
    }),
);

function counted(console: Awaited<ReturnType<ReturnType<typeof ipmiBmc>['openConsole']>>) {
  return {
    write: (characters: Uint8Array) => console.write(characters),
    close: () => console.close(),
    async *[Symbol.asyncIterator]() {
      for await (const bytes of console) {
        totals.bytes += bytes.length;
        yield bytes;
      }
    },
  };
}

const machines = new Map<MachineId, { readonly machine: Machine; readonly console: SharedConsole }>(
  shared.map((console) => {
    const id = randomUUID() as MachineId;
    return [id, { machine: { ...aMachine({}), id, lifecycle: lifeIn('deploying', 0) }, console }];
  }),
);
const consoleOf = (machine: Machine): SharedConsole => {
  const found = machines.get(machine.id);
  if (!found) throw new Error('there is no such machine');
  return found.console;
};

const before = megabytesOf(process.pid, 'VmRSS');
const captures = new Captures({
  clock: bmcSystemClock,
  files: new ConsoleFiles(folder, bmcSystemClock, { warn: (fields) => process.stderr.write(JSON.stringify(fields)) }),
  store: {
    appendEvents: async (events) => {
      totals.events += events.length;
    },
    subscribe: () => () => undefined,
  },
  machines: () => Array.from(machines.values(), ({ machine }) => machine),
  current: (id) => machines.get(id)?.machine ?? null,
  consoleOf: () => 'a console',
  follow: (machine, follower) => consoleOf(machine).follow(follower),
  log: { warn: (fields) => process.stderr.write(JSON.stringify(fields)) },
});
try {
  captures.start();
  while (totals.open < count) await setTimeout(100);
  const began = { cpu: cpuSecondsOf(process.pid), bytes: totals.bytes, at: performance.now() };
  await setTimeout(seconds * 1000);
  const took = (performance.now() - began.at) / 1000;
  const result = {
    before,
    during: megabytesOf(process.pid, 'VmRSS'),
    most: megabytesOf(process.pid, 'VmHWM'),
    cpu: (cpuSecondsOf(process.pid) - began.cpu) / took,
    bytesPerSecond: (totals.bytes - began.bytes) / took,
    events: totals.events,
  };
  await captures.stop();
  const stored = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  await Promise.all(shared.map((console) => console.stop('the benchmark is over')));
  process.stdout.write(`${JSON.stringify({ ...result, stored })}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
