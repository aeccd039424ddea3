import { describe, expect, it } from 'vitest';
import { type Instant, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { type PowerEvidence, type PowerFact, weigh } from '../../appliance/domain/power-evidence.ts';

const START = Date.UTC(2026, 0, 1, 10);
const cut = (seconds: number): PowerFact => ({ kind: 'cut', at: at(seconds) });
const off = (seconds: number): PowerFact => ({ kind: 'reading', power: 'off', at: at(seconds) });
const on = (seconds: number): PowerFact => ({ kind: 'reading', power: 'on', at: at(seconds) });
const unknown = (seconds: number): PowerFact => ({ kind: 'reading', power: 'unknown', at: at(seconds) });
const heard = (seconds: number): PowerFact => ({ kind: 'heard', at: at(seconds) });
const started: PowerFact = { kind: 'started' };
const at = (seconds: number): Instant => START + seconds * SECOND;

/** The last verdict, and nothing before it. */
function verdict(facts: readonly PowerFact[]): string | null {
  let evidence: PowerEvidence | null = null;
  let twin: string | null = null;
  for (const [index, fact] of facts.entries()) {
    expect(twin, `a verdict before fact ${index}`).toBeNull();
    ({ evidence, twin } = weigh(evidence, fact));
  }
  return twin;
}

describe('two machines use one identity', () => {
  it.each<[string, readonly PowerFact[]]>([
    ['switched off by the appliance, heard, still off', [cut(0), heard(10), off(40)]],
    ['… with other readings before', [cut(0), off(1), off(20), heard(30), off(31)]],
    ['… with a reading that says nothing', [cut(0), heard(12), unknown(20), off(21)]],
    ['… with reports that came in time before', [cut(0), heard(2), heard(9), heard(11), off(12)]],
    ['… hours later, read shortly before', [cut(0), off(7200), heard(7230), off(7231)]],
    ['read as off for two minutes, heard twice in between', [off(0), heard(30), off(60), heard(90), off(121)]],
    ['… three times, the last one late enough', [off(0), heard(11), off(12), heard(13), off(14), heard(119), off(120)]],
  ])('%s', (_, facts) => {
    expect(verdict(facts)).toContain('still read off');
  });

  it('and the verdict says what was observed, and what else could be the cause', () => {
    expect(verdict([cut(0), heard(12), off(40)])).toBe(
      'the appliance switched its machine off, and its BMC has read off since 2026-01-01T10:00:00.000Z, but a request with its ' +
        'credentials came at 2026-01-01T10:00:12.000Z, and at 2026-01-01T10:00:40.000Z the BMC still read off. If the BMC address ' +
        'of the node is that of another machine, or the BMC reports a wrong power state, correct that and clear the quarantine',
    );
    expect(verdict([off(0), heard(30), off(60), heard(90), off(121)])).toMatch(/^its BMC has read off since/);
  });
});

describe('no alarm', () => {
  it.each<[string, readonly PowerFact[]]>([
    ['a report that was under way when the power went off', [cut(0), heard(9), off(60)]],
    ['nothing is heard', [cut(0), off(30), off(60)]],
    ['heard, but the next reading is on: somebody pressed the button', [cut(0), heard(60), on(61)]],
    ['heard, but the BMC does not answer', [cut(0), heard(60), unknown(61)]],
    ['switched on again by the appliance', [cut(0), started, heard(60), off(61)]],
    ['a node that reports, and whose BMC says on', [on(0), heard(30), on(60), heard(90), on(120)]],
    ['a single reading of off', [heard(0), off(1), heard(30)]],
    ['an old state for a minute after power on', [off(0), heard(20), off(21), heard(50), off(51), heard(70), on(71)]],
    ['one report between two readings, without a power-off by the appliance', [off(0), heard(60), off(125)]],
    ['readings far apart: it may have been on in between', [cut(0), heard(3600), off(3601)]],
    ['… twice', [off(0), heard(600), off(601), heard(1200), off(1201)]],
    ['a shutdown by its system: it reports while it goes down', [on(0), heard(5), heard(9), off(12), off(60)]],
  ])('%s', (_, facts) => {
    expect(verdict(facts)).toBeNull();
  });

  it('after a pause that is too long, the evidence begins anew', () => {
    const facts = [off(0), heard(30), off(30 + 4 * (MINUTE / SECOND)), heard(300), off(301)];
    expect(verdict(facts)).toBeNull();
  });
});
