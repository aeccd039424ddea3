import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import { SharedConsole } from '../../../appliance/bmc/console/shared-console.ts';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { FakeSessions, Screen } from './fake-session.ts';

function hub() {
  const clock = new VirtualClock();
  const bmc = new FakeSessions();
  const idle: string[] = [];
  const shared = new SharedConsole({ clock, open: bmc.open, onIdle: () => void idle.push('idle') });
  const view = async (who: string, request: { readOnly?: boolean; steal?: boolean } = {}) =>
    new Screen(await shared.view({ who, readOnly: false, steal: false, ...request }));
  const follow = () => {
    const troubles: [string, boolean][] = [];
    const opened: string[] = [];
    const seat = shared.follow({
      who: 'capture',
      opened: () => void opened.push('opened'),
      trouble: (error: BmcError, gaveUp) => void troubles.push([error.failure, gaveUp]),
    });
    return { screen: new Screen(seat), seat, troubles, opened: () => opened.length };
  };
  return { clock, bmc, shared, view, follow, idle: () => idle.length };
}

/** Lets everything that is ready happen. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
};

const type = (screen: Screen, text: string): void => screen.console.write(Buffer.from(text));

describe('a shared console', () => {
  it('has one session for all readers, and closes it some seconds after the last', async () => {
    const { clock, bmc, view, follow, idle } = hub();
    const { screen: capture, seat } = follow();
    await settled();
    const [alice, bob] = [await view('alice'), await view('bob', { readOnly: true })];
    bmc.print('login: ');
    await settled();
    expect([capture.shown, alice.shown, bob.shown]).toEqual(['login: ', 'login: ', 'login: ']);
    expect(bmc.opened).toEqual([{ steal: false }]);
    await Promise.all([alice.console.close(), bob.console.close()]);
    await clock.advance(MINUTE);
    expect([bmc.active, idle()]).toEqual([1, 0]);
    await seat.close();
    expect(bmc.active).toBe(1);
    await clock.advance(3 * SECOND);
    expect([bmc.active, idle()]).toEqual([0, 1]);
  });

  it('stays open for a reader that comes within those seconds', async () => {
    const { clock, bmc, view } = hub();
    await (await view('alice')).console.close();
    await clock.advance(SECOND);
    await view('bob');
    await clock.advance(MINUTE);
    expect([bmc.opened.length, bmc.active]).toEqual([1, 1]);
  });

  it('shows the end of the output to a viewer that joins', async () => {
    const { bmc, view } = hub();
    await view('alice');
    bmc.print(`${'x'.repeat(20_000)}grub rescue> `);
    await settled();
    const bob = await view('bob', { readOnly: true });
    await settled();
    expect(bob.shown).toMatch(/^x+grub rescue> $/);
    expect(bob.shown.length).toBe(16 * 1024);
  });

  it('has one writer; a second is refused with the name of the first', async () => {
    const { bmc, view } = hub();
    const alice = await view('token:alice');
    await expect(view('token:bob')).rejects.toMatchObject({
      failure: 'busy',
      message: expect.stringMatching(/^token:alice types .*--read-only.*--steal/),
    });
    const bob = await view('token:bob', { readOnly: true });
    type(bob, 'no');
    type(alice, 'yes');
    expect(bmc.typed).toBe('yes');
    await alice.console.close();
    type(await view('token:carol'), '!');
    expect(bmc.typed).toBe('yes!');
  });

  it('gives the typing to a viewer that takes it over; the other one can still read', async () => {
    const { bmc, view } = hub();
    const alice = await view('alice');
    const bob = await view('bob', { steal: true });
    expect(bmc.opened).toEqual([{ steal: false }]);
    type(alice, 'mine');
    type(bob, 'me');
    bmc.print('both');
    await settled();
    expect(bmc.typed).toBe('me');
    expect(alice.shown).toBe('\r\n[coldiron: bob types now; you can still read]\r\nboth');
    expect(bob.shown).toBe('both');
  });

  it('has one writer also when two ask at once', async () => {
    const { bmc, view } = hub();
    const results = await Promise.allSettled([view('alice'), view('bob')]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(bmc.opened).toHaveLength(1);
  });

  it('is not blocked by a reader that does not read, which is closed', async () => {
    const { bmc, shared, view, follow } = hub();
    const slow = await shared.view({ who: 'slow', readOnly: true, steal: false });
    const alice = await view('alice');
    const lazy = follow().seat;
    for (let at = 0; at < 80; at++) {
      bmc.print(new Uint8Array(64 * 1024));
      await settled();
    }
    expect(alice.shown.length).toBe(80 * 64 * 1024);
    const late = new Screen(slow);
    await late.over;
    expect(late.ended).toContain('does not read the output');
    expect(late.shown.length).toBeLessThanOrEqual(4 * 1024 * 1024);
    // The capture's seat was read by its screen; nothing of it is lost.
    expect(lazy.takeLost()).toBe(0);
  });

  it('loses output, and counts it, for a capture that does not keep up', async () => {
    const { bmc, shared } = hub();
    const seat = shared.follow({ who: 'capture', opened: () => undefined, trouble: () => undefined });
    await settled();
    for (let at = 0; at < 10; at++) bmc.print(new Uint8Array(64 * 1024));
    await settled();
    expect(seat.takeLost()).toBe(6 * 64 * 1024);
    expect(seat.takeLost()).toBe(0);
  });
});

describe('a session that the BMC drops', () => {
  it('is opened again, and viewers are told', async () => {
    const { clock, bmc, view, follow } = hub();
    const alice = await view('alice');
    const { opened } = follow();
    bmc.drop();
    await settled();
    expect(bmc.active).toBe(0);
    await clock.advance(3 * SECOND);
    bmc.print('here again');
    await settled();
    expect(alice.shown).toBe(
      '\r\n[coldiron: the console was interrupted: the session ended: vanished; it is being opened again]\r\n' +
        '\r\n[coldiron: the console is open again]\r\nhere again',
    );
    type(alice, 'x');
    expect(bmc.typed).toBe('x');
    expect(opened()).toBe(2);
  });

  it('is opened again with increasing pauses, and viewers wait a minute for it', async () => {
    const { clock, bmc, view, follow } = hub();
    const alice = await view('alice');
    const { screen, troubles } = follow();
    bmc.failures.push(...Array<'unreachable'>(8).fill('unreachable'));
    bmc.drop();
    await clock.advance(50 * SECOND);
    expect(alice.ended).toBeNull();
    expect(bmc.opened.length).toBeLessThanOrEqual(6);
    await clock.advance(2 * MINUTE);
    expect(alice.ended).toBe('the BMC fails: unreachable');
    expect(screen.ended).toBeNull();
    await clock.advance(10 * MINUTE);
    expect(troubles).toHaveLength(8);
    expect(bmc.active).toBe(1);
  });

  it('is not opened again when nobody is there', async () => {
    const { clock, bmc, view, idle } = hub();
    await (await view('alice')).console.close();
    bmc.drop();
    await clock.advance(10 * MINUTE);
    expect([bmc.opened.length, bmc.active, idle()]).toEqual([1, 0, 1]);
  });

  it('because another client took it is left to that client for some seconds, and never stolen', async () => {
    const { clock, bmc, follow } = hub();
    const { troubles } = follow();
    await settled();
    bmc.drop('busy');
    bmc.taken = true;
    await clock.advance(9 * SECOND);
    expect(bmc.opened).toHaveLength(1);
    await clock.advance(10 * MINUTE);
    expect(bmc.opened.every(({ steal }) => !steal)).toBe(true);
    expect(bmc.opened.length).toBeLessThan(15);
    expect(new Set(troubles.map(String))).toEqual(new Set(['busy,false']));
    bmc.taken = false;
    await clock.advance(MINUTE);
    expect(bmc.active).toBe(1);
  });
});

describe('a console that cannot be opened', () => {
  it('rejects as the BMC does', async () => {
    const { bmc, view, idle } = hub();
    bmc.taken = true;
    await expect(view('alice')).rejects.toMatchObject({ failure: 'busy', message: 'another client has the console' });
    expect(idle()).toBe(1);
    const alice = await view('alice', { steal: true });
    expect(bmc.opened).toEqual([{ steal: false }, { steal: true }]);
    await alice.console.close();
  });

  it('can be taken by a viewer while the capture waits for it, and the capture reads along', async () => {
    const { bmc, view, follow } = hub();
    bmc.taken = true;
    const { screen } = follow();
    await settled();
    const alice = await view('alice', { steal: true });
    bmc.print('hello');
    await settled();
    expect([alice.shown, screen.shown]).toEqual(['hello', 'hello']);
  });

  it('can be taken also while an opening for the capture is on its way', async () => {
    const { bmc, view, follow } = hub();
    const gate = Promise.withResolvers<void>();
    bmc.gate = gate.promise;
    bmc.taken = true;
    follow();
    const alice = view('alice', { steal: true });
    await settled();
    gate.resolve();
    await alice;
    expect(bmc.opened).toEqual([{ steal: false }, { steal: true }]);
  });

  it('is not tried again after a wrong password', async () => {
    const { clock, bmc, follow, idle } = hub();
    bmc.failures.push('authentication');
    const { screen, troubles } = follow();
    await clock.advance(10 * MINUTE);
    expect(bmc.opened).toHaveLength(1);
    expect(troubles).toEqual([['authentication', true]]);
    expect(screen.ended).toBe('the BMC fails: authentication');
    expect(idle()).toBeGreaterThan(0);
  });

  it('is tried again for the capture after a viewer failed', async () => {
    const { clock, bmc, view, follow } = hub();
    bmc.failures.push('unreachable', 'unreachable');
    follow();
    await settled();
    await expect(view('alice')).rejects.toMatchObject({ failure: 'unreachable' });
    await clock.advance(MINUTE);
    expect(bmc.active).toBe(1);
  });
});

describe('a console that stops', () => {
  it('ends all readers and closes the session', async () => {
    const { bmc, shared, view, follow } = hub();
    const alice = await view('alice');
    const { screen } = follow();
    await shared.stop('the appliance is stopping');
    await Promise.all([alice.over, screen.over]);
    expect([alice.ended, screen.ended, bmc.active]).toEqual([
      'the appliance is stopping',
      'the appliance is stopping',
      0,
    ]);
  });
});
