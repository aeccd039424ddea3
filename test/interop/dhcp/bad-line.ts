// A relay agent (RFC 1542 §4.1) on a bad line: of what it carries, in both directions, a fifth is lost, a tenth comes twice,
// and a quarter comes late and so out of order.
//
//   bad-line.ts DOWN-DEVICE DOWN-ADDRESS UP-DEVICE SERVER

import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { openDeviceSocket } from '../../../appliance/servers/udp/device-socket.ts';

const [down = '', ownAddress = '', up = '', server = ''] = process.argv.slice(2);
const GIADDR_AT = 24;
const HOPS_AT = 3;
const LATE_MS = 30;

let lost = 0;
function carry(deliver: () => void): void {
  if (Math.random() < 0.2) {
    lost++;
    process.stdout.write(`lost ${lost}\n`);
    return;
  }
  if (Math.random() < 0.1) deliver();
  if (Math.random() < 0.25) setTimeout(deliver, LATE_MS * Math.random());
  else deliver();
}

const onError = (error: Error): void => void process.stderr.write(`${error.message}\n`);
const below = await openDeviceSocket({
  interface: down,
  port: 67,
  onMessage: (bytes) => {
    if (bytes[0] !== 1) return;
    const relayed = Uint8Array.from(bytes);
    relayed[HOPS_AT] = 1;
    relayed.set(ownAddress.split('.').map(Number), GIADDR_AT);
    carry(() => above.send(relayed, { address: server as Ipv4, port: 67 }));
  },
  onError,
});
const above = await openDeviceSocket({
  interface: up,
  port: 67,
  onMessage: (bytes) => {
    const relayed = Uint8Array.from(bytes);
    carry(() => below.send(relayed, { address: '255.255.255.255' as Ipv4, port: 68 }));
  },
  onError,
});
process.stdout.write('carrying\n');
