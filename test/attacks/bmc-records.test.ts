// A hostile BMC, which knows the password, answers with event logs, sensor lists and FRU inventories that never end or make no
// sense.

import { describe, expect, it, onTestFinished } from 'vitest';
import { type IpmiBmc, ipmiBmc } from '../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { PATIENT, startSimulator, targetOf } from '../bmc/ipmi/client-rig.ts';
import type { Answer } from '../bmc/ipmi/simulator/commands.ts';
import type { SimulatedBmc } from '../bmc/ipmi/simulator/simulated-bmc.ts';

const GET_SEL_INFO = 0x0a40;
const GET_SEL_ENTRY = 0x0a43;
const GET_SDR = 0x0a23;
const GET_FRU_INFO = 0x0a10;
const READ_FRU = 0x0a11;

const done = (...data: readonly number[]): Answer => ({ code: 0, data });
const word = (value: number): [number, number] => [value & 0xff, (value >> 8) & 0xff];
const wordAt = (data: Uint8Array, at: number): number => (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8);

type Replies = readonly (readonly [number, (data: Uint8Array) => Answer])[];

async function hostile(
  replies: Replies,
  timings: Partial<typeof PATIENT.timings> = {},
): Promise<{ bmc: IpmiBmc; simulator: SimulatedBmc }> {
  const simulator = await startSimulator();
  simulator.faults.replies = new Map(replies);
  const deps = { ...PATIENT, timings: { ...PATIENT.timings, ...timings } };
  const bmc = ipmiBmc(targetOf(simulator.port), { efi: true }, deps);
  onTestFinished(() => bmc.close());
  return { bmc, simulator };
}

/** Sixteen bytes of a system event with this id; the sensor number differs with the id. */
const event = (id: number): number[] => [...word(id), 2, 0, 0, 0, 0x65, 0x20, 0, 4, 1, id & 0xff, 1, 0x59, 0xff, 0xff];

/** A compact sensor record with a name of this type and length byte. */
function sensor(id: number, typeLength: number, name: readonly number[]): number[] {
  const body = [0x20, 0, id & 0xff, 7, 1, 0x7f, 0x68, 1, 1, 0, 0, 0, 0, 0x0f, 0, 0xc0, 1, 0];
  const whole = [...body, 1, 0, 0, 0, 0, 0, 0, 0, typeLength, ...name];
  return [...word(id), 0x51, 0x02, whole.length, ...whole];
}

const piece = (record: readonly number[], data: Uint8Array): number[] =>
  record.slice(data[4] ?? 0, (data[4] ?? 0) + (data[5] ?? 0));

describe('an event log', () => {
  const endless: Replies = [
    [GET_SEL_INFO, () => done(0x51, ...word(3), ...word(4096), 0, 0, 0, 0, 0, 0, 0, 0, 0x0a)],
    // The next id is always one more, and wraps: the end mark is never sent.
    [
      GET_SEL_ENTRY,
      (data) => {
        const id = wordAt(data, 2) % 0xfffe;
        return done(...word((id % 0xfffe) + 1), ...event(id));
      },
    ],
  ];

  it('that never ends is cut off at a number of entries, which the error names', async () => {
    const { bmc, simulator } = await hostile(endless);
    await expect(bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('event log has more than 8192 entries'),
    });
    expect(simulator.received.length).toBeLessThan(9000);
  });

  it('that never ends is cut off by the time limit of the verb too', async () => {
    const { bmc } = await hostile(endless, { verb: 200 });
    await expect(bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringMatching(/timed out after \d+ replies/),
    });
  });

  it.each<[what: string, next: (id: number) => number]>([
    ['back to its first entry', () => 0],
    ['to itself', (id) => id],
    ['between two entries', (id) => (id === 1 ? 2 : 1)],
  ])('that leads %s ends', async (_what, next) => {
    const { bmc, simulator } = await hostile([
      [GET_SEL_ENTRY, (data) => done(...word(next(wordAt(data, 2))), ...event(wordAt(data, 2)))],
    ]);
    expect((await bmc.eventLog()).length).toBeLessThanOrEqual(3);
    expect(simulator.received.filter((one) => one === 'command 0a43').length).toBeLessThan(5);
  });

  it('whose entries all have the same id, but lead on and on, ends', async () => {
    let asked = 0;
    const { bmc } = await hostile([[GET_SEL_ENTRY, () => done(...word(++asked), ...event(7))]]);
    expect(await bmc.eventLog()).toHaveLength(1);
    expect(asked).toBeLessThan(5);
  });

  it.each<[what: string, bytes: readonly number[], words: string]>([
    ['no bytes', [], 'next record id'],
    ['only the id of the next one', word(2), 'record at byte 2: needs'],
    ['half an entry', [...word(2), ...event(1).slice(0, 9)], 'needs'],
  ])('with an entry of %s is malformed, and the error names the missing field', async (_what, bytes, words) => {
    const { bmc } = await hostile([[GET_SEL_ENTRY, () => done(...bytes)]]);
    await expect(bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining(words),
    });
  });
});

describe('a list of sensors', () => {
  it('that never ends is cut off at a number of records, which the error names', async () => {
    const { bmc } = await hostile([
      [
        GET_SDR,
        (data) => {
          const id = wordAt(data, 2);
          // An OEM record without content: one request each.
          return done(...word((id % 0xfffe) + 1), ...word(id), 0x51, 0xc0, 0);
        },
      ],
    ]);
    await expect(bmc.sensors()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('more than 4096 sensor records'),
    });
  });

  it('that leads back to a record ends', async () => {
    const { bmc } = await hostile([
      [GET_SDR, (data) => done(...word(1), ...piece(sensor(wordAt(data, 2), 0xc1, [0x41]), data))],
    ]);
    expect((await bmc.sensors()).length).toBeLessThanOrEqual(2);
  });

  it.each<[what: string, reply: (data: Uint8Array) => Answer, words: string]>([
    ['no header', () => done(...word(0xffff)), 'record id'],
    ['half a header', () => done(...word(0xffff), 1, 0, 0x51), 'record type'],
    [
      'a header and nothing else',
      (data) => done(...word(0xffff), ...((data[4] ?? 0) === 0 ? [1, 0, 0x51, 2, 40] : [])),
      'ends after 5 bytes',
    ],
    [
      'a length that ends inside a field',
      (data) => done(...word(0xffff), ...piece([1, 0, 0x51, 1, 9, ...Array(9).fill(1)], data)),
      'needs',
    ],
  ])('with a record of %s is malformed, and the error names it', async (_what, reply, words) => {
    const { bmc } = await hostile([[GET_SDR, reply]]);
    await expect(bmc.sensors()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining(words),
    });
  });

  it('has names without control characters, whatever the BMC sends', async () => {
    const sequence = [0x1b, 0x5b, 0x33, 0x31, 0x6d, 0x52, 0x65, 0x64, 0x0a, 0x07, 0x9b, 0x85];
    const { bmc } = await hostile([
      [GET_SDR, (data) => done(...word(0xffff), ...piece(sensor(1, 0xc0 | sequence.length, sequence), data))],
    ]);
    const [found] = await bmc.sensors();
    expect(found?.name).toBe('[31mRed');
  });
});

describe('a FRU inventory', () => {
  const header = (...offsets: readonly number[]): number[] => {
    const bytes = [1, 0, ...offsets, 0, 0];
    return [...bytes, -bytes.reduce((sum, byte) => sum + byte, 0) & 0xff];
  };
  const fru = (size: number, words: boolean, content: readonly number[], most = 255): Replies => [
    [GET_FRU_INFO, () => done(...word(size), words ? 1 : 0)],
    [
      READ_FRU,
      (data) => {
        const at = wordAt(data, 1) * (words ? 2 : 1);
        const count = Math.min(data[3] ?? 0, most) * (words ? 2 : 1);
        const bytes = Array.from({ length: count }, (_, offset) => content[at + offset] ?? 0xff);
        return done(bytes.length & 0xff, ...bytes);
      },
    ],
  ];

  it.each<[what: string, replies: Replies, words: string]>([
    ['of no bytes', fru(0, false, []), 'FRU format version'],
    ['of 65,535 bytes of FF', fru(0xffff, false, []), 'FRU format version'],
    ['whose areas begin behind its end', fru(64, false, header(0xff, 0xff, 0xff)), 'chassis area'],
    ['whose areas have no length', fru(0xffff, false, [...header(1, 0, 0), 1, 0]), 'chassis area length'],
    ['whose areas are larger than it', fru(64, false, [...header(1, 0, 0), 1, 0xff]), 'chassis area length'],
    [
      'in words, whose pieces have an odd number of bytes',
      [
        [GET_FRU_INFO, () => done(...word(0xffff), 1)],
        [READ_FRU, () => done(1, 1)],
      ],
      'FRU',
    ],
    [
      'whose pieces are empty',
      [
        [GET_FRU_INFO, () => done(...word(100), 0)],
        [READ_FRU, () => done(0)],
      ],
      'ends after 0 of 100 bytes',
    ],
  ])('%s is malformed, and the error names it', async (_what, replies, words) => {
    const { bmc, simulator } = await hostile(replies);
    await expect(bmc.hardware()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining(words),
    });
    expect(simulator.received.length).toBeLessThan(3000);
  });

  it('that is sent byte by byte is still read in bounded steps', async () => {
    const content = [...header(1, 0, 0), 1, 0xff, ...Array(0xff * 8 - 2).fill(0x11)];
    const { bmc, simulator } = await hostile(fru(0xffff, false, content, 1));
    await expect(bmc.hardware()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringContaining('FRU'),
    });
    expect(simulator.received.length).toBeLessThan(3000);
  });
});
