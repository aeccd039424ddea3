import { expect, it } from 'vitest';
import type { RequestClaim, RequestOutcome } from '../../../appliance/store/request-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { NOW } from '../samples.ts';

const claim = (id: string, changes: Partial<RequestClaim> = {}): RequestClaim => ({
  id,
  fingerprint: 'print-1',
  operation: 'deployNode',
  holder: 'process-1',
  at: NOW,
  ...changes,
});
const ANSWER: RequestOutcome = { kind: 'answer', answer: { state: 'deploying', list: [1, null] } };
const NOTHING_EXPIRED = 0;

export function requestsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('lets exactly one of many callers run a request', async () => {
    const { store, another } = opened();
    const other = await another();
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? store : other).claimRequest(claim('r1', { holder: `process-${n}` }), NOTHING_EXPIRED),
      ),
    );
    expect(claims.filter((kept) => kept === null)).toHaveLength(1);
    const holders = new Set(claims.flatMap((kept) => kept?.holder ?? []));
    expect(holders.size).toBe(1);
  });

  it('stores the reply of a request unchanged', async () => {
    const { store } = opened();
    await store.claimRequest(claim('r1'), NOTHING_EXPIRED);
    expect(await store.claimRequest(claim('r1', { at: NOW + 1 }), NOTHING_EXPIRED)).toEqual({
      ...claim('r1'),
      finished: null,
    });
    await store.finishRequest('r1', 'process-1', NOW + 5, ANSWER);
    expect(await store.claimRequest(claim('r1', { fingerprint: 'print-2' }), NOTHING_EXPIRED)).toEqual({
      ...claim('r1'),
      finished: { at: NOW + 5, outcome: ANSWER },
    });
  });

  it('changes nothing for a process that does not run it, and nothing after it is finished', async () => {
    const { store } = opened();
    await store.claimRequest(claim('r1'), NOTHING_EXPIRED);
    await store.finishRequest('r1', 'process-2', NOW, ANSWER);
    await store.releaseRequest('r1', 'process-2');
    expect(await store.claimRequest(claim('r1'), NOTHING_EXPIRED)).toMatchObject({ finished: null });
    await store.finishRequest('r1', 'process-1', NOW + 1, ANSWER);
    await store.finishRequest('r1', 'process-1', NOW + 2, { kind: 'not-kept', because: 'size' });
    await store.releaseRequest('r1', 'process-1');
    expect(await store.claimRequest(claim('r1'), NOTHING_EXPIRED)).toMatchObject({
      finished: { at: NOW + 1, outcome: ANSWER },
    });
  });

  it('frees a key when nothing was done', async () => {
    const { store } = opened();
    await store.claimRequest(claim('r1'), NOTHING_EXPIRED);
    await store.releaseRequest('r1', 'process-1');
    expect(await store.claimRequest(claim('r1', { fingerprint: 'print-2' }), NOTHING_EXPIRED)).toBeNull();
  });

  it('transfers an unfinished request of a dead process to exactly one other', async () => {
    const { store } = opened();
    await store.claimRequest(claim('r1'), NOTHING_EXPIRED);
    const taken = await Promise.all(
      ['process-2', 'process-3'].map((holder) => store.takeOverRequest('r1', 'process-1', { holder, at: NOW + 9 })),
    );
    expect(taken.filter(Boolean)).toHaveLength(1);
    await store.finishRequest('r1', 'process-1', NOW + 10, ANSWER);
    expect(await store.claimRequest(claim('r1'), NOTHING_EXPIRED)).toMatchObject({ finished: null, at: NOW + 9 });
  });

  it('deletes an expired request when it is claimed again, and all expired ones when trimmed', async () => {
    const { store } = opened();
    await store.claimRequest(claim('r1'), NOTHING_EXPIRED);
    expect(await store.claimRequest(claim('r1', { at: NOW + 2 }), NOW)).not.toBeNull();
    expect(await store.claimRequest(claim('r1', { at: NOW + 2 }), NOW + 1)).toBeNull();
    await store.claimRequest(claim('r2', { at: NOW + 3 }), NOTHING_EXPIRED);
    expect(await store.trimRequests(NOW + 3)).toBe(1);
    expect(await store.trimRequests(NOW + 4)).toBe(1);
  });
}
