import { describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { mac } from '../../boot/leases/lease-fixtures.ts';
import { FIRMWARE, packet, Rig } from './rig.ts';

async function attemptsBegun(discovers: readonly { readonly xid: number; readonly after: number }[]) {
  const rig = new Rig();
  await rig.server.start();
  for (const { xid, after } of discovers) {
    await rig.clock.advance(after, async () => undefined);
    rig.receives(packet('discover', mac(1), { options: FIRMWARE, xid }));
  }
  return rig.notes.filter(({ kind }) => kind === 'dhcp.discover').map(({ beginsAttempt }) => beginsAttempt);
}

describe('a boot attempt', () => {
  it('begins with the first DISCOVER of firmware, and not again when it is retransmitted', async () => {
    const repeated = [0, 4, 8, 16].map((seconds) => ({ xid: 7, after: seconds * SECOND }));
    expect(await attemptsBegun(repeated)).toEqual([true, false, false, false]);
  });

  it('begins with a new transaction, and with the same one when it arrives much later', async () => {
    const boots = [
      { xid: 7, after: 0 },
      { xid: 8, after: 4 * SECOND },
      { xid: 7, after: 2 * MINUTE },
    ];
    expect(await attemptsBegun(boots)).toEqual([true, true, true]);
  });
});
