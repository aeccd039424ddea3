// A retired node returns to use only if its agent has not gone silent: nothing could be scheduled on it otherwise.

import { describe, expect, it } from 'vitest';
import { moved } from '../../../appliance/machines/commands/move.ts';
import { aLife, aMachine, T0 } from '../machines.ts';

const CONTEXT = { now: T0, id: 'id-1', deployMinutes: 60 };
const ORIGIN = { actor: 'token:ops', correlationId: 'corr-1' };

describe('a retired node', () => {
  it.each([
    ['online', 'active', 'change'],
    ['silent', 'active', 'refused'],
    ['unknown', 'active', 'change'],
    ['unknown', 'ready', 'change'],
  ] as const)('whose agent is %s and that was %s: reactivate is a %s', (health, resume, outcome) => {
    const machine = { ...aMachine({ lifecycle: aLife('retired', { resume }) }), health };
    const decision = moved(machine, { event: 'reactivate', origin: ORIGIN }, CONTEXT);
    expect(decision.outcome).toBe(outcome);
    if (decision.outcome !== 'refused') return;
    expect(decision.refusal).toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/its agent has stopped/),
    });
  });
});
