import { describe, expect, it } from 'vitest';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import { leaveHint } from '../../appliance/machines/leave-hint.ts';
import { TRANSITIONS } from '../../appliance/machines/transitions.ts';

const allows = (state: string, event: string): boolean =>
  TRANSITIONS.some((row) => row.from === state && row.event === event);

/** The event of a CLI verb, where the two have different names. */
const EVENT_OF: Readonly<Record<string, string>> = { 'end-rescue': 'rescue-ended' };

describe('advice for a node that cannot leave', () => {
  const refused = (['retire', 'remove'] as const).flatMap((event) =>
    LIFECYCLE_STATES.filter((state) => !allows(state, event)).map((state) => [event, state] as const),
  );

  it.each(refused)('after a refused %s from %s names only commands that the state allows', (event, state) => {
    const hint = leaveHint(event, state, 'node01');
    expect(hint).not.toContain(`coldiron ${event}`);
    const verbs = [...hint.matchAll(/coldiron ([\w-]+) node01/g)].map(([, verb]) => verb ?? '');
    for (const verb of verbs) expect(allows(state, EVENT_OF[verb] ?? verb), `${hint}: ${verb}`).toBe(true);
  });
});
