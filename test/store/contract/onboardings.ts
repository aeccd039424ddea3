import { expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { parseHostname } from '../../../appliance/domain/names.ts';
import type { Onboarding, OnboardingId } from '../../../appliance/domain/onboarding.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { aRun } from '../../onboarding-runs/world.ts';
import { type Engine, useStore } from '../engines.ts';
import { allEvents, newAudit, newEvent } from '../samples.ts';

const EVENT = newEvent('onboarding.requested');
const AUDIT = newAudit('onboarding.requested');

const run = (n: number, changes: Partial<Onboarding> = {}): Onboarding => {
  const { request } = aRun();
  const hostname = mustParse(parseHostname(`host${n}`));
  const bmcAddress = mustParse(parseIpv4(`10.0.200.${n}`));
  return { ...aRun(), id: `run-${n}` as OnboardingId, request: { ...request, hostname, bmcAddress }, ...changes };
};
const next = (one: Onboarding, changes: Partial<Onboarding>): Onboarding => ({
  ...one,
  ...changes,
  version: one.version + 1,
});

export function onboardingsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('keeps a run as it was written, with its event and audit entry', async () => {
    const { store } = opened();
    await store.createOnboarding(run(1), [EVENT], [AUDIT]);
    expect(await store.onboarding(run(1).id)).toEqual(run(1));
    expect(await store.onboarding('nothing' as OnboardingId)).toBeNull();
    expect((await allEvents(store)).map(({ kind }) => kind)).toEqual(['onboarding.requested']);
    expect(await store.auditEntries(0, 10)).toHaveLength(1);
  });

  it('allows one open run for each host and for each BMC, and writes nothing of a second one', async () => {
    const { store } = opened();
    await store.createOnboarding(run(1), [], []);
    const sameHost = run(2, { request: { ...run(2).request, hostname: run(1).request.hostname } });
    await expect(store.createOnboarding(sameHost, [EVENT], [])).rejects.toMatchObject({
      code: 'conflict',
      message: 'host1 is being onboarded already: run-1',
    });
    const sameBmc = run(3, { request: { ...run(3).request, bmcAddress: run(1).request.bmcAddress } });
    await expect(store.createOnboarding(sameBmc, [EVENT], [])).rejects.toMatchObject({
      code: 'conflict',
      message: 'the BMC 10.0.200.1, as host1, is being onboarded already: run-1',
    });
    expect(await allEvents(store)).toEqual([]);
    await store.updateOnboarding(next(run(1), { state: 'failed' }), [], []);
    await store.createOnboarding(sameHost, [], []);
    // The first run cannot be opened again meanwhile.
    const again = next(next(run(1), { state: 'failed' }), { state: 'running' });
    await expect(store.updateOnboarding(again, [], [])).rejects.toMatchObject({ code: 'conflict' });
  });

  it('rejects a write that is based on an older record, with its events', async () => {
    const { store } = opened();
    await store.createOnboarding(run(1), [], []);
    const first = next(run(1), { attempt: 2 });
    await store.updateOnboarding(first, [], []);
    await expect(store.updateOnboarding(next(run(1), { attempt: 9 }), [EVENT], [AUDIT])).rejects.toMatchObject({
      code: 'version_conflict',
    });
    expect(await store.onboarding(run(1).id)).toEqual(first);
    expect(await allEvents(store)).toEqual([]);
    expect(await store.auditEntries(0, 10)).toEqual([]);
    await expect(store.updateOnboarding(run(9), [], [])).rejects.toMatchObject({ code: 'not_found' });
  });

  it('lists runs, the newest first, and open runs, the oldest first', async () => {
    const { store } = opened();
    for (const n of [1, 2, 3]) await store.createOnboarding(run(n), [], []);
    await store.updateOnboarding(next(run(2), { state: 'completed' }), [], []);
    const ids = (runs: readonly Onboarding[]) => runs.map(({ id }) => id);
    expect(ids(await store.onboardings({ limit: 2 }))).toEqual(['run-3', 'run-2']);
    expect(ids(await store.onboardings({ limit: 9, state: 'completed' }))).toEqual(['run-2']);
    expect(ids(await store.onboardings({ limit: 9, hostname: 'host1' }))).toEqual(['run-1']);
    expect(ids(await store.openOnboardings())).toEqual(['run-1', 'run-3']);
  });

  it('knows whether a run of a site was completed', async () => {
    const { store } = opened();
    await store.createOnboarding(run(1), [], []);
    expect(await store.hasCompletedOnboarding('lab')).toBe(false);
    await store.updateOnboarding(next(run(1), { state: 'completed' }), [], []);
    expect([await store.hasCompletedOnboarding('lab'), await store.hasCompletedOnboarding('other')]).toEqual([
      true,
      false,
    ]);
  });
}
