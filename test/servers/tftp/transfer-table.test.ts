import { describe, expect, it } from 'vitest';
import type { TftpSession } from '../../../appliance/servers/tftp/tftp-session.ts';
import { TFTP_DEFAULTS } from '../../../appliance/servers/tftp/tftp-settings.ts';
import { TransferTable } from '../../../appliance/servers/tftp/transfer-table.ts';
import { endpointFrom } from '../../../appliance/servers/udp/endpoint.ts';

const FIRST = endpointFrom(0x0a00_0001, 2070);
const SECOND = endpointFrom(0x0a00_0001, 2071);

function tableAt(start: number) {
  let now = start;
  let run: (() => void) | null = null;
  const table = new TransferTable(TFTP_DEFAULTS, {
    now: () => now,
    every: (_period, each) => {
      run = each;
      return {
        cancel: () => {
          run = null;
        },
      };
    },
  });
  const pass = (ms: number): void => {
    now += ms;
    run?.();
  };
  return { table, pass, isTicking: () => run !== null };
}

/** Counts how often it is told. */
function transfer() {
  const told = { ticks: 0 };
  const onTick = (): void => {
    told.ticks += 1;
  };
  return { session: { onTick } as unknown as TftpSession, told };
}

describe('the transfers under way', () => {
  it('are told that time passes, all by one timer, which rests when there are none', () => {
    const { table, pass, isTicking } = tableAt(0);
    expect(isTicking()).toBe(false);
    const [one, other] = [transfer(), transfer()];
    table.enter(FIRST, one.session);
    table.enter(SECOND, other.session);
    pass(100);
    table.leave(FIRST);
    pass(100);
    expect([one.told.ticks, other.told.ticks]).toEqual([1, 2]);
    table.leave(SECOND);
    pass(3000);
    expect(isTicking()).toBe(false);
  });

  it('leave their client known for three seconds after the last of them has ended', () => {
    const { table, pass } = tableAt(0);
    table.enter(FIRST, transfer().session);
    expect(table.hasJustEnded(FIRST)).toBe(false);
    table.leave(FIRST);
    pass(2000);
    table.enter(SECOND, transfer().session);
    table.leave(SECOND);
    table.enter(FIRST, transfer().session);
    table.leave(FIRST);
    pass(2000);
    expect([table.hasJustEnded(FIRST), table.hasJustEnded(SECOND)]).toEqual([true, true]);
    pass(1000);
    expect([table.hasJustEnded(FIRST), table.hasJustEnded(SECOND)]).toEqual([false, false]);
  });

  it('are not known for a request that became none', () => {
    const { table } = tableAt(0);
    table.enter(FIRST, 'opening');
    table.leave(FIRST);
    expect(table.hasJustEnded(FIRST)).toBe(false);
    expect(table.size).toBe(0);
  });
});
