// A whole run through MAAS: from the request to its end, with the real runner, store and client, against the double.

import { ColdironError } from '../../../appliance/domain/errors.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { isOpen, type Onboarding, type OnboardingPolicy } from '../../../appliance/domain/onboarding.ts';
import { parsed } from '../../../appliance/domain/parsed.ts';
import { OnboardingRunner } from '../../../appliance/onboarding/onboarding-runner.ts';
import type { MaasClient } from '../../../appliance/providers/maas/maas-client.ts';
import { aRun, POLICY } from '../../onboarding-runs/world.ts';
import type { DoubleFault, DoubleOptions, MaasDouble } from './double/maas-double.ts';
import type { Behaviour } from './double/machine.ts';
import { S } from './double/machine.ts';
import { type MaasRig, openMaasRig, type Requests } from './rig.ts';

export interface Life {
  readonly options?: Partial<DoubleOptions>;
  readonly policy?: Partial<OnboardingPolicy>;
  readonly faults?: readonly DoubleFault[];
  /** Of the machine that the run creates. */
  readonly behaviour?: Behaviour;
  /** Machines that MAAS has before. */
  readonly before?: (double: MaasDouble) => void;
  /** Called between any two looks. */
  readonly meanwhile?: (rig: MaasRig, run: Onboarding) => Promise<void> | void;
  /** The installed system never enrolls. */
  readonly silent?: boolean;
  /** The process dies at this write, before or after it took effect. */
  readonly kill?: { readonly write: number; readonly after: boolean };
}

export interface Lived {
  readonly run: Onboarding;
  readonly rig: MaasRig;
  /** Writes to MAAS, in order. */
  readonly writes: readonly string[];
}

const STEP = 15 * SECOND;
const LONGEST = 6 * 60 * MINUTE;

export const MAAS_POLICY: OnboardingPolicy = { ...POLICY, provider: 'maas', deployMinutes: 40 };

/** `close` of the rig is up to the caller. */
export async function lived(life: Life): Promise<Lived> {
  const rig = await openMaasRig(life.options);
  const { clock, double, api } = rig;
  double.nextBehaviour = { ...life.behaviour };
  life.before?.(double);
  for (const fault of life.faults ?? []) double.fault(fault);
  const run = aRun({ provider: 'maas', createdAt: clock.now() });
  await api.store.createOnboarding(run, [], []);
  const policy = { ...MAAS_POLICY, ...life.policy };
  let killed = life.kill ?? null;
  const writes: string[] = [];
  const end = clock.now() + LONGEST;
  const read = async (): Promise<Onboarding> => (await api.store.onboarding(run.id)) ?? run;
  for (;;) {
    const process = startProcess(rig, policy, killed, writes);
    await process.runner.start();
    while (isOpen((await read()).state) && !process.isDead() && clock.now() < end) {
      await clock.advance(STEP, () => process.runner.idle());
      double.tick();
      const now = await read();
      await life.meanwhile?.(rig, now);
      const isDeployed = now.reference !== null && double.machines.get(now.reference)?.status === S.DEPLOYED;
      if (isDeployed && !life.silent && (await rig.nodeOf(now)).lifecycle.state === 'enrolling') await rig.enrolls(now);
    }
    await process.runner.stop();
    if (!process.isDead()) break;
    killed = null;
  }
  return { run: await read(), rig, writes };
}

function startProcess(rig: MaasRig, policy: OnboardingPolicy, kill: Life['kill'] | null, writes: string[]) {
  let isDead = false;
  let count = 0;
  const alive = async <T>(request: () => Promise<T>, isWrite: boolean, name: string): Promise<T> => {
    if (isDead) throw new Error('killed');
    if (isWrite) writes.push(name);
    const dies = isWrite && kill !== null && kill !== undefined && count++ === kill.write;
    if (dies && !kill.after) isDead = true;
    if (isDead) throw new Error('killed');
    const answer = await request();
    if (dies) isDead = true;
    if (isDead) throw new Error('killed');
    return answer;
  };
  const through = (client: MaasClient): Requests => ({
    get: (path, query) => alive(() => client.get(path, query), false, path),
    post: (path, op, form) => alive(() => client.post(path, op, form), true, `${op ?? 'create'}`),
    put: (path, form) => alive(() => client.put(path, form), true, 'put'),
  });
  const provider = rig.newProvider(through);
  const { store } = rig.api;
  const runner = new OnboardingRunner({
    store: {
      onboarding: (id) => store.onboarding(id),
      openOnboardings: () => store.openOnboardings(),
      // A dead process writes nothing.
      updateOnboarding: async (next, events, audit) => {
        if (isDead) throw new ColdironError('store_unavailable', 'killed');
        await store.updateOnboarding(next, events, audit);
      },
      subscribe: () => () => undefined,
    },
    providers: new Map([[provider.name, provider]]),
    policy: () => parsed(policy),
    clock: rig.clock,
    log: { warn: () => undefined, error: () => undefined },
  });
  return { runner, isDead: () => isDead };
}

/** How often each operation took effect, over all machines. */
export function effectsIn({ machines }: MaasDouble): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { effects } of machines.values())
    for (const [what, times] of Object.entries(effects)) sum[what] = (sum[what] ?? 0) + times;
  return sum;
}
