import { describe, expect, it } from 'vitest';
import type { Lease } from '../../../appliance/domain/lease.ts';
import { LeaseWriter } from '../../../appliance/servers/dhcp/lease-writer.ts';

const lease = (at: number) => ({ address: `10.0.100.${at}` }) as Lease;

describe('leases of one commit', () => {
  it('are acknowledged in order, a few per turn, and all before the writer is idle', async () => {
    const answered: number[] = [];
    let inThisTurn = 0;
    let mostInATurn = 0;
    const endTurn = (): void => {
      inThisTurn = 0;
    };
    const writer = new LeaseWriter({ commitLeases: async () => undefined }, () => undefined);
    for (let at = 0; at < 100; at += 1) {
      writer.write(lease(at), (written) => {
        expect(written).toBe(true);
        answered.push(at);
        if (inThisTurn === 0) setImmediate(endTurn);
        inThisTurn += 1;
        mostInATurn = Math.max(mostInATurn, inThisTurn);
      });
    }
    await writer.idle();
    expect(answered).toEqual(Array.from({ length: 100 }, (_, at) => at));
    expect(mostInATurn).toBe(16);
  });

  it('are all refused when the commit fails', async () => {
    const failures: number[] = [];
    const results: boolean[] = [];
    const writer = new LeaseWriter({ commitLeases: () => Promise.reject(new Error('no disk')) }, (_, leases) =>
      failures.push(leases),
    );
    for (let at = 0; at < 40; at += 1) writer.write(lease(at), (written) => results.push(written));
    await writer.idle();
    expect(failures).toEqual([40]);
    expect(results).toEqual(Array.from({ length: 40 }, () => false));
  });
});
