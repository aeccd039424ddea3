import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConsoleFiles } from '../../../appliance/bmc/console/console-files.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import type { MachineId } from '../../../appliance/domain/machine.ts';
import { VirtualClock } from '../virtual-clock.ts';

const NODE = '11111111-0000-4000-8000-000000000001' as MachineId;
const OTHER = '11111111-0000-4000-8000-000000000002' as MachineId;

function rig() {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-console-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const open = () => new ConsoleFiles(folder, clock, { warn: (_fields, message) => void warnings.push(message) });
  return { folder, clock, warnings, open, files: open() };
}

const texts = async (files: ConsoleFiles, boot: 'current' | 'previous' = 'current', most = 5000) =>
  (await files.read(NODE, boot, most)).map(({ text }) => text);

describe('console files', () => {
  it('keep lines with their time, also across a restart', async () => {
    const { files, open } = rig();
    files.writer(NODE).add({ at: 1000, text: 'one' });
    files.writer(NODE).add({ at: 2000, text: 'two words' });
    expect(await files.read(NODE, 'current', 10)).toEqual([
      { at: 1000, text: 'one' },
      { at: 2000, text: 'two words' },
    ]);
    await files.close();
    const after = open();
    after.writer(NODE).add({ at: 3000, text: 'three' });
    expect(await texts(after)).toEqual(['one', 'two words', 'three']);
    expect(await texts(after, 'current', 1)).toEqual(['three']);
    expect(await texts(after, 'previous')).toEqual([]);
  });

  it('can be read by nobody else', async () => {
    const { files, folder } = rig();
    files.writer(NODE).add({ at: 1, text: 'x' });
    await files.close();
    expect(readdirSync(folder)).toEqual([`${NODE}.log`]);
    expect(statSync(join(folder, `${NODE}.log`)).mode & 0o777).toBe(0o600);
  });

  it('are written some seconds later in one piece, not line by line', async () => {
    const { files, folder, clock } = rig();
    for (let at = 0; at < 10; at++) files.writer(NODE).add({ at: clock.now(), text: `line ${at}` });
    expect(readdirSync(folder)).toEqual([]);
    expect(clock.pending).toBe(1);
    await clock.advance(3 * SECOND);
    await expect.poll(() => readdirSync(folder)).toEqual([`${NODE}.log`]);
  });

  it('keep the current boot and the one before', async () => {
    const { files } = rig();
    const writer = files.writer(NODE);
    for (const boot of ['first', 'second', 'third']) {
      writer.beginBoot();
      writer.add({ at: 1, text: `${boot} boot` });
    }
    expect(await texts(files)).toEqual(['third boot']);
    expect(await texts(files, 'previous')).toEqual(['second boot']);
  });

  it('are bounded: the beginning of a long boot is lost', async () => {
    const { files, folder } = rig();
    const writer = files.writer(NODE);
    for (let at = 0; at < 20_000; at++) {
      writer.add({ at, text: `line ${at} ${'x'.repeat(50)}` });
      if (at % 100 === 0) await writer.flush();
    }
    const lines = await texts(files, 'current', 100_000);
    expect(statSync(join(folder, `${NODE}.log`)).size).toBeLessThan(150 * 1024);
    expect(lines.at(-1)).toMatch(/^line 19999 /);
    expect(lines.length).toBeGreaterThan(1000);
    expect(lines[0]).toMatch(/^line \d+ x+$/);
  });

  it('lose lines, and say so, when the disk is too slow', async () => {
    const { files } = rig();
    const writer = files.writer(NODE);
    for (let at = 0; at < 10_000; at++) writer.add({ at, text: 'x'.repeat(100) });
    const lines = await texts(files, 'current', 100_000);
    expect(lines.length).toBeLessThan(2000);
    expect(lines.at(-1)).toMatch(/^\[coldiron: \d+ lines were not stored in time\]$/);
  });

  it('that cannot be written are reported once, and work again later', async () => {
    const { files, folder, warnings } = rig();
    mkdirSync(join(folder, `${NODE}.log`));
    for (let at = 0; at < 3; at++) {
      files.writer(NODE).add({ at, text: 'lost' });
      await files.writer(NODE).flush();
    }
    expect(warnings).toHaveLength(1);
    rmSync(join(folder, `${NODE}.log`), { recursive: true });
    files.writer(NODE).add({ at: 9, text: 'kept' });
    expect(await texts(files)).toEqual(['kept']);
  });

  it('follow no link', async () => {
    const { files, folder, warnings } = rig();
    const elsewhere = join(folder, 'elsewhere');
    writeFileSync(elsewhere, 'untouched');
    symlinkSync(elsewhere, join(folder, `${NODE}.log`));
    files.writer(NODE).add({ at: 1, text: 'x' });
    await files.writer(NODE).flush();
    expect(await texts(files)).toEqual([]);
    expect([warnings.length, readFileSync(elsewhere, 'utf8')]).toEqual([1, 'untouched']);
  });

  it('that somebody damaged are read as far as possible', async () => {
    const { files, folder } = rig();
    writeFileSync(
      join(folder, `${NODE}.log`),
      'no time\n\n12 good\nNaN bad\n99999999999999999999 too large\n13 also good',
    );
    chmodSync(join(folder, `${NODE}.log`), 0o600);
    expect(await texts(files)).toEqual(['good', 'also good']);
  });

  it('are removed with the node, and when they are old', async () => {
    const { files, folder } = rig();
    for (const machine of [NODE, OTHER]) {
      files.writer(machine).beginBoot();
      files.writer(machine).add({ at: 1, text: 'x' });
      files.writer(machine).beginBoot();
      files.writer(machine).add({ at: 2, text: 'y' });
    }
    await files.close();
    await files.remove(OTHER);
    expect(readdirSync(folder).sort()).toEqual([`${NODE}.log`, `${NODE}.previous.log`]);
    utimesSync(join(folder, `${NODE}.previous.log`), 1000, 1000);
    expect(await files.sweep((name) => name === NODE, 2_000_000)).toBe(1);
    expect(readdirSync(folder)).toEqual([`${NODE}.log`]);
    expect(await files.sweep(() => false, 0)).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
  });
});
