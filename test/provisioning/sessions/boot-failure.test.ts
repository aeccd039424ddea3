import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { SessionMode } from '../../../appliance/domain/session.ts';
import { endFailedBoot } from '../../../appliance/provisioning/sessions/boot-failure.ts';
import type { SeenAt } from '../../../appliance/provisioning/sessions/openers.ts';
import { commandsOf } from '../../machines/commands-of.ts';
import { mac } from '../../store/samples.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const DATA = { mac: mac(1), stage: 'service-os', errno: '2e008001' };
/** The address is leased to the machine, and its card answers there. */
const ITSELF: SeenAt = { address: null, mac: mac(1), neighbour: mac(1), wouldBeKnown: true };

describe('a boot loader that could not start the work', () => {
  let folder: string;
  let rig: SessionsRig;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coldiron-boot-failure-'));
  });
  afterEach(async () => {
    await rig.store.close();
    rmSync(folder, { recursive: true });
  });

  const open = async (state: LifecycleState): Promise<void> => {
    rig = await SessionsRig.open(join(folder, 'coldiron.db'), state);
  };
  const report = async (changes: { seen?: Partial<SeenAt>; boot?: string | null } = {}): Promise<boolean> => {
    const [session] = await rig.store.sessionsOf(rig.machine.id, 1);
    const { seen, boot = session?.id ?? null } = changes;
    const end = endFailedBoot({
      store: rig.store,
      commands: commandsOf(rig.store, () => rig.time.now),
      seenAt: () => ({ ...ITSELF, ...seen }),
      log: { warn: () => undefined },
    });
    return end((await rig.store.machine(rig.machine.id)) ?? rig.machine, { boot, data: DATA }, null);
  };

  it.each([
    ['commissioning', 'commission', 'commission'],
    ['deploying', 'install', 'deploy'],
    ['releasing', 'erase', 'release'],
  ] as const)('ends %s at once, with the error in words, in one commit', async (state, mode, step) => {
    await open(state);
    await rig.ticket(mode);
    expect(await report()).toBe(true);
    expect(await rig.state()).toMatchObject({
      state: 'failed',
      failure: {
        step,
        reason: expect.stringMatching(/^its boot loader could not start service-os: iPXE error 2e008001 \(exec format/),
      },
    });
    const events = await rig.store.events({ machine: rig.machine.id, limit: 100 });
    const kinds = events.map(({ kind }) => kind);
    expect(kinds).toContain('boot.failed');
    expect(events.find(({ kind }) => kind === 'lifecycle.failed')?.data).toMatchObject({
      event: 'boot-failed',
      cause: 'boot-failed',
    });
    expect((await rig.store.sessionsOf(rig.machine.id, 1))[0]?.ended).toMatchObject({ how: 'failed' });
    expect(await report(), 'a second time').toBe(false);
  });

  it.each<readonly [string, { seen?: Partial<SeenAt>; boot?: string | null }]>([
    ['that names no script', { boot: null }],
    ['that names another script', { boot: '00000000-0000-4000-8000-000000000000' }],
    ['from an address that is leased to another machine', { seen: { mac: mac(2) } }],
    ['from an address that is not leased', { seen: { mac: null } }],
    ['from another card', { seen: { neighbour: mac(2) } }],
  ])('is not believed in a report %s', async (_, changes) => {
    await open('commissioning');
    await rig.ticket('commission');
    expect(await report(changes)).toBe(false);
    expect(await rig.state()).toMatchObject({ state: 'commissioning' });
    expect(await report()).toBe(true);
  });

  it('is not believed after a newer script was issued', async () => {
    await open('commissioning');
    await rig.ticket('commission');
    const [first] = await rig.store.sessionsOf(rig.machine.id, 1);
    rig.time.now += 1000;
    await rig.ticket('commission');
    expect(await report({ boot: first?.id ?? '' })).toBe(false);
  });

  it('is not believed once the service OS has come up', async () => {
    await open('commissioning');
    await rig.sessions.open(await rig.ticket('commission'), { mac: mac(1) }, CALL);
    expect(await report()).toBe(false);
  });

  it.each<readonly [LifecycleState, SessionMode]>([
    ['rescue', 'rescue'],
    ['ready', 'inspect'],
  ])('changes nothing in %s, which has no failure', async (state, mode) => {
    await open(state);
    await rig.ticket(mode);
    expect(await report()).toBe(false);
    expect(await rig.state()).toMatchObject({ state });
  });
});
