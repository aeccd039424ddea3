// A verified boot over real sessions, with firmware that honours only some boot flags.

import { describe, expect, it, onTestFinished } from 'vitest';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { memoryLedger } from '../../../appliance/bmc/quirk-ledger.ts';
import { type BootReport, verified } from '../../../appliance/bmc/verified.ts';
import { RACING, startSimulator, targetOf } from './client-rig.ts';

const VALID = 0x80;
const PERSISTENT = 0x40;
const EFI = 0x20;
const NETWORK = 0x04;

/** `obeys`: the flags that the machine's firmware honours. */
async function rig(obeys: (flags: number) => boolean) {
  const simulator = await startSimulator();
  const { machine } = simulator;
  const { clock } = RACING;
  machine.power = 'on';
  let seen: (() => void) | null = null;
  let seenAt: number | null = null;
  machine.onStart = ([flags = 0, device]) => {
    if ((flags & VALID) === 0 || device !== NETWORK || !obeys(flags)) return;
    if ((flags & PERSISTENT) === 0) machine.bootParameters.set(5, [0, 0, 0, 0, 0]);
    seenAt = clock.now();
    seen?.();
  };
  const bmc = ipmiBmc(targetOf(simulator.port), { efi: true }, RACING);
  onTestFinished(() => bmc.close());
  const reports: BootReport[] = [];
  const deps = {
    clock,
    ledger: memoryLedger(),
    report: (report: BootReport) => void reports.push(report),
    bootWait: { factor: 2, least: 10_000, most: 10_000, unknown: 10_000 },
  };
  const boot = () =>
    verified([{ driver: 'ipmi', bmc }], deps).bootFrom(
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
  it('works at once with firmware that requires the UEFI bit', async () => {
    const { boot, machine } = await rig((flags) => (flags & EFI) !== 0);
    expect(await boot()).toMatchObject({ method: 'ipmi-efi-once' });
    expect(machine.controls).toEqual([0, 1]);
  });

  it('falls back with firmware that ignores the UEFI bit, and tries that method first the next time', async () => {
    const { boot, machine, reports } = await rig((flags) => (flags & EFI) === 0);
    expect(await boot()).toMatchObject({ method: 'ipmi-legacy-once' });
    expect(reports.map(({ kind }) => kind)).toEqual(['asked', 'ignored', 'undone', 'asked', 'obeyed']);
    machine.controls.length = 0;
    expect(await boot()).toMatchObject({ method: 'ipmi-legacy-once' });
    expect(machine.controls).toEqual([0, 1]);
  });

  it('removes the persistent override with firmware that honours nothing else', async () => {
    const { boot, machine } = await rig((flags) => (flags & PERSISTENT) !== 0);
    expect(await boot()).toMatchObject({ method: 'ipmi-efi-persistent' });
    expect(machine.bootParameters.get(5)?.[0]).toBe(EFI);
  });
});
