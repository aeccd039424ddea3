import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frameBytes } from '../../appliance/contract/terminal-frames.ts';
import { HOUR, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { ADMIN, BOB, lines, TerminalRig } from './terminal-rig.ts';

let rig: TerminalRig;
beforeEach(async () => {
  rig = await TerminalRig.open({ perNode: 2, inTotal: 3 });
});
afterEach(() => rig.end());

const rest = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a terminal', () => {
  it('carries keys as lines and output as it is, and reports the status of the shell', async () => {
    const { node, viewer, over, terminal } = await rig.carried();
    expect(await lines(node.typed)).toMatch(/^s 24 80\nn \.+\n$/);
    viewer.type('ls\r');
    expect(await lines(node.typed)).toBe(`k ${Buffer.from('ls\r').toString('base64')}\n`);
    viewer.send(frameBytes({ kind: 'resize', rows: 50, columns: 132 }));
    expect(await lines(node.typed)).toBe('s 50 132\n');
    node.shown.write('file\r\n');
    await expect.poll(() => viewer.shown).toBe('file\r\n');
    node.shown.end();
    await rest();
    node.status(3);
    expect(await over).toEqual({ because: 'the shell ended', status: 3 });
    expect(viewer.exit).toMatchObject({ status: 3, reason: 'the shell ended' });
    expect(rig.terminals.list()).toEqual([]);
    const [closed] = await rig.records('terminal.closed');
    const bytes = { typed_bytes: 3, shown_bytes: 6 };
    expect(closed).toMatchObject({ actor: 'token:alice', data: { terminal: terminal.about.id, status: 3, ...bytes } });
    const audit = (await rig.store.auditEntries(0, 100)).filter(({ action }) => action.startsWith('terminal'));
    expect(audit.map(({ action, actor, target }) => [action, actor, target])).toEqual([
      ['terminal.opened', 'token:alice', 'node:node1'],
      ['terminal.closed', 'token:alice', 'node:node1'],
    ]);
    expect(JSON.stringify(audit)).not.toContain('file');
  });

  it('cuts a pasted text into short lines', async () => {
    const { node, viewer } = await rig.carried();
    const text = 'x'.repeat(10_000);
    viewer.type(text);
    let read = '';
    while (!read.includes('k') || Buffer.from(keysIn(read), 'base64').length < text.length)
      read += await lines(node.typed);
    expect(keysIn(read, true)).toBe(text);
    expect(Math.max(...read.split('\n').map((line) => line.length))).toBeLessThan(4200);
  });

  it('reads no more from the node than a slow viewer takes', async () => {
    const { node, viewer } = await rig.carried();
    viewer.reads = false;
    let accepted = 0;
    const block = Buffer.alloc(16 * 1024, 0x61);
    // A node that is not read from cannot write: its buffer is full.
    while (node.shown.write(block)) accepted += block.length;
    await rest();
    for (let round = 0; round < 20; round += 1) {
      while (!node.shown.writableNeedDrain && accepted < 10_000_000) {
        node.shown.write(block);
        accepted += block.length;
      }
      await rest();
    }
    expect(accepted).toBeLessThan(512 * 1024);
    expect(viewer.waiting).toBeLessThan(128 * 1024);
    viewer.readAgain();
    node.shown.end();
    await expect.poll(() => viewer.shown.length).toBeGreaterThanOrEqual(accepted);
  });

  it('is closed when nothing was typed for the idle limit, and not before', async () => {
    const { viewer, over, node } = await rig.carried();
    await rig.clock.advance(29 * MINUTE, rest);
    viewer.type('x');
    await expect.poll(() => String(node.typed.read() ?? '')).toContain('k eA==');
    await rig.clock.advance(29 * MINUTE, rest);
    expect(rig.terminals.list()).toHaveLength(1);
    await rig.clock.advance(2 * MINUTE, rest);
    expect(await over).toMatchObject({ because: 'nothing was typed for 1800 s', status: null });
    expect(node.typed.writableEnded).toBe(true);
    expect(rig.clock.pendingTimers).toBeLessThanOrEqual(1);
  });

  it('is closed after the longest time, whatever is typed', async () => {
    const { viewer, over } = await rig.carried();
    for (let quarter = 0; quarter < 48; quarter += 1) {
      viewer.type('x');
      await rest();
      await rig.clock.advance(HOUR / 4, rest);
    }
    expect(await over).toMatchObject({ because: 'it was open for the longest time that is allowed' });
  });

  it.each([
    ['the allocation is released', { allocation: 'releasing' }, 'the allocation is releasing'],
    ['the node is retired', { state: 'retired' }, 'the node is retired'],
    ['the node is quarantined', { state: 'quarantined' }, 'the node is quarantined'],
    ['the node is silent', { health: 'silent' }, 'the node is silent'],
  ] as const)('is closed at once when %s', async (_what, change, because) => {
    const { over, viewer } = await rig.carried();
    await rig.change(change);
    expect(await over).toMatchObject({ because });
    expect(viewer.exit).toMatchObject({ reason: because });
  });

  it('is closed when the certificate of its node is revoked', async () => {
    const { over } = await rig.carried();
    await rig.terminals.check();
    expect(rig.terminals.list()).toHaveLength(1);
    rig.certificate = { ...rig.certificate, revokedAt: 1 };
    await rig.terminals.check();
    expect((await over).because).toBe('the certificate of the node is not accepted any more: revoked');
  });

  it('ends with its viewer, with its node, and with bytes that are no frames', async () => {
    const first = await rig.carried();
    first.viewer.leave();
    expect(await first.over).toMatchObject({ because: 'the viewer left' });
    const second = await rig.carried();
    second.node.shown.destroy(new Error('reset'));
    expect(await second.over).toMatchObject({ because: 'the node closed the connection' });
    const third = await rig.carried();
    third.viewer.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    expect((await third.over).because).toContain('the viewer does not speak this protocol');
    expect(third.viewer.exit).toMatchObject({ status: null });
  });

  it('is closed by its user and by admins, and not by others', async () => {
    const { terminal, over } = await rig.carried();
    await expect(rig.terminals.close(terminal.about.id, BOB)).rejects.toMatchObject({ code: 'forbidden' });
    await rig.terminals.close(terminal.about.id, ADMIN);
    expect(await over).toMatchObject({ because: 'local:ada closed it' });
    await expect(rig.terminals.close(terminal.about.id, ADMIN)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('a terminal is refused', () => {
  const refusal = async (opening: Promise<unknown>): Promise<{ code: string; message: string }> => {
    const error = await opening.then(
      () => expect.fail('it was opened'),
      (reason: unknown) => reason as { code: string; message: string },
    );
    const events = await rig.records('terminal.refused');
    expect(events.at(-1)?.data).toMatchObject({ reason: error.message });
    return { code: error.code, message: error.message };
  };

  it('without an allocation, for another one, and before it is active', async () => {
    const { allocation } = rig.machine;
    expect(await refusal(rig.open(ADMIN, '11111111-1111-4111-8111-111111111111'))).toMatchObject({ code: 'conflict' });
    await rig.change({ allocation: 'provisioning' });
    expect((await refusal(rig.open())).message).toContain(`allocation ${allocation?.id} of alice (provisioning)`);
    await rig.change({ allocation: 'released' });
    expect((await refusal(rig.open())).message).toContain('nobody has an allocation of node1');
    expect(rig.parameters).toEqual([]);
  });

  it('to another user, but not to an admin', async () => {
    expect(await refusal(rig.open(BOB))).toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('alice'),
    });
    const { terminal } = await rig.carried(ADMIN);
    expect(terminal.about).toMatchObject({ user: 'alice', origin: { actor: 'local:ada' } });
  });

  it.each([
    [{ state: 'retired' }, 'retired'],
    [{ state: 'quarantined' }, 'quarantined'],
    [{ health: 'silent' }, 'silent'],
  ] as const)('on a node that is %o', async (change, word) => {
    await rig.change(change);
    expect((await refusal(rig.open())).message).toContain(word);
  });

  it('when the node or the appliance has its number open, also while they are being opened', async () => {
    await rig.carried();
    const opening = rig.open();
    await rig.asked();
    expect((await refusal(rig.open())).message).toBe('node1 has 2 terminals open already');
    rig.connect();
    await opening;
    for (const { about } of rig.terminals.list()) await rig.terminals.close(about.id, ADMIN);
    await rig.carried();
  });

  it('with the words of the node, or when it does not answer in time, and its task is cancelled', async () => {
    rig.outcome = { state: 'failed', output: 'note\nscript is missing on this node\n' };
    expect((await refusal(rig.open())).message).toBe('node1 opens no terminal: script is missing on this node');
    rig.outcome = { state: 'succeeded', output: '' };
    const late = refusal(rig.open());
    await rig.asked();
    await rig.clock.advance(31 * SECOND, rest);
    expect(await late).toMatchObject({ code: 'service_unavailable' });
    const gone = new AbortController();
    const left = refusal(rig.open(undefined, null, gone.signal));
    await rig.asked();
    gone.abort();
    expect((await left).message).toBe('the viewer left');
    expect(rig.cancelled).toBe(3);
    expect(rig.terminals.list()).toEqual([]);
  });
});

describe('the records', () => {
  it('get the end of terminals that a killed process could not write', async () => {
    const { terminal } = await rig.carried();
    const other = await TerminalRig.open();
    await other.store.appendEvents(
      (await rig.records('terminal.opened')).map(({ seq: _, ...event }) => event as never),
    );
    await other.terminals.start();
    await other.terminals.start();
    const closed = await other.records('terminal.closed');
    expect(closed).toHaveLength(1);
    expect(closed[0]?.data).toMatchObject({
      terminal: terminal.about.id,
      because: 'the appliance ended without closing it',
    });
    await other.end();
  });
});

/** All keys in the lines, in base64 or decoded. */
function keysIn(text: string, decoded = false): string {
  const keys = text
    .split('\n')
    .flatMap((line) => (line.startsWith('k ') ? [Buffer.from(line.slice(2), 'base64')] : []));
  return Buffer.concat(keys).toString(decoded ? 'utf8' : 'base64');
}
