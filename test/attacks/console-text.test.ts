// A hostile machine prints what it likes on its console while it is captured. Nothing of it reaches a terminal as a command, neither
// from the stored text nor from an event, and it takes a bounded amount of disk, memory and time.

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { consoleLogView } from '../../appliance/api/views/bmc.ts';
import { bmcSystemClock } from '../../appliance/bmc/clock.ts';
import { Capture } from '../../appliance/bmc/console/capture.ts';
import { ConsoleFiles } from '../../appliance/bmc/console/console-files.ts';
import { SharedConsole } from '../../appliance/bmc/console/shared-console.ts';
import { forScreen } from '../../appliance/cli/terminal.ts';
import type { Json } from '../../appliance/domain/event.ts';
import { eventSentence } from '../../appliance/domain/events/known-event.ts';
import type { MachineId } from '../../appliance/domain/machine.ts';
import { FakeSessions } from '../bmc/console/fake-session.ts';

const NODE = '11111111-0000-4000-8000-000000000001' as MachineId;
/** What a terminal obeys, or shows in another order. */
const HOSTILE = /[\p{Cc}\p{Cf}\u2028\u2029]/u;

async function captureOf() {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-hostile-console-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = new ConsoleFiles(folder, bmcSystemClock, { warn: () => undefined });
  const bmc = new FakeSessions();
  const shared = new SharedConsole({ clock: bmcSystemClock, open: bmc.open, onIdle: () => undefined });
  const matched: { signature: string; stage: string; line: string }[] = [];
  const capture = new Capture({
    clock: bmcSystemClock,
    writer: files.writer(NODE),
    follow: (follower) => shared.follow(follower),
    matched: ({ id, stage }, line) => void matched.push({ signature: id, stage, line }),
    unavailable: () => undefined,
    gaveUp: () => undefined,
  });
  await capture.ready;
  const print = async (bytes: Uint8Array): Promise<void> => {
    bmc.print(bytes);
    for (let turn = 0; turn < 4; turn++) await setImmediate();
  };
  const stop = async (): Promise<void> => {
    await capture.stop();
    await shared.stop('the test is over');
    await files.close();
  };
  return { folder, files, print, stop, matched, capture };
}

const SEQUENCES = [
  '\u001b]0;owned\u0007',
  '\u001b]52;c;cm0gLXJmIC8=\u0007',
  '\u001b[2J\u001b[31m',
  '\u001bP+q544e\u001b\\',
  '\u009b6n',
  '\u202egnihton',
  '\u2028',
  '\u0085',
  '\u001b[5;5H',
  '\r\n',
];
const LINES = ['Kernel panic - not syncing: ', 'grub rescue> ', '[FAILED] Failed to start ', 'I/O error, dev '];

describe('a hostile console', () => {
  it('says nothing to a terminal, whatever it prints', async () => {
    const { files, print, stop, matched, capture } = await captureOf();
    const piece = fc.oneof(fc.constantFrom(...SEQUENCES, ...LINES), fc.string({ maxLength: 40 }));
    const noise = fc.uint8Array({ maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), noise, async (pieces, bytes) => {
        await print(Buffer.concat([Buffer.from(pieces.join('')), bytes]));
        expect(capture.unfinished).not.toMatch(HOSTILE);
      }),
      { numRuns: 200 },
    );
    await print(Buffer.from(`\r\n${LINES.map((line) => `${line}\u001b[2J\u202ex, sector 1\r\n`).join('')}`));
    const lines = await files.read(NODE, 'current', 5000);
    expect(lines.length).toBeGreaterThan(50);
    const view = consoleLogView({ captured: true, lines, unfinished: capture.unfinished });
    for (const { text } of view.lines) {
      expect(text).not.toMatch(HOSTILE);
      expect(forScreen(text, true)).toBe(text);
    }
    expect(matched.length).toBeGreaterThan(2);
    for (const data of matched) {
      expect(data.line).not.toMatch(HOSTILE);
      const sentence = eventSentence({ kind: 'console.matched', actor: 'machine:node01', data: data as Json });
      expect(sentence).not.toMatch(HOSTILE);
      expect(sentence).not.toContain('another version');
    }
    await stop();
  });

  it('that floods fills neither the disk nor the trail', async () => {
    const { folder, print, stop, matched } = await captureOf();
    const flood = Buffer.alloc(64 * 1024, 'Kernel panic - not syncing: x\r\nSeaBIOS (version 1)\r\n\u001b]0;a\u0007');
    for (let at = 0; at < 100; at++) await print(flood);
    await stop();
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(sizes.length).toBeGreaterThan(0);
    expect(sizes.length).toBeLessThanOrEqual(2);
    for (const size of sizes) expect(size).toBeLessThan(300 * 1024);
    expect(matched.length).toBeLessThanOrEqual(60);
    const said = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('');
    expect(said).not.toMatch(/[\p{Cc}--\n]/v);
  });
});
