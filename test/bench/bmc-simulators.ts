// COUNT simulated BMCs that accept this cipher suite: node bmc-simulators.ts COUNT SUITE [BYTES]. Prints `ready` when all listen. With
// BYTES, each machine says that much per second on its console from when all are read: the recorded boots of real machines.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';
import { bmcAddresses } from './bmc-rack.ts';

const [count = 0, suite = 17, bytesPerSecond = 0] = process.argv.slice(2).map(Number);

const bmcs = await Promise.all(
  bmcAddresses(count).map((address) => SimulatedBmc.start({ address, port: 623, suites: [suite] })),
);
process.stdout.write('ready\n');

const TURNS_PER_SECOND = 5;
/** As much as BMCs put into a packet. */
const LARGEST = 200;
const PACKET_NUMBERS = 15;

if (bytesPerSecond > 0) {
  const folder = join(import.meta.dirname, '../captures/consoles');
  const boot = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  const share = Math.ceil(bytesPerSecond / TURNS_PER_SECOND);
  // Not all at the same line: machines do not start at the same moment.
  const places = bmcs.map((_, index) => ({ at: (index * 977) % boot.length, packet: 0 }));
  // Logins are not what is measured: they come first.
  const allRead = (): boolean => bmcs.every(({ console }) => console.active);
  const speak = (bmc: SimulatedBmc, place: { at: number; packet: number }): void => {
    for (let left = allRead() ? share : 0; left > 0; left -= LARGEST) {
      const characters = boot.subarray(place.at, place.at + Math.min(left, LARGEST));
      place.packet = (place.packet % PACKET_NUMBERS) + 1;
      bmc.sendConsole(Buffer.concat([Buffer.of(place.packet, 0, 0, 0), characters]));
      place.at = (place.at + characters.length) % boot.length;
    }
  };
  bmcs.forEach((bmc, index) => {
    const place = places[index] ?? { at: 0, packet: 0 };
    const begin = (index * 1000) / TURNS_PER_SECOND / bmcs.length;
    setTimeout(() => setInterval(() => speak(bmc, place), 1000 / TURNS_PER_SECOND), begin);
  });
}
