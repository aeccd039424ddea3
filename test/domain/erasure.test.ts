import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ErasedDisk,
  type ErasureRecord,
  erasureSamples,
  erasureVerdict,
  type SampledDisk,
  type SampledState,
  sampledBytes,
  verifiable,
} from '../../appliance/domain/erasure.ts';

const MIB = 1024 * 1024;
const TERABYTE = 1e12;
const disk = (bytes: number, serial: string | null = 'S-1'): ErasedDisk => ({
  name: 'sda',
  serial,
  bytes,
  method: 'discarded',
});
const placesOf = ([first]: readonly SampledDisk[]) => (first?.samples ?? []).map(([offset]) => offset);

describe('the samples of an erased disk', () => {
  it('are its start, its end, well-known places, and 64 random blocks', () => {
    const [sampled] = erasureSamples([disk(TERABYTE)], randomBytes);
    const places = placesOf(sampled ? [sampled] : []);
    expect(sampled?.samples.slice(0, 2)).toEqual([
      [0, 2 * MIB],
      [TERABYTE - MIB, MIB],
    ]);
    expect(places).toEqual(expect.arrayContaining([64 * MIB, 256 * 1024 * MIB]));
    expect(places.length).toBeGreaterThan(60);
    expect(sampled && sampledBytes(sampled)).toBeGreaterThan(7 * MIB - 5 * 65_536);
  });

  it('are others each time', () => {
    const [one, other] = [1, 2].map(() => new Set(placesOf(erasureSamples([disk(TERABYTE)], randomBytes))));
    expect([...(one ?? [])].filter((place) => other?.has(place)).length).toBeLessThan(10);
  });

  it('lie within the disk, without overlaps, for every size', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 44 }), fc.integer({ min: 1, max: 300 }), (bytes, count) => {
        const sampled = erasureSamples(
          Array.from({ length: count }, () => disk(bytes)),
          randomBytes,
        );
        const samples = [...(sampled[0]?.samples ?? [])].sort(([one], [other]) => one - other);
        let end = 0;
        for (const [offset, length] of samples) {
          expect(offset).toBeGreaterThanOrEqual(end);
          expect(length).toBeGreaterThan(0);
          end = offset + length;
        }
        expect(end).toBeLessThanOrEqual(bytes);
      }),
      { numRuns: 50 },
    );
  });

  it('are fewer of each disk when there are many disks', () => {
    const disks = erasureSamples(
      Array.from({ length: 100 }, () => disk(TERABYTE)),
      randomBytes,
    );
    expect(disks[0]?.samples.length).toBeLessThan(12);
  });
});

describe('the verdict on samples', () => {
  const order: SampledDisk[] = [
    { name: 'sda', serial: 'S-1', bytes: 10, samples: [[0, 6]] },
    {
      name: 'sdb',
      serial: null,
      bytes: 10,
      samples: [
        [0, 6],
        [8, 2],
      ],
    },
  ];
  const said = (number: number, state: SampledState['state'], bytes: number, offset: number | null = null) => ({
    ...{ disk: number, state, bytes, offset },
  });

  it.each<[string, SampledState[], ReturnType<typeof erasureVerdict>]>([
    ['empty', [said(0, 'empty', 6), said(1, 'empty', 8)], { result: 'empty', bytes: 14, problems: [] }],
    [
      'data on one disk, whatever the others are',
      [said(0, 'not-empty', 2, 4), said(1, 'missing', 0)],
      {
        result: 'not-empty',
        bytes: 2,
        problems: ['sda (serial S-1) holds data at byte 4', 'sdb is not in the machine'],
      },
    ],
    [
      'a disk that was not reported',
      [said(0, 'empty', 6)],
      { result: 'incomplete', bytes: 6, problems: ['sdb was not read completely'] },
    ],
    [
      'fewer bytes than ordered',
      [said(0, 'empty', 6), said(1, 'empty', 6)],
      { result: 'incomplete', bytes: 12, problems: ['sdb was not read completely'] },
    ],
    [
      'more bytes than ordered, which are not counted, and a read error',
      [said(0, 'empty', 1e9), said(1, 'unreadable', 6, 8)],
      { result: 'incomplete', bytes: 12, problems: ['sdb cannot be read at byte 8'] },
    ],
    [
      'no time',
      [said(0, 'empty', 6), said(1, 'out-of-time', 0)],
      { result: 'incomplete', bytes: 6, problems: ['sdb was not read completely'] },
    ],
  ])('%s', (_sentence, found, verdict) => {
    expect(erasureVerdict(order, found)).toEqual(verdict);
  });
});

it('is asked for until the disks may have been written, or were found with data', () => {
  const record: ErasureRecord = {
    ...{ at: 1, session: 's', identity: 'bound', disks: [disk(10)], check: null, overwrittenAt: null },
  };
  const check = { at: 2, session: 't', identity: 'bound', mode: 'commission', bytes: 1, problems: [] } as const;
  expect(verifiable(record)).toBe(record);
  expect(verifiable({ ...record, check: { ...check, result: 'empty' } })).not.toBeNull();
  expect(verifiable({ ...record, check: { ...check, result: 'not-empty' } })).toBeNull();
  expect(verifiable({ ...record, overwrittenAt: 3 })).toBeNull();
  expect(verifiable({ ...record, disks: [] })).toBeNull();
  expect(verifiable(null)).toBeNull();
});
