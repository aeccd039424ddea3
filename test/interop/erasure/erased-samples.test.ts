// The service OS's own script reads samples of real block devices: loop devices, as erased and with a planted remainder.

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  erasureSamples,
  erasureVerdict,
  type SampledDisk,
  type SampledState,
  sampledBytes,
} from '../../../appliance/domain/erasure.ts';
import { needPackages } from '../packages.ts';

const SCRIPTS = join(import.meta.dirname, '../../../boot-assets/service-os');
const MIB = 1024 * 1024;
const SIZE = 300 * MIB;
let folder = '';
const devices: string[] = [];

beforeAll(() => {
  needPackages(['dash', 'jq', 'mount']);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-erased-'));
});

afterAll(() => {
  for (const device of devices) spawnSync('losetup', ['--detach', device]);
  rmSync(folder, { recursive: true, force: true });
});

/** A device of zeros, except for what is planted. */
function device(name: string, planted: readonly (readonly [offset: number, text: string])[] = []): string {
  const file = join(folder, name);
  writeFileSync(file, '');
  truncateSync(file, SIZE);
  const handle = openSync(file, 'r+');
  for (const [offset, text] of planted) writeSync(handle, text, offset);
  closeSync(handle);
  const { status, stdout, stderr } = spawnSync('losetup', ['--find', '--show', file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`losetup: ${stderr}`);
  devices.push(stdout.trim());
  return basename(stdout.trim());
}

interface Report {
  readonly status: string;
  readonly samples: readonly SampledState[];
}

/** What the service OS reports about these disks, and the words of its outcome; null: it goes on. */
function verify(
  order: readonly SampledDisk[],
  disks: readonly { name: string; serial: string | null; bytes: number }[],
  seconds = 60,
) {
  const run = mkdtempSync(join(folder, 'run-'));
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, 'order.json'), JSON.stringify({ mode: 'commission', erased: order }));
  writeFileSync(join(run, 'disks.json'), JSON.stringify(disks));
  writeFileSync(join(run, 'log'), '');
  writeFileSync(join(run, 'sequence'), '0');
  const script = `
    . ${SCRIPTS}/common.sh; . ${SCRIPTS}/session.sh; . ${SCRIPTS}/erased.sh
    step_started() { :; }
    deliver_step() { cp "$RUN/step-$sequence.json" "$RUN/reported.json"; }
    send_outcome() { echo "$@"; }
    verify_erasure`;
  const { status, stdout, stderr } = spawnSync('dash', ['-eu', '-c', script], {
    encoding: 'utf8',
    env: { ...process.env, RUN: run, DEV: '/dev', CONSOLE: '/dev/null', VERIFY_SECONDS: String(seconds) },
  });
  expect([status, stderr]).toEqual([0, '']);
  const report = JSON.parse(readFileSync(join(run, 'reported.json'), 'utf8')) as Report;
  return { report, outcome: stdout.trim(), verdict: erasureVerdict(order, report.samples) };
}

const diskOf = (name: string, serial: string | null = null) => ({ name, serial, bytes: SIZE, method: 'discarded' });

it('finds nothing on empty devices, and reports how much it read', () => {
  const disks = [diskOf(device('one')), diskOf(device('two'), 'S-2')];
  const order = erasureSamples(disks, randomBytes);
  // The second device has another name now; its serial number identifies it.
  const renamed = order.map((disk) => (disk.serial === null ? disk : { ...disk, name: 'sdz' }));
  const { report, verdict, outcome } = verify(renamed, disks);
  expect(report.status).toBe('done');
  const bytes = order.reduce((sum, disk) => sum + sampledBytes(disk), 0);
  expect(verdict).toEqual({ result: 'empty', bytes, problems: [] });
  expect(outcome).toBe('');
});

it.each([
  ['in the first sector', 510],
  ['in the backup of a partition table', SIZE - 33 * 512],
  ['in a copy of a superblock', 64 * MIB + 4096],
])('finds a remainder %s, and the work ends', (_sentence, offset) => {
  const disks = [diskOf(device('clean')), diskOf(device('planted', [[offset, 'secret']]), 'S-1')];
  const { report, verdict, outcome } = verify(erasureSamples(disks, randomBytes), disks);
  expect(report.status).toBe('failed');
  expect(report.samples.map(({ state }) => state)).toEqual(['empty', 'not-empty']);
  expect(verdict).toMatchObject({
    result: 'not-empty',
    problems: [expect.stringMatching(/\(serial S-1\) holds data at byte \d+$/)],
  });
  expect(outcome).toBe('false verify-erasure erased disks hold data');
});

it('finds a remainder in a random block, at the place of the block', () => {
  const disk = diskOf('');
  const [sampled] = erasureSamples([disk], randomBytes);
  const [offset = 0] = sampled?.samples.at(-1) ?? [];
  const planted = { ...disk, name: device('random', [[offset + 40_000, 'x']]) };
  const { report } = verify([{ ...planted, samples: sampled?.samples ?? [] }], [planted]);
  expect(report.samples).toMatchObject([{ state: 'not-empty', offset }]);
});

it('reports a missing disk, a replaced one, and what it had no time for', () => {
  const there = diskOf(device('there'), 'S-1');
  const order = erasureSamples(
    [there, diskOf('gone', 'S-9'), { ...there, serial: 'S-1', bytes: SIZE / 2 }],
    randomBytes,
  );
  expect(verify(order, [there]).report.samples.map(({ state, bytes }) => [state, bytes > 0])).toEqual([
    ['empty', true],
    ['missing', false],
    ['missing', false],
  ]);
  expect(verify(order.slice(0, 1), [there], 0).verdict).toMatchObject({ result: 'incomplete', bytes: 0 });
});
