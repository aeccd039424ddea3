// A runner over a store that tests can inspect, with a fake clock and fake handlers.

import type { EffectKind } from '../../appliance/domain/effect.ts';
import type { Instant } from '../../appliance/domain/instant.ts';
import type { Lifecycle } from '../../appliance/domain/lifecycle.ts';
import type { EffectHandler, EffectHandlers } from '../../appliance/machines/effects/handler.ts';
import { MachineCommands } from '../../appliance/machines/execute.ts';
import { LifecycleRunner } from '../../appliance/machines/runner.ts';
import { FakeClock } from './fake-clock.ts';
import { machineId, T0 } from './machines.ts';
import type { MemoryStore } from './memory-store.ts';

export const OPS = { actor: 'token:ops', correlationId: 'corr-1' };
export const NODE01 = machineId(1);

const done: EffectHandler = async () => ({ events: [] });
const HARMLESS: EffectHandlers = {
  'boot-from-network': done,
  'boot-from-disk': done,
  'power-off': done,
  'release-without-erase': done,
};

export interface Rig {
  readonly runner: LifecycleRunner;
  readonly commands: MachineCommands;
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  /** Every call of a handler, with the time and the state of the effect in the store. */
  readonly calls: { readonly kind: EffectKind; readonly at: Instant; readonly stored: string | undefined }[];
  readonly complaints: string[];
  pass(duration: number): Promise<void>;
  life(number?: number): Lifecycle | undefined;
}

export function aRig(
  store: MemoryStore,
  handlers: Partial<Record<EffectKind, EffectHandler>> = {},
  clock: FakeClock = new FakeClock(T0),
): Rig {
  const calls: { kind: EffectKind; at: Instant; stored: string | undefined }[] = [];
  const complaints: string[] = [];
  const all: EffectHandlers = { ...HARMLESS, ...handlers };
  const watched = Object.fromEntries(
    Object.entries(all).map(([kind, handler]): [string, EffectHandler] => [
      kind,
      (task) => {
        const stored = store.written.find((effect) => effect.id === task.effect.id)?.state;
        calls.push({ kind: task.effect.kind, at: clock.now(), stored });
        return handler(task);
      },
    ]),
  ) as Record<EffectKind, EffectHandler>;
  let ids = 0;
  const commands = new MachineCommands({
    store,
    now: () => clock.now(),
    deployMinutes: () => 30,
    newId: () => {
      ids += 1;
      return `id-${clock.now()}-${store.written.length}-${ids}`;
    },
  });
  const runner = new LifecycleRunner({
    store,
    commands,
    effects: watched,
    clock,
    log: {
      info: () => {},
      warn: (_, message) => complaints.push(message),
      error: (_, message) => complaints.push(message),
    },
  });
  return {
    runner,
    commands,
    store,
    clock,
    calls,
    complaints,
    pass: (duration) => clock.advance(duration, () => runner.idle()),
    life: (number = 1) => store.machines.get(machineId(number))?.lifecycle,
  };
}

/** A promise with its resolver. */
export function aGate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}
