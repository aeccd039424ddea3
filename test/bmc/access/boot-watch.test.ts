import { describe, expect, it } from 'vitest';
import { BootWatch } from '../../../appliance/bmc/access/boot-watch.ts';
import type { EventData } from '../../../appliance/domain/events/event-table.ts';
import { sampleData } from '../../../appliance/domain/events/sample-event.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { machineId, T0 } from '../../machines/machines.ts';
import { mac } from '../../store/samples.ts';
import { NoteBoard } from '../../trail/note-board.ts';

type Program = EventData<'dhcp.discover'>['program'];
const discover = (program: Program, machine: TrailNote['machine'] = machineId(1)): TrailNote => ({
  kind: 'dhcp.discover',
  mac: mac(1),
  machine,
  data: { ...sampleData('dhcp.discover'), program },
});

function aWatch() {
  const clock = { time: T0 };
  const trail = new NoteBoard();
  const watch = new BootWatch(trail, () => clock.time);
  return { clock, watch, trail };
}

describe('the boot watch', () => {
  const request = { ...discover('firmware-pxe'), kind: 'dhcp.request', data: sampleData('dhcp.request') } as const;

  const script = { ...discover('ipxe'), kind: 'http.script', data: sampleData('http.script') } as const;

  it.each<[string, TrailNote, boolean]>([
    ['the PXE client of a firmware', discover('firmware-pxe'), true],
    ['the HTTP client of a firmware', discover('firmware-http'), true],
    ['iPXE', discover('ipxe'), true],
    ['an operating system', discover('os'), false],
    ['an unknown machine', discover('firmware-pxe', null), false],
    ['another machine', discover('firmware-pxe', machineId(2)), false],
    ['another kind of note', request, false],
    ['a loader behind another DHCP server', script, true],
  ])('decides whether a packet of %s is a boot: %#', (_who, note, seen) => {
    const { watch, trail } = aWatch();
    trail.note(note);
    expect(watch.lastSeen(machineId(1), T0)).toBe(seen ? T0 : null);
  });

  it('resolves waiters, and not for an earlier boot', async () => {
    const { watch, trail, clock } = aWatch();
    trail.note(discover('ipxe'));
    const waiting = watch.untilSeen(machineId(1), T0 + 1, new AbortController().signal);
    clock.time = T0 + 5;
    trail.note(discover('ipxe', machineId(2)));
    clock.time = T0 + 9;
    trail.note(discover('ipxe'));
    expect(await waiting).toBe(T0 + 9);
  });

  it('resolves at once for a boot that was already seen', async () => {
    const { watch, trail } = aWatch();
    trail.note(discover('ipxe'));
    expect(await watch.untilSeen(machineId(1), T0, new AbortController().signal)).toBe(T0);
  });

  it('rejects with the reason when the wait is aborted, before or during it', async () => {
    const { watch } = aWatch();
    const given = new AbortController();
    const waiting = watch.untilSeen(machineId(1), T0, given.signal);
    given.abort(new Error('time is up'));
    await expect(waiting).rejects.toThrow('time is up');
    await expect(watch.untilSeen(machineId(1), T0, given.signal)).rejects.toThrow('time is up');
  });
});
