// The lifecycle of a machine in a site with real BMC access: runner, store, opener and IPMI driver against a simulated BMC.

import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openBmcService } from '../../../appliance/bmc/access/bmc-service.ts';
import { bmcSystemClock } from '../../../appliance/bmc/clock.ts';
import { sampleData } from '../../../appliance/domain/events/sample-event.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { createVault } from '../../../appliance/identity/vault/vault.ts';
import { newKeyText, parseVaultKeys } from '../../../appliance/identity/vault/vault-keys.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { FleetFollower } from '../../../appliance/inventory/fleet-follower.ts';
import { effectHandlers } from '../../../appliance/machines/effects.ts';
import { systemClock } from '../../../appliance/machines/runner/clock.ts';
import { LifecycleRunner } from '../../../appliance/machines/runner.ts';
import { storyLines } from '../../../appliance/trail/story.ts';
import { commandsOf } from '../../machines/commands-of.ts';
import { ENGINES } from '../../store/engines.ts';
import { addMachines, mac, machineIn, specOf } from '../../store/samples.ts';
import { NoteBoard } from '../../trail/note-board.ts';
import { quietConsoles } from '../console/quiet-consoles.ts';
import { ADMIN, SimulatedBmc } from '../ipmi/simulator/simulated-bmc.ts';

/** IPMI has one port; the process id gives parallel tests different addresses. */
const ADDRESS = mustParse(parseIpv4(`127.${64 + ((process.pid >> 8) & 63)}.${process.pid & 255}.9`));
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
const BOOT_WAIT = { factor: 2, least: 2 * SECOND, most: MINUTE, unknown: 2 * SECOND };
const [ON, EFI_BIT] = [1, 0x20];

async function laboratory() {
  const [sqlite] = ENGINES;
  if (!sqlite) throw new Error('there is no engine');
  const { store, dispose } = await sqlite.open();
  onTestFinished(dispose);
  const bmc = await SimulatedBmc.start({ address: ADDRESS, port: 623 });
  onTestFinished(() => bmc.stop());
  const spec = specOf(1);
  const endpoint = { address: ADDRESS, driver: 'ipmi', username: null, passwordFile: null } as const;
  const [machine] = await addMachines(store, { ...spec, bmc: endpoint });
  if (!machine) throw new Error('the machine was not written');
  const fleet = new Fleet();
  onTestFinished(await new FleetFollower(store, fleet).start());
  const trail = new NoteBoard();
  const consoles = await quietConsoles();
  onTestFinished(consoles.remove);
  const service = await openBmcService({
    store,
    vault: createVault(mustParse(parseVaultKeys(newKeyText(), 'vault-key'))),
    passwords: { folder: '/nowhere/passwords', state: '/nowhere/state' },
    trail,
    clock: bmcSystemClock,
    bmcMode: () => 'real',
    current: (id) => fleet.machineById(id),
    onChange: (id, listener) => fleet.watch(id, listener),
    ...consoles.settings,
    scanned: [],
    nodeAtBmc: () => null,
    bootWait: BOOT_WAIT,
    log: QUIET,
  });
  onTestFinished(() => service.stop());
  const by = { actor: 'token:alice', correlationId: 'corr-7' };
  const login = { username: ADMIN.name, password: new Secret(ADMIN.password), key: null };
  await service.keys.set(machine, by, login, true);
  const effects = effectHandlers({
    store,
    now: systemClock.now,
    bmcs: service.effects,
    mayReleaseUnerased: () => false,
  });
  const commands = commandsOf(store, systemClock.now, null);
  const runner = new LifecycleRunner({ store, commands, effects, clock: systemClock, log: QUIET });
  await runner.start();
  onTestFinished(() => runner.stop());
  const request = async (event: 'commission' | 'commissioned' | 'quarantine'): Promise<void> => {
    await commands.request(machine.id, event, by);
  };
  /** The machine's firmware: at each power-on it sends a DHCP request if it honours the boot flags. */
  const firmware = (obeys: (flags: number) => boolean): void => {
    const { controls, bootParameters } = bmc.machine;
    controls.push = (...codes) => {
      const flags = bootParameters.get(5)?.[0] ?? 0;
      if (codes.includes(ON) && obeys(flags)) {
        const data = { ...sampleData('dhcp.discover'), program: 'firmware-pxe', architecture: 7 } as const;
        trail.note({ kind: 'dhcp.discover', mac: mac(1), machine: machine.id, data });
      }
      return Array.prototype.push.apply(controls, codes);
    };
  };
  const kinds = async () => (await store.events({ machine: machine.id, limit: 100 })).map(({ kind }) => kind);
  const until = async (kind: string): Promise<void> => {
    while (!(await kinds()).includes(kind)) await setTimeout(20);
  };
  return { store, bmc, machine, runner, request, firmware, kinds, until };
}

describe('commissioning', () => {
  it('boots the machine from the network and switches it off at the end', async () => {
    const { request, firmware, runner, kinds, until, bmc, store, machine } = await laboratory();
    firmware(() => true);
    await request('commission');
    await until('bmc.boot-obeyed');
    await runner.idle();
    expect(bmc.machine.power).toBe('on');
    expect(await store.bootTimes(machine.id)).toHaveLength(1);
    await request('commissioned');
    await until('bmc.done');
    expect(bmc.machine.power).toBe('off');
    expect((await kinds()).filter((kind) => kind.startsWith('bmc.'))).toEqual([
      'bmc.boot-asked',
      'bmc.boot-obeyed',
      'bmc.done',
    ]);
    expect(bmc.activeSessions).toBe(0);
  });

  it('reports that the firmware ignored the override, and finds the method that works', async () => {
    const { request, firmware, runner, until, store, machine } = await laboratory();
    firmware((flags) => (flags & EFI_BIT) === 0);
    await request('commission');
    await until('bmc.boot-obeyed');
    await runner.idle();
    const events = await store.events({ machine: machine.id, kind: 'bmc', limit: 100 });
    const text = storyLines(
      events.map((event) => ({ ...event, at: new Date(event.at).toISOString(), attempt: event.correlationId })),
    ).join('\n');
    expect(text).toContain('the firmware ignored it: the machine did not show up within 2 s');
    expect(text).toContain('the machine boots from network: it showed up after');
    expect((await machineIn(store, machine.id)).lifecycle.state).toBe('commissioning');
    expect(await store.bmcQuirks()).toMatchObject([
      { vendor: expect.any(String), method: 'ipmi-efi-once', worked: 0, ignored: 1 },
      { method: 'ipmi-legacy-once', worked: 1, ignored: 0 },
    ]);
  });

  it('fails with a list of all attempts when the machine never boots', async () => {
    const { request, firmware, until, store, machine } = await laboratory();
    firmware(() => false);
    await request('commission');
    await until('effect.failed');
    const { lifecycle } = await machineIn(store, machine.id);
    expect(lifecycle.state).toBe('failed');
    expect(lifecycle.failure).toMatchObject({
      step: 'commission',
      reason: expect.stringMatching(/^boot-from-network: .*Tried: .*the firmware ignored.*Check its console/),
    });
  });

  it('stops at once when the machine is quarantined', async () => {
    const { request, firmware, runner, until, bmc } = await laboratory();
    firmware(() => false);
    await request('commission');
    await until('bmc.boot-asked');
    await request('quarantine');
    await until('bmc.broken-off');
    await runner.idle();
    expect(bmc.machine.bootParameters.get(5)?.[1]).toBe(0);
  });
});
