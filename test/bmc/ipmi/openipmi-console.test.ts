// Serial over LAN through OpenIPMI's simulator to a serial port whose other end this test holds.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { IpmiConnection } from '../../../appliance/bmc/ipmi/connection.ts';
import { openConsole } from '../../../appliance/bmc/ipmi/console.ts';
import { needPackages } from '../../interop/packages.ts';
import { PATIENT, readUntil, targetOf } from './client-rig.ts';
import { startOpenIpmi } from './openipmi.ts';

beforeAll(() => needPackages(['openipmi', 'socat']));

/** A pseudo terminal for the simulator; the socket is the machine's end of the cable. */
async function serialPort(): Promise<{ device: string; machine: Socket }> {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-serial-'));
  const device = join(folder, 'tty');
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socat = spawn('socat', [`PTY,link=${device},rawer`, `TCP:127.0.0.1:${port}`], { stdio: 'ignore' });
  const exited = once(socat, 'exit');
  onTestFinished(async () => {
    socat.kill('SIGKILL');
    await exited;
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  // socat creates the terminal before it connects.
  const [machine] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void machine.destroy());
  return { device, machine };
}

describe('the console through OpenIPMI', () => {
  it('transfers a whole boot log out and a login in', async () => {
    const { device, machine } = await serialPort();
    const simulator = await startOpenIpmi(device);
    const connection = await IpmiConnection.open(
      targetOf(simulator.port, { name: 'admin', password: 'lab-password' }),
      PATIENT,
    );
    onTestFinished(() => connection.close());
    const console = await openConsole(connection, { steal: true });
    const log = Array.from({ length: 200 }, (_, line) => `[${line}] a line of the boot log\r\n`).join('');
    machine.write(`${log}login: `);
    expect(await readUntil(console, 'login: ')).toBe(`${log}login: `);

    let typed = '';
    const received = new Promise<void>((resolve) => {
      machine.on('data', (data) => {
        typed += data.toString('latin1');
        if (typed.endsWith('\n')) resolve();
      });
    });
    console.write(new TextEncoder().encode(`${'x'.repeat(500)}\n`));
    await received;
    expect(typed).toBe(`${'x'.repeat(500)}\n`);
    await console.close();
  });
});
