import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AUDIT_GENESIS, auditText, type Json } from '../../../appliance/domain/event.ts';
import { type Engine, useStore } from '../engines.ts';
import { NOW, newAudit } from '../samples.ts';

export function auditContract(engine: Engine): void {
  const opened = useStore(engine);

  it('chains each entry to the previous one', async () => {
    const { store } = opened();
    const created = newAudit('token.create', { after: { role: 'admin' }, correlationId: 'c1', at: NOW + 1 });
    await store.appendAudit([created, newAudit('token.revoke')]);
    await store.appendAudit([newAudit('node.deploy')]);
    const entries = await store.auditEntries(0, 10);
    expect(entries[0]).toMatchObject({ ...created, seq: 1, previousHash: AUDIT_GENESIS });
    expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    for (const [index, { hash, ...content }] of entries.entries()) {
      expect(hash).toBe(createHash('sha256').update(auditText(content)).digest('hex'));
      if (index > 0) expect(content.previousHash).toBe(entries[index - 1]?.hash);
    }
    expect(await store.verifyAudit()).toEqual({ intact: true, entries: 3, head: entries[2]?.hash });
  });

  it('is intact when it is empty', async () => {
    const { store } = opened();
    await store.appendAudit([]);
    expect(await store.verifyAudit()).toEqual({ intact: true, entries: 0, head: AUDIT_GENESIS });
  });

  it('pages through its entries', async () => {
    const { store } = opened();
    await store.appendAudit(['a', 'b', 'c'].map((action) => newAudit(action)));
    expect((await store.auditEntries(1, 1)).map(({ action }) => action)).toEqual(['b']);
    expect((await store.auditEntries(1, 9)).map(({ action }) => action)).toEqual(['b', 'c']);
    expect(await store.auditEntries(3, 9)).toEqual([]);
  });

  it('stays one chain with concurrent writers', async () => {
    const { store, another } = opened();
    const other = await another();
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 ? store : other).appendAudit([newAudit('a'), newAudit('b')])),
    );
    expect(await store.verifyAudit()).toMatchObject({ intact: true, entries: 80 });
  });

  it('is verified over many pages, also while entries are appended', async () => {
    const { store } = opened();
    const entries = Array.from({ length: 1_250 }, (_, n) => newAudit('a', { after: { n } }));
    await store.appendAudit(entries);
    const [verdict] = await Promise.all([store.verifyAudit(), store.appendAudit(entries), store.appendAudit(entries)]);
    expect(verdict.intact).toBe(true);
    expect(await store.verifyAudit()).toMatchObject({ intact: true, entries: 3_750 });
  });

  it('stays intact with any text and JSON', async () => {
    const { store } = opened();
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom('\ud800', '\udc00', 'é') }));
    const json = fc.jsonValue({ stringUnit: 'binary' }) as fc.Arbitrary<Json>;
    const entry = fc.record({
      actor: text,
      action: text,
      target: text,
      correlationId: text,
      before: json,
      after: json,
    });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(entry, async (changes) => {
        await store.appendAudit([newAudit('any', changes)]);
        count += 1;
        expect(await store.verifyAudit()).toMatchObject({ intact: true, entries: count });
      }),
      { numRuns: 100 },
    );
  });

  it.each([
    ["update audit set actor = 'nobody'", 'audit entries are appended, never changed'],
    ['delete from audit', 'audit entries are never removed'],
    ['delete from audit_head', 'the head of the audit chain is never removed'],
  ])('refuses "%s"', async (sql, message) => {
    const { store, execute } = opened();
    await store.appendAudit([newAudit('a')]);
    await expect(execute(sql)).rejects.toThrow(message);
    expect(await store.verifyAudit()).toMatchObject({ intact: true, entries: 1 });
  });
}
