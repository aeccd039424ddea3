import { afterEach, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { step } from '../../../appliance/machines/step.ts';
import { lastHeard } from '../../../appliance/work/sessions/last-heard.ts';
import { heardOf } from '../../../appliance/work/sessions/session-watch.ts';
import { lifecycleIn, NOW } from '../../store/samples.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { CALL, DeskRig } from './sessions-rig.ts';

const place = useScratchFolder();
let rig: DeskRig;
afterEach(() => rig.store.close());

describe('how far a service OS had come', () => {
  it('is said in words, from nothing at all to its last step', async () => {
    rig = await DeskRig.open(place('coldiron.db'), 'deploying');
    const { store, desk, machine, time } = rig;
    const heard = heardOf(store, () => time.now);
    expect(lastHeard(null, NOW)).toBe('nothing was heard of its service OS');
    expect(await heard(machine)).toBe('nothing was heard of its service OS');
    const key = await rig.session('install');
    time.now += 5 * SECOND;
    expect(await heard(machine)).toBe('its service OS came up, and told of no step (5 s ago)');
    await desk.step(key, { step: 'write-image', status: 'progress', percent: 43.7, message: 'at 80 MB/s' }, CALL);
    time.now += 3 * MINUTE;
    expect(await heard(machine)).toBe(
      'the last that was heard was write-image (progress, 43 %: at 80 MB/s), 3 min ago',
    );
    expect(await heard({ ...machine, lifecycle: lifecycleIn('active') })).toBeUndefined();
  });

  it('is nothing of an earlier stay', async () => {
    rig = await DeskRig.open(place('coldiron.db'), 'deploying');
    await rig.session('install');
    const later = { ...rig.machine, lifecycle: { ...rig.machine.lifecycle, since: rig.time.now + 1 } };
    expect(await heardOf(rig.store, () => rig.time.now)(later)).toBe('nothing was heard of its service OS');
  });

  it('stands in the reason when the time of the state is over', async () => {
    rig = await DeskRig.open(place('coldiron.db'), 'deploying');
    const context = { now: NOW + 30 * MINUTE, profileDeployMinutes: 30, lastHeard: 'the last that was heard was grow' };
    expect(step(lifecycleIn('deploying'), 'deadline', context)).toMatchObject({
      lifecycle: {
        failure: {
          reason: expect.stringMatching(/30 min without an end\. .* Until then, the last that was heard was grow\.$/),
        },
      },
    });
  });
});
