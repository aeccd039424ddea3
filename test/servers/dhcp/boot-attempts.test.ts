import { describe, expect, it } from 'vitest';
import type { Json } from '../../../appliance/domain/event.ts';
import { eventSentence } from '../../../appliance/domain/events/known-event.ts';
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

describe('an offer without a boot file', () => {
  const turn = async (): Promise<void> => undefined;

  it('says why, in the event and as a warning in the log, once a minute', async () => {
    const rig = new Rig({ available: () => false });
    await rig.server.start();
    for (const xid of [7, 8]) {
      rig.receives(packet('discover', mac(1), { options: FIRMWARE, xid }));
      await rig.clock.advance(4 * SECOND, turn);
    }
    const [offer] = rig.notes.filter(({ kind }) => kind === 'dhcp.offer');
    const data = offer?.data as { file?: string; no_file?: string };
    expect(data.file).toBeUndefined();
    expect(data.no_file).toMatch(/^no loader .*architecture 7.*missing or damaged on this appliance/);
    const sentence = eventSentence({ kind: 'dhcp.offer', actor: 'mac', data: offer?.data as unknown as Json });
    expect(sentence).toMatch(/^DHCP offer: 10\.0\.100\.\d+, no boot file: no loader/);
    expect(rig.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(rig.lines.find(({ level }) => level === 'warn')?.message).toMatch(
      /^dhcp: no boot file is offered: no loader/,
    );
  });

  it('needs no reason for an operating system', async () => {
    const rig = new Rig({ available: () => false });
    await rig.server.start();
    rig.receives(packet('discover', mac(1)));
    const [offer] = rig.notes.filter(({ kind }) => kind === 'dhcp.offer');
    expect(offer?.data).not.toHaveProperty('no_file');
  });
});
