import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  declaredSet,
  type KeySetStep,
  keyLines,
  removedSet,
  rolledBack,
  rotationFinished,
  rotationStarted,
  rotationValidated,
} from '../../appliance/allocations/key-sets.ts';
import type { AccessVersion, KeySet, SshKey, SshKeyId } from '../../appliance/domain/access-object.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { objectName } from '../store/samples.ts';

const alice = objectName('alice');
const id = (n: number): SshKeyId => n.toString(16).padStart(32, '0') as SshKeyId;
const key = (n: number, removed = false): SshKey => ({
  ...{ owner: alice, line: `line ${n}`, fingerprint: `SHA256:${n}`, comment: '', removed },
});
const BOOK = new Map([1, 2, 3].map((n) => [id(n) as string, key(n)]));
const VALIDATION = { at: 1, host: 'node01', username: 'alice', hostKey: 'SHA256:h' };
const set = (keys: readonly SshKeyId[], rotation: KeySet['rotation'] = null): KeySet => ({
  ...{ owner: alice, keys, rotation, removed: false },
});
const written = (step: KeySetStep | null): KeySet => step?.value ?? expect.fail('no change');
const history = (...values: KeySet[]): AccessVersion<'key-set'>[] =>
  values
    .map((value, index) => ({
      ...{ kind: 'key-set' as const, name: 'ops', version: index + 1, at: index, actor: 'token:alice', value },
    }))
    .reverse();

describe('a key set', () => {
  it('has each key once, and is not written again when nothing changes', () => {
    const { keys } = written(declaredSet(null, alice, [id(1), id(2), id(1)], BOOK));
    expect(keys).toEqual([id(1), id(2)]);
    expect(declaredSet(set(keys), alice, [id(2), id(1)], BOOK)).toBeNull();
  });

  it.each([
    ['no key', [], /at least one/],
    ['an unknown key', [id(9)], /there is no SSH key/],
    ['too many keys', Array.from({ length: 33 }, (_, n) => id(n + 1)), /at most 32/],
  ])('is refused with %s', (_what, keys, reason) => {
    expect(() => declaredSet(null, alice, keys, BOOK)).toThrow(reason);
  });

  it('is refused with a removed key', () => {
    expect(() => declaredSet(null, alice, [id(1)], new Map([[id(1), key(1, true)]]))).toThrow(/is removed/);
  });

  it('writes no removed key to authorized_keys', () => {
    expect(keyLines([id(1), id(2), id(7)], new Map([...BOOK, [id(2), key(2, true)]]))).toEqual(['line 1']);
  });
});

describe('a rotation', () => {
  const started = written(rotationStarted(set([id(1)]), id(1), id(2), BOOK));

  it('adds the new key and keeps the old one', () => {
    expect(started.keys).toEqual([id(1), id(2)]);
    expect(rotationStarted(started, id(1), id(2), BOOK)).toBeNull();
  });

  it('does not remove the old key before the new one was validated', () => {
    expect(() => rotationFinished(started)).toThrow(/has not opened any login/);
    const validated = rotationValidated(started, id(2), VALIDATION).value;
    expect(rotationFinished(validated).value).toEqual(set([id(2)]));
  });

  it('cannot be mixed with another one or with new keys', () => {
    expect(() => rotationStarted(started, id(1), id(3), BOOK)).toThrow(/is being replaced/);
    expect(() => declaredSet(started, alice, [id(3)], BOOK)).toThrow(/is being replaced/);
    expect(() => rotationValidated(started, id(3), VALIDATION)).toThrow(/meanwhile/);
  });

  it.each([
    ['a key that is not in the set', id(3), id(2), /not in this set/],
    ['a key by itself', id(1), id(1), /is the old key/],
    ['an unknown key', id(1), id(9), /there is no SSH key/],
  ])('does not replace %s', (_what, from, to, reason) => {
    expect(() => rotationStarted(set([id(1)]), from, to, BOOK)).toThrow(reason);
  });

  it('is undone by a rollback, which does not continue an old rotation', () => {
    expect(rolledBack(history(set([id(1)]), started), undefined, BOOK).value).toEqual(set([id(1)]));
    expect(rolledBack(history(started, set([id(2)])), 1, BOOK).value).toEqual(set([id(1), id(2)]));
  });
});

describe('a rollback', () => {
  const removed = removedSet(set([id(1)])).value;

  it('restores a removed set', () => {
    expect(rolledBack(history(set([id(1)]), removed), undefined, BOOK).value).toEqual(set([id(1)]));
  });

  it.each([
    ['without an earlier version', history(set([id(1)])), undefined, /no earlier version/],
    ['to the current version', history(set([id(1)])), 1, /not an earlier version/],
    ['to a version that never was', history(set([id(1)])), 7, /not an earlier version/],
    ['to a removed version', history(removed, set([id(1)])), undefined, /removed/],
    ['to a key that was removed since', history(set([id(9)]), set([id(1)])), undefined, /there is no SSH key/],
  ])('is refused %s', (_what, versions, target, reason) => {
    expect(() => rolledBack(versions, target, BOOK)).toThrow(reason);
  });
});

describe('any sequence of requests', () => {
  const number = fc.integer({ min: 1, max: 3 });
  const request = fc.oneof(
    fc.record({ do: fc.constant('declare' as const), keys: fc.array(number, { maxLength: 4 }) }),
    fc.record({ do: fc.constant('rotate' as const), from: number, to: number }),
    fc.record({ do: fc.constant('validate' as const), to: number }),
    fc.record({ do: fc.constantFrom('finish' as const, 'rollback' as const) }),
  );

  it('never leaves a set without a key, and never loses the old key before the new one is validated', () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
        const versions = history(set([id(1)]));
        for (const each of requests) {
          const before = versions[0]?.value ?? expect.fail('no version');
          let step: KeySetStep | null = null;
          try {
            if (each.do === 'declare') step = declaredSet(before, alice, each.keys.map(id), BOOK);
            else if (each.do === 'rotate') step = rotationStarted(before, id(each.from), id(each.to), BOOK);
            else if (each.do === 'validate') step = rotationValidated(before, id(each.to), VALIDATION);
            else if (each.do === 'finish') step = rotationFinished(before);
            else step = rolledBack(versions, undefined, BOOK);
          } catch (error) {
            if (!(error instanceof ColdironError)) throw error;
          }
          if (!step) continue;
          const { keys, rotation } = step.value;
          expect(keys.length).toBeGreaterThan(0);
          if (rotation) expect(keys).toEqual(expect.arrayContaining([rotation.from, rotation.to]));
          if (before.rotation && !keys.includes(before.rotation.from) && each.do !== 'rollback') {
            expect(before.rotation.validation).not.toBeNull();
          }
          versions.unshift({ ...(versions[0] ?? expect.fail()), version: versions.length + 1, value: step.value });
        }
      }),
    );
  });
});
