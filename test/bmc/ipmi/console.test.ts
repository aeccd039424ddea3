import { describe, expect, it, onTestFinished } from 'vitest';
import type { BmcConsole } from '../../../appliance/bmc/bmc.ts';
import { IpmiConnection, type IpmiDeps } from '../../../appliance/bmc/ipmi/connection.ts';
import { type ConsoleOptions, openConsole } from '../../../appliance/bmc/ipmi/console.ts';
import { powerStatus } from '../../../appliance/bmc/ipmi/power.ts';
import { PATIENT, QUICK, RACING, readUntil, startSimulator, targetOf } from './client-rig.ts';
import type { SimulatedBmc } from './simulator/simulated-bmc.ts';

interface RigOptions extends Partial<ConsoleOptions> {
  readonly prepare?: (bmc: SimulatedBmc) => void;
  readonly deps?: IpmiDeps;
}

async function rig({ prepare, deps = PATIENT, steal = false }: RigOptions = {}) {
  const bmc = await startSimulator();
  prepare?.(bmc);
  const connection = await IpmiConnection.open(targetOf(bmc.port), deps);
  onTestFinished(() => connection.close());
  const console = await openConsole(connection, { steal });
  return { bmc, connection, console };
}

const type = (console: BmcConsole, text: string): void => console.write(new TextEncoder().encode(text));

describe('the console', () => {
  it('shows the output of the machine and sends the input', async () => {
    const { bmc, connection, console } = await rig();
    expect(await readUntil(console, 'login: ')).toBe('node login: ');
    type(console, 'root\n');
    expect(await readUntil(console, '\n')).toBe('ROOT\n');
    await console.close();
    await connection.close();
    expect(bmc.console.active).toBe(false);
    expect(bmc.activeSessions).toBe(0);
  });

  it('delivers retransmitted output once', async () => {
    const { console } = await rig({
      prepare: (bmc) => {
        bmc.console.stutters = true;
      },
    });
    expect(await readUntil(console, 'login: ')).toBe('node login: ');
  });

  it('retransmits the input until the BMC has accepted all of it', async () => {
    const { bmc, console } = await rig({
      deps: RACING,
      prepare: (simulator) => {
        simulator.console.ignoreTyped = 2;
        simulator.console.accepts = 3;
      },
    });
    await readUntil(console, 'login: ');
    type(console, 'shutdown\n');
    expect(await readUntil(console, '\n')).toBe('SHUTDOWN\n');
    expect(bmc.console.typed).toEqual(['shu', 'tdo', 'wn\n']);
  });

  it('is refused with a message while another client has it, or taken over on request', async () => {
    const prepare = (bmc: SimulatedBmc): void => {
      bmc.console.active = true;
    };
    await expect(rig({ prepare })).rejects.toMatchObject({
      failure: 'busy',
      message: expect.stringContaining('another client holds the console'),
    });
    const { console } = await rig({ prepare, steal: true });
    expect(await readUntil(console, 'login: ')).toBe('node login: ');
  });

  it('ends with a reason when the BMC deactivates it', async () => {
    const { bmc, console } = await rig();
    await readUntil(console, 'login: ');
    bmc.takeConsoleAway();
    await expect(readUntil(console, 'never')).rejects.toThrow('the BMC deactivated the console');
  });

  it('ends with a reason when the BMC vanishes', async () => {
    const { bmc, connection, console } = await rig({ deps: QUICK });
    await readUntil(console, 'login: ');
    bmc.offline = true;
    const reading = readUntil(console, 'never');
    await Promise.all([
      expect(reading).rejects.toMatchObject({ failure: 'vanished' }),
      expect(powerStatus(connection)).rejects.toMatchObject({ failure: 'vanished' }),
    ]);
  });

  it('ends without a reason when it is closed', async () => {
    const { console } = await rig();
    await readUntil(console, 'login: ');
    const reading = readUntil(console, 'never');
    await console.close();
    expect(await reading).toBe('');
  });
});
