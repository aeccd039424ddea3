// An unwanted DHCP server in the machines' own network segment: dnsmasq in a separate namespace, like a laptop that
// was plugged in.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ColdironError } from '../../domain/errors.ts';
import { ROGUE_ADDRESS, ROGUE_RANGE } from './addresses.ts';
import { RackNetwork } from './network.ts';
import type { ProcessRecords } from './process-records.ts';
import type { Undo } from './wire-faults.ts';

const RECORD = 'rogue-dhcp';

/** Returns when it serves. */
export async function startRogueDhcp(network: RackNetwork, records: ProcessRecords): Promise<Undo> {
  const laptop = await RackNetwork.start({ address: '10.99.0.1/24' });
  try {
    await laptop.plugInto(network, ROGUE_ADDRESS);
    const [command, ...args] = laptop.command(
      'dnsmasq',
      ...['--keep-in-foreground', '--conf-file=/dev/null', '--user=root', '--log-facility=-', '--port=0'],
      ...[`--interface=${laptop.uplink}`, '--leasefile-ro', '--no-ping', `--dhcp-range=${ROGUE_RANGE}`],
    );
    const server = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(server, 'close').catch(() => []);
    if (server.pid !== undefined) await records.write(RECORD, server.pid);
    await untilServing(createInterface({ input: server.stderr }), ended);
    return async () => {
      server.kill('SIGKILL');
      await ended;
      await records.remove(RECORD);
      await laptop.unplug();
      await laptop.stop();
    };
  } catch (error) {
    await laptop.stop();
    throw error;
  }
}

async function untilServing(output: NodeJS.EventEmitter, ended: Promise<unknown>): Promise<void> {
  const lines: string[] = [];
  const serving = new Promise<boolean>((resolve) => {
    output.on('line', (line: string) => {
      lines.push(line);
      if (line.includes('DHCP, IP range')) resolve(true);
    });
  });
  if (await Promise.race([serving, ended.then(() => false)])) return;
  throw new ColdironError('service_unavailable', 'the rogue DHCP server did not start', lines);
}
