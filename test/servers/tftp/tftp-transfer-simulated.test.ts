import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Scenario, simulate } from './tftp-transfer-simulation.ts';

const CLEAN = { seed: 1, lose: 0, double: 0, jitterMs: 0 };
const PLAIN = { mode: 'octet', options: {}, rolloverTo: 0, eager: false, repeatsAcks: true } as const;

/** Bytes that differ from block to block, so that a swapped or repeated block is detected. */
function fileOf(size: number): Uint8Array {
  const file = new Uint8Array(size);
  for (let at = 0; at < size; at += 1) file[at] = (at * 31 + (at >> 8) * 17 + (at >> 16)) & 0xff;
  return file;
}

/** Decodes netascii, as a reader does. */
const fromNetascii = (wire: Buffer) =>
  Buffer.from(
    wire.toString('latin1').replace(/\r([\n\0])/g, (_, c) => (c === '\n' ? '\n' : '\r')),
    'latin1',
  );

const badLink = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 }),
  lose: fc.double({ min: 0, max: 0.3, noNaN: true }),
  double: fc.double({ min: 0, max: 0.3, noNaN: true }),
  jitterMs: fc.integer({ min: 0, max: 60 }),
});

const manner = fc
  .record({
    blockSize: fc.constantFrom(8, 9, 512, 1468),
    windowSize: fc.integer({ min: 1, max: 16 }),
    mode: fc.constantFrom('octet' as const, 'netascii' as const),
    eager: fc.boolean(),
    repeatsAcks: fc.boolean(),
    withOptions: fc.boolean(),
  })
  .map(({ blockSize, windowSize, withOptions, ...rest }) => ({
    ...rest,
    rolloverTo: 0 as const,
    options: withOptions ? { blksize: String(blockSize), windowsize: String(windowSize), tsize: '0' } : {},
  }));

/** Around a multiple of the block size, where the last block is full, empty or single. */
const size = (client: { options: { blksize?: string } }) =>
  fc
    .tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: -1, max: 1 }))
    .map(([blocks, off]) => Math.max(0, blocks * Number(client.options.blksize ?? 512) + off));

const scenario: fc.Arbitrary<Scenario> = fc
  .record({ client: manner, link: badLink, source: fc.constantFrom('in pieces', 'slow', 'whole') })
  .chain((rest) => size(rest.client).map((bytes) => ({ ...rest, file: fileOf(bytes) })));

describe('a transfer over a link that loses, duplicates and reorders packets', () => {
  it('always completes, with every byte correct', () => {
    fc.assert(
      fc.property(scenario, (it) => {
        const { received, outcome } = simulate(it);
        expect(outcome).toMatchObject({ result: 'completed', reason: null });
        expect(received).not.toBeNull();
        if (received === null) return;
        const file = it.client.mode === 'netascii' ? fromNetascii(received) : received;
        expect(file.equals(it.file)).toBe(true);
        expect(outcome?.bytes).toBe(received.length);
      }),
      { numRuns: 400 },
    );
  });

  it('completes with a client that ignores repeated blocks, and whose timer they reset', () => {
    const client = { ...PLAIN, deaf: true, options: { blksize: '512' } };
    const lengths = Array.from({ length: 50 }, (_, seed) => {
      const link = { seed: seed + 1, lose: 0.2, double: 0, jitterMs: 2 };
      return simulate({ file: fileOf(15_000), client, link, source: 'whole' }).received?.length;
    });
    expect(lengths.filter((bytes) => bytes !== 15_000)).toEqual([]);
  });

  const lossy = { seed: 99, lose: 0.02, double: 0, jitterMs: 0 };
  it.each([
    [0, '1', { ...lossy, double: 0.02, jitterMs: 2 }],
    [0, '16', lossy],
    [1, '1', { ...lossy, double: 0.02, jitterMs: 2 }],
    [1, '7', lossy],
  ] as const)('continues after block 65535 with %i, in windows of %s', (rolloverTo, windowsize, link) => {
    const file = fileOf(65_536 * 8 + 8 * 40 + 3);
    const client = { ...PLAIN, options: { blksize: '8', windowsize }, rolloverTo };
    const { received, outcome } = simulate({ file, client, link, source: 'whole' });
    expect(outcome).toMatchObject({ result: 'completed', blocks: 65_577, bytes: file.length });
    expect(received?.equals(file)).toBe(true);
  });

  it('ends with an empty block when the file ends exactly at the rollover', () => {
    const file = fileOf(65_536 * 8);
    const client = { ...PLAIN, options: { blksize: '8', windowsize: '16' } };
    const { received, outcome } = simulate({ file, client, link: CLEAN, source: 'in pieces' });
    expect(outcome).toMatchObject({ result: 'completed', blocks: 65_537, resent: 0 });
    expect(received?.equals(file)).toBe(true);
  });

  it('sends each block once when nothing is lost, however often it is acknowledged', () => {
    fc.assert(
      fc.property(badLink, fc.boolean(), (faults, eager) => {
        const client = { ...PLAIN, eager, options: { blksize: '512' } };
        const link = { ...faults, lose: 0, double: 1 };
        const { outcome } = simulate({ file: fileOf(20_000), client, link, source: 'whole' });
        // The request is duplicated too: only its reply may be sent twice.
        expect(outcome?.result).toBe('completed');
        expect(outcome?.resent).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('takes one round trip per window when nothing is lost', () => {
    const client = { ...PLAIN, options: { blksize: '1000', windowsize: '4' } };
    const { lastedMs } = simulate({ file: fileOf(11_999), client, link: CLEAN, source: 'in pieces' });
    // One millisecond each: request, OACK, ACK 0, then three times a window of four blocks and its ACK.
    expect(lastedMs).toBe(3 + 3 * 2);
  });
});
