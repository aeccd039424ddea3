// Serial over LAN through OpenIPMI's simulator to a serial port whose other end this test holds.

import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { IpmiConnection } from '../../../appliance/bmc/ipmi/connection.ts';
import { openConsole } from '../../../appliance/bmc/ipmi/console.ts';
import { needPackages } from '../../interop/packages.ts';
import { PATIENT, readUntil, targetOf } from './client-rig.ts';
import { startOpenIpmi } from './openipmi.ts';
import { serialPort } from './serial-port.ts';

beforeAll(() => needPackages(['openipmi', 'socat']));

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
