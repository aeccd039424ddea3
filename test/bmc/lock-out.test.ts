import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOCK_OUT, LockOut } from '../../appliance/bmc/lock-out.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';

/** Fails with each credential in turn if it is allowed, one second apart; returns the allowed ones. */
function fails(lockOut: LockOut, ...credentials: readonly string[]): string {
  let now = 0;
  return credentials
    .map((credential) => {
      now += 1000;
      if (lockOut.lockedUntil(credential, now) !== null) return '-';
      lockOut.failed(credential, now);
      return credential;
    })
    .join('');
}

describe('the lock-out', () => {
  it.each([
    ['allows two failures of the same credential', 'aaa', 'aa-'],
    ['allows one failure each of two credentials', 'abab', 'ab--'],
    ['allows a corrected credential, and still blocks the wrong one', 'aabab', 'aab-b'],
    ['also locks the corrected credential after two failures', 'aabbb', 'aabb-'],
  ])('%s', (_sentence, tried, passed) => {
    expect(fails(new LockOut(), ...tried)).toBe(passed);
  });

  it('ends after five minutes, or after a successful login', () => {
    const lockOut = new LockOut();
    fails(lockOut, 'a', 'a');
    expect(lockOut.lockedUntil('a', 2000)).toBe(2000 + 5 * MINUTE);
    expect(lockOut.lockedUntil('a', 2000 + 5 * MINUTE)).toBeNull();
    fails(lockOut, 'a', 'a');
    lockOut.succeeded();
    expect(lockOut.lockedUntil('a', 3000)).toBeNull();
  });

  it('never allows more than two failures of one credential in five minutes, in any order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 2 * MINUTE }))),
        (visits) => {
          const lockOut = new LockOut();
          const failures: { credential: string; at: number }[] = [];
          let now = 0;
          for (const [credential, later] of visits) {
            now += later;
            if (lockOut.lockedUntil(credential, now) !== null) continue;
            lockOut.failed(credential, now);
            failures.push({ credential, at: now });
            const recent = failures.filter((one) => one.credential === credential && now - one.at < LOCK_OUT.lockedFor);
            expect(recent.length).toBeLessThanOrEqual(LOCK_OUT.failuresAllowed);
          }
        },
      ),
    );
  });
});
