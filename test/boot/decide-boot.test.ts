import { describe, expect, it } from 'vitest';
import { decideBoot } from '../../appliance/boot/decide-boot.ts';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import { BOOT_CASES } from './boot-cases.ts';
import {
  eraseIntentWith,
  factsOf,
  intentWith,
  machineIn,
  NOW,
  networkWith,
  OTHER_UUID,
  profileWith,
  UUID,
} from './boot-fixtures.ts';

const ask = (changes: Partial<Parameters<typeof decideBoot>[0]>) =>
  decideBoot({
    facts: factsOf(7),
    machine: machineIn('registered'),
    network: networkWith(),
    profile: profileWith(),
    now: NOW,
    ...changes,
  });

describe('the boot decision', () => {
  it.each(BOOT_CASES)('gives $sentence: $because', ({ question, gets, because }) => {
    const decision = decideBoot(question);
    if (typeof gets === 'string') expect(decision.outcome.kind).toBe(gets);
    else expect(decision.outcome).toEqual(gets);
    expect(decision.because.id).toBe(because);
  });

  it('is tested for every state', () => {
    const tested = new Set(BOOT_CASES.map(({ question }) => question.machine?.lifecycle.state));
    expect(LIFECYCLE_STATES.filter((state) => !tested.has(state))).toEqual([]);
  });

  it.each(LIFECYCLE_STATES)('refuses another chassis with the MAC of a machine that is %s, and reports it', (state) => {
    const intent = state === 'releasing' ? eraseIntentWith() : intentWith();
    for (const unknown of ['ignore', 'refuse', 'local-disk', 'inspect'] as const) {
      const decision = ask({
        machine: machineIn(state, { intent }),
        facts: factsOf(7, { uuid: OTHER_UUID }),
        network: networkWith({ unknown }),
      });
      expect(decision.outcome.kind).toBe('refusal');
      expect(decision.because.id).toBe(state === 'removed' ? 'removed' : 'chassis-mismatch');
      expect(decision.findings).toEqual([{ kind: 'chassis-mismatch', expected: UUID, seen: OTHER_UUID }]);
    }
  });

  it('reports another chassis even where it sends no reply', () => {
    const decision = ask({ facts: factsOf(7, { uuid: OTHER_UUID }), network: null });
    expect(decision.outcome.kind).toBe('silent');
    expect(decision.findings.map((finding) => finding.kind)).toEqual(['chassis-mismatch']);
  });

  it('accepts any UUID for a machine without a declared UUID', () => {
    const machine = machineIn('commissioning', { spec: { uuid: null } });
    const decision = ask({ machine, facts: factsOf(7, { uuid: OTHER_UUID }) });
    expect(decision.outcome).toEqual({ kind: 'service-os', mode: 'commission' });
    expect(decision.findings).toEqual([]);
  });

  it('reports another architecture, whatever the machine gets', () => {
    const seen = { kind: 'architecture-mismatch', expected: 'x86_64', seen: 'arm64' };
    expect(ask({ facts: factsOf(11) }).findings).toEqual([seen]);
    expect(ask({ facts: factsOf(11), machine: machineIn('rescue') }).findings).toEqual([seen]);
  });

  it('says what to do in every refusal', () => {
    for (const { question, sentence } of BOOT_CASES) {
      const { outcome } = decideBoot(question);
      if (outcome.kind === 'refusal') expect(outcome.whatToDo, sentence).toMatch(/\w+ \w+/);
    }
  });

  it('names the expired intent, its time, and how to arm it again', () => {
    const { because } = ask({ machine: machineIn('deploying', { intent: intentWith({ expiresAt: NOW - 1000 }) }) });
    expect(because.words).toBe(
      'the armed installation of node01 expired at 2026-01-10T11:59:59.000Z, so it boots from its own disk',
    );
    expect(because.hint).toBe('If it is still wanted, arm it again: coldiron deploy node01');
  });

  it('says why a machine failed or is quarantined, without control characters', () => {
    const failure = { step: 'deploy', reason: 'disk \u001b[31m0' } as const;
    expect(ask({ machine: machineIn('failed', { lifecycle: { failure } }) }).because.words).toBe(
      'node01 failed (deploy: disk \\u001b[31m0), so it boots from its own disk',
    );
    expect(ask({ machine: machineIn('quarantined', { lifecycle: { note: 'seen twice' } }) }).because.words).toBe(
      'node01 is quarantined: seen twice',
    );
  });
});
