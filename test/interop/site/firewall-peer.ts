// Both ends of a firewall, as separate programs. `listen` replies on every given port and reports over a socket file
// which datagrams it received. `knock` tries TCP and UDP ports and prints which of them are open.
//
// Nothing waits for a packet that does not come: a ping that follows the knocks on the same wire is answered after them.

import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';

export const FIREWALL_PEER = import.meta.filename;

export interface Knocks {
  readonly tcp: readonly number[];
  readonly udp: readonly number[];
}

async function listen(control: string, { tcp, udp }: Knocks): Promise<void> {
  const got = new Map<string, number[]>();
  for (const port of tcp) await once(createServer((socket) => socket.resume()).listen(port, '0.0.0.0'), 'listening');
  for (const port of udp) {
    const socket = createSocket('udp4');
    socket.on('message', (from) => got.set(String(from), [...(got.get(String(from)) ?? []), port]));
    socket.bind(port, '0.0.0.0');
    await once(socket, 'listening');
  }
  const reporter = createServer((socket) => {
    socket.once('data', async (who) => {
      await drained();
      socket.end(JSON.stringify(got.get(String(who)) ?? []));
    });
  });
  await once(reporter.listen(control), 'listening');
  process.stdout.write('listening\n');
}

async function knock(control: string, who: string, host: string, { tcp, udp }: Knocks): Promise<void> {
  const open = { tcp: [] as number[], udp: [] as number[] };
  for (const port of tcp) {
    const socket = connect(port, host);
    socket.on('connect', () => open.tcp.push(port));
    socket.on('error', () => {});
  }
  const sender = createSocket('udp4');
  for (const port of udp) await new Promise<unknown>((sent) => sender.send(who, port, host, sent));
  await promisify(execFile)('ping', ['-n', '-c', '1', '-W', '30', host]);
  await drained();
  const report = connect(control);
  report.write(who);
  let text = '';
  for await (const chunk of report) text += chunk;
  open.udp = JSON.parse(text) as number[];
  for (const list of [open.tcp, open.udp]) list.sort((a, b) => a - b);
  process.stdout.write(JSON.stringify(open), () => process.exit(0));
}

/** Datagrams in the kernel's queue have been read after one turn of the event loop. */
async function drained(): Promise<void> {
  for (let round = 0; round < 5; round++) await setImmediate();
}

if (process.argv[1] === import.meta.filename) {
  const [role, control = '', ports = '', who = '', host = ''] = process.argv.slice(2);
  const knocks = JSON.parse(ports) as Knocks;
  await (role === 'listen' ? listen(control, knocks) : knock(control, who, host, knocks));
}
