// The client of the npm package `dhcp`: its REQUEST names neither the server nor the address, and it accepts any ACK.

import { createRequire } from 'node:module';

const dhcp = createRequire(import.meta.url)('dhcp');

const client = dhcp.createClient({ mac: process.argv[2], features: ['netmask', 'router'] });
client.on('message', (message: { yiaddr: string; options: Record<number, number> }) => {
  process.stdout.write(`received type ${message.options[53]} for ${message.yiaddr}\n`);
  // Its REQUEST is sent right after this handler.
  setImmediate(() => setImmediate(() => process.stdout.write('asked\n')));
});
client.on('error', (error: Error) => process.stdout.write(`error ${error.message}\n`));
client.on('bound', () => process.stdout.write('bound\n'));
client.on('listening', (socket: { setBroadcast(on: boolean): void }) => {
  socket.setBroadcast(true);
  client.sendDiscover();
});
client.listen();
