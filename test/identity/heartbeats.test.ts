import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { type Heartbeats, openHeartbeats } from '../../appliance/identity/heartbeats.ts';
import { useEnrollment } from './enrollment-rig.ts';

describe('heartbeats', () => {
  const rig = useEnrollment();
  const noted: string[] = [];
  const open = (machines: () => Iterable<Machine>): Promise<Heartbeats> =>
    openHeartbeats({
      store: rig().store,
      now: rig().deps.now,
      silentAfter: 5 * MINUTE,
      machines,
      twins: {
        reported: async (_, bootId) => void noted.push(bootId ?? 'none'),
        remember: (_machine, _at, bootId) => void noted.push(`remembered ${bootId}`),
      },
    });
  const current = async ({ id }: Machine): Promise<Machine> => {
    const machine = await rig().store.machine(id);
    if (!machine) throw new Error('the machine is in the store');
    return machine;
  };

  it('set a node online, and silent after five minutes without one', async () => {
    const { clock, machine } = rig();
    let node = await machine(1);
    const heartbeats = await open(() => [node]);
    await heartbeats.record(node, { agent: '1' }, 'c-1');
    node = await current(node);
    expect(node.health).toBe('online');
    clock.at += 5 * MINUTE - 1;
    expect(await heartbeats.markSilent()).toEqual([]);
    clock.at += 1;
    expect(await heartbeats.markSilent()).toMatchObject([{ id: node.id }]);
    expect((await current(node)).health).toBe('silent');
    await heartbeats.record(await current(node), null, 'c-2');
    expect((await current(node)).health).toBe('online');
  });

  it('survive a restart, and do not count the time while no process listened', async () => {
    const { clock, machine } = rig();
    let node = await machine(1);
    const first = await open(() => [node]);
    await first.record(node, { agent: '1' }, 'c-1');
    await first.flush();
    node = await current(node);
    clock.at += 60 * MINUTE;
    const second = await open(() => [node]);
    expect(second.lastOf(node.id)).toMatchObject({ at: clock.at - 60 * MINUTE, report: { agent: '1' } });
    expect(await second.markSilent()).toEqual([]);
    clock.at += 5 * MINUTE;
    expect(await second.markSilent()).toHaveLength(1);
  });

  it('tell the boot id, and the ones of an earlier process are remembered', async () => {
    noted.length = 0;
    const node = await rig().machine(1);
    const first = await open(() => [node]);
    await first.record(node, { boot_id: 'first boot' }, 'c-1');
    await first.record(node, { agent: 'old' }, 'c-2');
    await first.record(node, { boot_id: 'second boot' }, 'c-3');
    await first.flush();
    await open(() => [node]);
    expect(noted).toEqual(['first boot', 'none', 'second boot', 'remembered second boot']);
  });
});
