import { afterEach, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { step } from '../../../appliance/machines/step.ts';
import { lastHeard } from '../../../appliance/provisioning/sessions/last-heard.ts';
import { lastHeardReader } from '../../../appliance/provisioning/sessions/session-watch.ts';
import { lifecycleIn, NOW } from '../../store/samples.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const place = useScratchFolder();
let rig: SessionsRig;
afterEach(() => rig.store.close());

describe('the progress of a service OS', () => {
  it('is described as text, from nothing to its last step', async () => {
    rig = await SessionsRig.open(place('coldiron.db'), 'deploying');
    const { store, sessions, machine, time } = rig;
    const progress = lastHeardReader(store, () => time.now);
    expect(lastHeard(null, NOW)).toBe('nothing was heard of its service OS');
    expect(await progress(machine)).toBe('nothing was heard of its service OS');
    const key = await rig.session('install');
    time.now += 5 * SECOND;
    expect(await progress(machine)).toBe('its service OS came up, and reported no step (5 s ago)');
    await sessions.step(key, { step: 'write-image', status: 'progress', percent: 43.7, message: 'at 80 MB/s' }, CALL);
    time.now += 3 * MINUTE;
    expect(await progress(machine)).toBe(
      'the last that was heard was write-image (progress, 43 %: at 80 MB/s), 3 min ago',
    );
    expect(await progress({ ...machine, lifecycle: lifecycleIn('active') })).toBeUndefined();
  });

  it('excludes earlier visits of the state', async () => {
    rig = await SessionsRig.open(place('coldiron.db'), 'deploying');
    await rig.session('install');
    const later = { ...rig.machine, lifecycle: { ...rig.machine.lifecycle, since: rig.time.now + 1 } };
    expect(await lastHeardReader(rig.store, () => rig.time.now)(later)).toBe('nothing was heard of its service OS');
  });

  it('is in the failure reason after the deadline', async () => {
    rig = await SessionsRig.open(place('coldiron.db'), 'deploying');
    const context = { now: NOW + 30 * MINUTE, profileDeployMinutes: 30, lastHeard: 'the last that was heard was grow' };
    expect(step(lifecycleIn('deploying'), 'deadline', context)).toMatchObject({
      lifecycle: {
        failure: {
          reason: expect.stringMatching(
            /30 min, past its deadline\. .* Until then, the last that was heard was grow\.$/,
          ),
        },
      },
    });
  });
});
