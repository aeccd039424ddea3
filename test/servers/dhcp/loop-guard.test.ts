import { expect, it } from 'vitest';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { parseMac } from '../../../appliance/domain/mac.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { LoopGuard } from '../../../appliance/servers/dhcp/loop-guard.ts';

const MAC = mustParse(parseMac('52:54:00:00:00:01'));
const FILE = 'ipxe.efi';

it('counts the boots of the current work only: two deployments that failed early are no loop', () => {
  const guard = new LoopGuard();
  const began = [0, MINUTE, 2 * MINUTE];
  const counted = began.map((since, at) => guard.sentTo(FILE, MAC, at, since + 1000, since));
  expect(counted).toEqual([null, null, null]);
  // The same work, without a new start.
  const [, , since = 0] = began;
  expect([3, 4].map((xid) => guard.sentTo(FILE, MAC, xid, since + xid * 10_000, since))).toEqual([null, 3]);
});
