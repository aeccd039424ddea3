// COUNT simulated BMCs that accept this cipher suite: node bmc-simulators.ts COUNT SUITE. Prints `ready` when all listen.

import { SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { bmcAddresses } from './bmc-rack.ts';

const [count = 0, suite = 17] = process.argv.slice(2).map(Number);

await Promise.all(bmcAddresses(count).map((address) => SimulatedBmc.start({ address, port: 623, suites: [suite] })));
process.stdout.write('ready\n');
