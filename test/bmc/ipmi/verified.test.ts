// A verified boot over real sessions, with firmware that wants the boot flags its own way.

import { describe, expect, it, onTestFinished } from 'vitest';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { memoryLedger } from '../../../appliance/bmc/quirk-ledger.ts';
import { type BootReport, verified } from '../../../appliance/bmc/verified.ts';
import { RACING, startSimulator, targetOf } from './client-rig.ts';

const VALID = 0x80;
const PERSISTENT = 0x40;
const EFI = 0x20;
const NETWORK = 0x04;

/** `wants`: the flags that the machine's firmware obeys. */
async function rig(wants: (flags: number) => boolean) {
  const simulator = await startSimulator();
  const { machine } = simulator;
  const { clock } = RACING;
  machine.power = 'on';
  let seen: (() => void) | null = null;
  let seenAt: number | null = null;
  machine.onStart = ([flags = 0, device]) => {
    if ((flags & VALID) === 0 || device !== NETWORK || !wants(flags)) return;
    if ((flags & PERSISTENT) === 0) machine.bootParameters.set(5, [0, 0, 0, 0, 0]);
    seenAt = clock.now();
    seen?.();
  };
  const bmc = ipmiBmc(targetOf(simulator.port), { efi: true }, RACING);
  onTestFinished(() => bmc.close());
  const reports: BootReport[] = [];
  const tools = {
    clock,
    ledger: memoryLedger(),
    report: (report: BootReport) => void reports.push(report),
    patience: { factor: 2, least: 10_000, most: 10_000, unknown: 10_000 },
  };
  const boot = () =>
    verified([{ driver: 'ipmi', bmc }], tools).bootFrom(
      { device: 'network', firmware: 'efi' },
      {
        earlier: [],
        deadline: null,
        seen: (since, signal) =>
          new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason), { once: true });
            seen = () => {
              if (seenAt !== null && seenAt >= since) resolve(seenAt);
            };
            seen();
          }),
      },
    );
  return { machine, boot, reports };
}

describe('a verified boot over IPMI', () => {
  it('is obeyed at once by firmware that wants the UEFI bit', async () => {
    const { boot, machine } = await rig((flags) => (flags & EFI) !== 0);
    expect(await boot()).toMatchObject({ method: 'ipmi-efi-once' });
    expect(machine.controls).toEqual([0, 1]);
  });

  it('comes to the other way with firmware that ignores the UEFI bit, and goes there first the next time', async () => {
    const { boot, machine, reports } = await rig((flags) => (flags & EFI) === 0);
    expect(await boot()).toMatchObject({ method: 'ipmi-legacy-once' });
    expect(reports.map(({ kind }) => kind)).toEqual(['asked', 'ignored', 'undone', 'asked', 'obeyed']);
    machine.controls.length = 0;
    expect(await boot()).toMatchObject({ method: 'ipmi-legacy-once' });
    expect(machine.controls).toEqual([0, 1]);
  });

  it('leaves no lasting choice with firmware that obeys nothing else', async () => {
    const { boot, machine } = await rig((flags) => (flags & PERSISTENT) !== 0);
    expect(await boot()).toMatchObject({ method: 'ipmi-efi-persistent' });
    expect(machine.bootParameters.get(5)?.[0]).toBe(EFI);
  });
});
