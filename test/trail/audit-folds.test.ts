import { describe, expect, it } from 'vitest';
import type { NewAuditEntry } from '../../appliance/domain/event.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { AuditFolds } from '../../appliance/trail/audit-folds.ts';

const entry = (at: number, target = 'node:node01', action = 'session.refused'): NewAuditEntry => ({
  at,
  actor: 'machine:node01',
  action,
  target,
  correlationId: 'c1',
  before: null,
  after: { reason: `at ${at}` },
});

describe('audit entries about refused requests', () => {
  it('are written for the first five about a target, then counted, and the count is written after a minute', () => {
    const folds = new AuditFolds();
    const admitted = Array.from({ length: 2000 }, (_, n) => folds.admits(entry(n)));
    expect(admitted.filter(Boolean)).toHaveLength(5);
    expect(folds.due(MINUTE - 1)).toEqual([]);
    expect(folds.due(MINUTE)).toEqual([
      {
        ...entry(MINUTE),
        correlationId: null,
        after: { count: 1995, seconds: 60, last: { reason: 'at 1999' } },
      },
    ]);
    expect(folds.due(MINUTE)).toEqual([]);
  });

  it('fill about one row an hour during a flood of a day, and none is lost from the count', () => {
    const folds = new AuditFolds();
    const rows: NewAuditEntry[] = [];
    let own = 0;
    for (let at = 0; at < DAY; at += SECOND) {
      if (folds.admits(entry(at))) own += 1;
      rows.push(...folds.due(at));
    }
    rows.push(...folds.due(DAY, true));
    expect(own).toBe(5);
    expect(rows.length).toBeLessThan(32);
    expect(rows.reduce((sum, { after }) => sum + (after as { count: number }).count, own)).toBe(DAY / SECOND);
  });

  it('are written one by one again after a period without any', () => {
    const folds = new AuditFolds();
    for (let n = 0; n < 10; n += 1) folds.admits(entry(n));
    folds.due(MINUTE);
    folds.due(3 * MINUTE);
    expect(folds.admits(entry(3 * MINUTE))).toBe(true);
  });

  it('share one count when there are too many targets, whose names may be invented', () => {
    const folds = new AuditFolds();
    const rows: NewAuditEntry[] = [];
    let own = 0;
    for (let n = 0; n < 100_000; n += 1)
      if (folds.admits(entry(n / 10, `node:invented-${n}`, 'node.enrollment_refused'))) own += 1;
    rows.push(...folds.due(HOUR, true));
    expect(own + rows.length).toBeLessThan(100);
    expect(rows.map(({ target }) => target)).toEqual(['others']);
  });

  it('are due again when they could not be written', () => {
    const folds = new AuditFolds();
    for (let n = 0; n < 10; n += 1) folds.admits(entry(n));
    const due = folds.due(MINUTE);
    folds.putBack(due);
    expect(folds.due(MINUTE)).toEqual(due);
  });

  it('of any other action are all written', () => {
    const folds = new AuditFolds();
    const admitted = Array.from({ length: 1000 }, (_, n) => folds.admits(entry(n, 'node:node01', 'session.opened')));
    expect(admitted).not.toContain(false);
  });
});
