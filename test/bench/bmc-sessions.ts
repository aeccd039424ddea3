// The cost of open sessions: node bmc-sessions.ts COUNT opens one to each of COUNT simulated BMCs, and prints the process's memory
// before and after.

import { IPMI_DEPS, IpmiConnection } from '../../appliance/bmc/ipmi/connection.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { ADMIN } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { bmcAddresses } from './bmc-rack.ts';
import { megabytesOf } from './process-cost.ts';

const AT_ONCE = 100;

const addresses = bmcAddresses(Number(process.argv[2]));
const password = new Secret(ADMIN.password);
const open = (address: string): Promise<IpmiConnection> =>
  IpmiConnection.open({ address, userName: ADMIN.name, password, bmcKey: null }, IPMI_DEPS);

const before = megabytesOf(process.pid, 'VmRSS');
const connections: IpmiConnection[] = [];
while (connections.length < addresses.length) {
  const some = addresses.slice(connections.length, connections.length + AT_ONCE);
  connections.push(...(await Promise.all(some.map(open))));
}
const during = megabytesOf(process.pid, 'VmRSS');
await Promise.all(connections.map((connection) => connection.close()));
process.stdout.write(`${JSON.stringify({ before, during })}\n`);
