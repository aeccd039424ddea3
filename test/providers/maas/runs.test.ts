// Whole runs through MAAS, with each fault put in: how they end, what took effect, and what the trail says.

import { afterEach, describe, expect, it } from 'vitest';
import { FAULTS } from './faults.ts';
import { effectsIn, type Lived, lived } from './life.ts';
import { BMC_PASSWORD, KEY } from './rig.ts';

let life: Lived | null = null;
afterEach(async () => {
  await life?.rig.close();
  life = null;
});

const EXPECTED = { create: 1, commission: 1, allocate: 1, deploy: 1 };

describe('a run through MAAS', () => {
  it.each(FAULTS)('ends as it must: $name', async ({ ends, effects = EXPECTED, said, name: _name, ...script }) => {
    life = await lived(script);
    const { run, rig } = life;
    const { state, attempt, failure } = run;
    expect({ state, failure }, failure?.reason).toMatchObject(
      ends.state === 'completed'
        ? { state: 'completed' }
        : {
            state: 'failed',
            failure: { class: ends.class, step: ends.step, reason: expect.stringMatching(ends.reason) },
          },
    );
    if (ends.state === 'completed') expect(attempt).toBe(ends.attempt ?? 1);
    if (ends.state === 'failed')
      expect(failure?.candidates).toHaveLength(ends.candidates ?? failure?.candidates.length ?? 0);
    expect(effectsIn(rig.double)).toEqual(effects);
    const events = await rig.api.store.events({ limit: 5000 });
    const everything = JSON.stringify([events, run, rig.api.log.text]);
    if (said) expect(everything).toMatch(said);
    // Nothing secret is written anywhere, and each event of MAAS is there once.
    for (const secret of [BMC_PASSWORD, KEY.secret, 'hunter2secret']) expect(everything).not.toContain(secret);
    const ids = events.flatMap(({ data }) => (data as { event_id?: number }).event_id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    if (ends.state === 'completed') {
      const known = rig.double.events.filter(
        ({ visible, node }) => node === run.reference && visible <= rig.clock.now(),
      );
      const last = Math.max(...ids);
      expect(ids.toSorted((one, other) => one - other)).toEqual(known.map(({ id }) => id).filter((id) => id <= last));
    }
  });
});

describe('a run whose process is killed at a write', () => {
  it.each([0, 1, 2, 3, 4, 5].flatMap((write) => [false, true].map((after) => ({ write, after }))))(
    'continues, and does nothing twice: write $write, after it took effect $after',
    async (kill) => {
      life = await lived({ kill });
      const { run, rig } = life;
      expect(run, run.failure?.reason).toMatchObject({ state: 'completed', attempt: 1 });
      expect(effectsIn(rig.double)).toEqual(EXPECTED);
      const [machine] = rig.double.machines.values();
      expect(machine?.interfaces[0]?.links).toMatchObject([{ mode: 'auto', subnet: 1 }]);
    },
  );
});
