import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadFrame, FrameReader, frameBytes, type TerminalFrame } from '../../appliance/contract/terminal-frames.ts';

const frame: fc.Arbitrary<TerminalFrame> = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((bytes) => ({ kind: 'data' as const, bytes })),
  fc.record({
    kind: fc.constant('resize' as const),
    rows: fc.integer({ min: 1, max: 1000 }),
    columns: fc.integer({ min: 1, max: 1000 }),
  }),
  fc.record({
    kind: fc.constant('exit' as const),
    status: fc.option(fc.integer({ min: 0, max: 255 })),
    reason: fc.string({ maxLength: 50 }),
  }),
);

const plain = (frames: readonly TerminalFrame[]) =>
  frames.map((each) => (each.kind === 'data' ? { ...each, bytes: [...each.bytes] } : each));

describe('the frames of a terminal', () => {
  it('are the same after any cut of the stream', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 })), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(frameBytes));
        const reader = new FrameReader();
        const read: TerminalFrame[] = [];
        let at = 0;
        for (const cut of [...cuts, bytes.length]) {
          read.push(...reader.push(bytes.subarray(at, at + cut)));
          at += cut;
        }
        expect(plain(read)).toEqual(plain(frames));
      }),
    );
  });

  it('carry more data than fits in one', () => {
    const bytes = Uint8Array.from({ length: 200_000 }, (_, at) => at % 251);
    const read = new FrameReader().push(frameBytes({ kind: 'data', bytes }));
    expect(read.length).toBe(4);
    expect(Buffer.concat(read.map((each) => (each.kind === 'data' ? each.bytes : [0])) as Uint8Array[])).toEqual(
      Buffer.from(bytes),
    );
  });

  it.each([
    ['an unknown kind', [9, 0, 0]],
    ['a size without columns', [1, 0, 2, 0, 24]],
    ['a window without rows', [1, 0, 4, 0, 0, 0, 80]],
    ['a window of 65535 rows', [1, 0, 4, 255, 255, 0, 80]],
    ['an exit that is not JSON', [2, 0, 1, 65]],
  ])('are refused with %s', (_what, bytes) => {
    expect(() => new FrameReader().push(Uint8Array.from(bytes))).toThrow(BadFrame);
  });
});
