// Every lifecycle that is reachable from discovered or registered, walked with the real step.

import type { Lifecycle } from '../../appliance/domain/lifecycle.ts';
import { possibleEvents, step } from '../../appliance/machines/step.ts';
import { aLife, T0 } from './machines.ts';

export function everyLife(): Lifecycle[] {
  const reached = new Map<string, Lifecycle>();
  const open: Lifecycle[] = [aLife('discovered'), aLife('registered')];
  for (let life = open.pop(); life; life = open.pop()) {
    const key = lifeKey(life);
    if (reached.has(key)) continue;
    reached.set(key, life);
    for (const event of possibleEvents(life)) {
      const result = step(life, event, { now: T0, profileDeployMinutes: null });
      if (result.moved) open.push(result.lifecycle);
    }
  }
  return [...reached.values()];
}

/** Everything that decides which events are possible next. */
export const lifeKey = ({ state, resume, thenResume, failure, fallbackUsed }: Lifecycle): string =>
  JSON.stringify([state, resume, thenResume ?? null, failure?.step ?? null, fallbackUsed]);
