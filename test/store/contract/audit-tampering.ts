import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { auditText } from '../../../appliance/domain/event.ts';
import { type Engine, useStore } from '../engines.ts';
import { newAudit } from '../samples.ts';

const CHANGED = 'entry 2 was changed: its content does not match its hash';

/** Changes to a chain of four entries, and where verification reports them. */
const CASES: readonly (readonly [what: string, sql: string[], seq: number, reason: string])[] = [
  ['a changed actor', ["update audit set actor = 'nobody' where seq = 2"], 2, CHANGED],
  ['a changed action', ["update audit set action = 'x' where seq = 2"], 2, CHANGED],
  ['a changed target', ["update audit set target = 'x' where seq = 2"], 2, CHANGED],
  ['a changed time', ['update audit set at = at + 1 where seq = 2'], 2, CHANGED],
  ['a changed correlation', ["update audit set correlation_id = 'x' where seq = 2"], 2, CHANGED],
  ['a changed value before', [`update audit set before = '{"n":9}' where seq = 2`], 2, CHANGED],
  ['a changed value after', ["update audit set after = 'null' where seq = 2"], 2, CHANGED],
  ['a value that is not JSON', ["update audit set after = 'gone' where seq = 2"], 2, CHANGED],
  ['a changed hash', ["update audit set hash = '00' where seq = 2"], 2, CHANGED],
  ['a changed link', ["update audit set previous_hash = '00' where seq = 2"], 2, CHANGED],
  ['a missing entry', ['delete from audit where seq = 3'], 3, 'entry 3 is missing'],
  ['a missing first entry', ['delete from audit where seq = 1'], 1, 'entry 1 is missing'],
  [
    'swapped entries',
    [
      'update audit set seq = 99 where seq = 2',
      'update audit set seq = 2 where seq = 3',
      'update audit set seq = 3 where seq = 99',
    ],
    2,
    CHANGED,
  ],
  [
    'an entry before the first',
    [
      'insert into audit select 0, at, actor, action, target, correlation_id, before, after, previous_hash, hash from audit where seq = 1',
    ],
    0,
    'entry 0 was added before the first one',
  ],
  [
    'an entry after the head',
    ['update audit_head set seq = 3, hash = (select hash from audit where seq = 3)'],
    4,
    'entry 4 was added after the head, which names entry 3',
  ],
  [
    'a truncated end',
    ['delete from audit where seq >= 3'],
    3,
    'the chain was truncated: it stops at entry 2, its head names entry 4',
  ],
  [
    'an emptied chain',
    ['delete from audit'],
    1,
    'the chain was truncated: it stops at entry 0, its head names entry 4',
  ],
  ['a changed head', ["update audit_head set hash = '00'"], 4, 'the head of the chain does not match entry 4'],
  [
    'a missing head',
    ['delete from audit_head'],
    4,
    'the head of the chain is missing: the end of the chain cannot be verified',
  ],
];

export function auditTamperingContract(engine: Engine): void {
  const opened = useStore(engine);
  const four = [1, 2, 3, 4].map((n) => newAudit(`action${n}`, { before: { n }, after: { n: n + 1 } }));

  it.each(CASES)('is detected by %s', async (_, sql, seq, reason) => {
    const { store, tamper } = opened();
    await store.appendAudit(four);
    expect(await store.verifyAudit()).toMatchObject({ intact: true, entries: 4 });
    await tamper(...sql);
    const entries = Math.min(Math.max(seq - 1, 0), 4);
    const verdict = await store.verifyAudit();
    expect(verdict).toMatchObject({ intact: false, seq, reason });
    // Only the head is wrong: all four entries before it are intact.
    expect(verdict.entries).toBe(
      reason.includes('head of the chain') || reason.includes('after the head') ? 4 : entries,
    );
  });

  it('is detected by an entry that was replaced together with its hash', async () => {
    const { store, tamper } = opened();
    await store.appendAudit(four);
    const [, second] = await store.auditEntries(0, 2);
    if (!second) throw new Error('four entries were written');
    const { hash: _, ...content } = { ...second, actor: 'nobody' };
    const hash = createHash('sha256').update(auditText(content)).digest('hex');
    await tamper(`update audit set actor = 'nobody', hash = '${hash}' where seq = 2`);
    expect(await store.verifyAudit()).toEqual({
      intact: false,
      entries: 2,
      seq: 3,
      reason: 'entry 3 does not follow entry 2: one of them was replaced or moved',
    });
  });

  it('is detected by a first entry with another previous hash', async () => {
    const { store, tamper } = opened();
    await store.appendAudit(four);
    const [first] = await store.auditEntries(0, 1);
    if (!first) throw new Error('four entries were written');
    const { hash: _, ...content } = { ...first, previousHash: 'f'.repeat(64) };
    const hash = createHash('sha256').update(auditText(content)).digest('hex');
    await tamper(`update audit set previous_hash = '${content.previousHash}', hash = '${hash}' where seq = 1`);
    expect(await store.verifyAudit()).toMatchObject({
      seq: 1,
      reason: 'entry 1 does not follow the start of the chain: one of them was replaced or moved',
    });
  });

  it('is detected far after the first page', async () => {
    const { store, tamper } = opened();
    await store.appendAudit(Array.from({ length: 1_100 }, () => newAudit('a')));
    await tamper("update audit set target = 'node:node2' where seq = 1042");
    expect(await store.verifyAudit()).toMatchObject({ intact: false, entries: 1_041, seq: 1_042 });
  });
}
