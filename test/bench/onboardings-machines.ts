// COUNT simulated servers with BMCs: node onboardings-machines.ts COUNT BOOT-URL. Prints `ready` when all BMCs listen. At each line on its
// standard input it prints one line of JSON: what each machine has done, as counts.

import { createInterface } from 'node:readline';
import { placeOf, SimulatedServer } from '../onboarding-runs/simulated-server.ts';

const [count = '0', boot = ''] = process.argv.slice(2);
const servers: SimulatedServer[] = [];
for (let n = 0; n < Number(count); n += 1) servers.push(await SimulatedServer.start(placeOf(n), boot));
process.stdout.write('ready\n');

export interface DoneByMachine {
  readonly serial: string;
  readonly did: Readonly<Record<string, number>>;
}

createInterface({ input: process.stdin }).on('line', () => {
  const done: DoneByMachine[] = servers.map(({ place, did }) => ({
    serial: place.serial,
    did: Object.fromEntries([...new Set(did)].map((what) => [what, did.filter((one) => one === what).length])),
  }));
  process.stdout.write(`${JSON.stringify(done)}\n`);
});
