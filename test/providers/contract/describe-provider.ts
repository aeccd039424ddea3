// The contract of an onboarding provider (appliance/onboarding/provider.ts): each implementation runs it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Onboarding, OnboardingAction, OnboardingId } from '../../../appliance/domain/onboarding.ts';
import { findMachine } from '../../../appliance/onboarding/discovery-order.ts';
import type { ActionResult, OnboardingProvider } from '../../../appliance/onboarding/provider.ts';
import { acted, begun } from '../../../appliance/onboarding/run-changes.ts';
import { aRun, POLICY } from '../../onboarding-runs/world.ts';

export interface ProviderRig {
  readonly provider: OnboardingProvider;
  readonly now: () => number;
  /** What its machine does next: the provider learns it as it would from a real one. */
  readonly becomes: (run: Onboarding, stage: 'ready' | 'enrolling' | 'active' | 'failed') => Promise<void>;
  /** A machine that was just created would be recognized when it boots. */
  readonly recognizes: boolean;
  /** Its first network card becomes known. */
  readonly showsItself: (run: Onboarding) => Promise<void>;
  /** How often work of this kind was really started. */
  readonly started: (run: Onboarding, work: 'commission' | 'deploy') => Promise<number>;
  /** Time passes, for a provider that needs it. */
  readonly wait: () => Promise<void>;
  readonly close: () => Promise<void>;
}

const MOST_TRIES = 60;

export function describeProvider(name: string, open: () => Promise<ProviderRig>): void {
  describe(`the provider ${name}`, () => {
    let rig: ProviderRig;
    let run: Onboarding;
    beforeEach(async () => {
      rig = await open();
      run = aRun({ id: '5b0e2b54-0000-4000-8000-000000000001' as OnboardingId, provider: rig.provider.name });
    });
    afterEach(() => rig.close());

    const act = async (action: OnboardingAction, id = `${run.id}.${run.attempt}.${action}`): Promise<ActionResult> => {
      const { candidates } = await rig.provider.observe(run, { explain: false });
      const target = action === 'adopt' ? (candidates[0]?.id ?? null) : null;
      run = begun(run, action, rig.now()).run;
      const result = await rig.provider.act(run, { action, target }, POLICY, id, rig.now());
      run = acted(run, action, result, POLICY, rig.now()).run;
      return result;
    };
    /** As the runner does it: what may succeed later is tried again. */
    const acts = async (action: OnboardingAction, id?: string): Promise<ActionResult> => {
      for (let tries = 1; ; tries += 1) {
        const result = await act(action, id);
        if (result.ok || !result.later || tries === MOST_TRIES) return result;
        await rig.wait();
      }
    };
    const machine = async () => (await rig.provider.observe(run, { explain: false })).machine;
    const ready = async (): Promise<void> => {
      await act('create');
      await rig.showsItself(run);
      expect(await act('commission')).toMatchObject({ ok: true });
      await rig.becomes(run, 'ready');
      expect(await acts('check-predeploy')).toMatchObject({ ok: true });
    };

    it('finds nothing at first, creates a machine, and finds it by its host name from then on', async () => {
      const { candidates } = await rig.provider.observe(run, { explain: false });
      expect(findMachine(run.request, candidates, POLICY)).toEqual({ kind: 'create' });
      const before = run;
      expect(await act('create')).toMatchObject({ ok: true, reference: expect.any(String) });
      expect(await machine()).toMatchObject({ stage: 'new', recognizable: rig.recognizes, work: null, failure: null });
      const found = await rig.provider.observe(before, { explain: false });
      expect(findMachine(run.request, found.candidates, POLICY)).toMatchObject({ kind: 'use', by: 'hostname' });
      run = before;
      expect(await act('adopt')).toMatchObject({ ok: true, reference: found.candidates[0]?.id });
    });

    it('starts work once for each id, and answers a repetition as the first time', async () => {
      await ready();
      expect(await rig.started(run, 'commission')).toBe(1);
      const first = await act('deploy', 'once');
      expect(first).toMatchObject({ ok: true, work: expect.any(String) });
      expect(await act('deploy', 'once')).toEqual(first);
      expect(await rig.started(run, 'deploy')).toBe(1);
      expect(await machine()).toMatchObject({ stage: 'deploying', work: run.work });
      await rig.becomes(run, 'enrolling');
      expect(await act('deploy', 'once')).toEqual(first);
      expect(await machine()).toMatchObject({ stage: 'enrolling' });
    });

    it('reports each stage, and keeps the id of the deployment until the next one', async () => {
      await ready();
      await act('deploy');
      const { work } = run;
      await rig.becomes(run, 'enrolling');
      expect(await machine()).toMatchObject({ stage: 'enrolling', work });
      await rig.becomes(run, 'active');
      expect(await machine()).toMatchObject({ stage: 'active', work, failure: null });
    });

    it('reports a failure with its class, returns the machine to ready, and deploys again with another id', async () => {
      await ready();
      await act('deploy', 'first');
      const { work } = run;
      await rig.becomes(run, 'failed');
      expect(await machine()).toMatchObject({ stage: 'failed', failure: { class: 'datasource' } });
      expect(await acts('return-to-ready')).toMatchObject({ ok: true });
      expect(await machine()).toMatchObject({ stage: 'ready' });
      expect(await acts('deploy', 'second')).toMatchObject({ ok: true });
      expect(run.work).not.toBe(work);
      expect(await rig.started(run, 'deploy')).toBe(2);
    });

    it('stops work that is in progress', async () => {
      await ready();
      await act('deploy');
      expect(await acts('abort')).toMatchObject({ ok: true });
      expect(['ready', 'failed']).toContain((await machine())?.stage);
    });

    it('refuses what is not possible, with a reason, and changes nothing', async () => {
      await act('create');
      const refused = await act('deploy');
      expect(refused).toMatchObject({ ok: false, later: false, reason: expect.stringMatching(/\w{3,}/) });
      expect(await machine()).toMatchObject({ stage: 'new', work: null });
    });
  });
}
