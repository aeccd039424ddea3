import { describe, expect, it } from 'vitest';
import { BlockWindow } from '../../../appliance/codecs/tftp/block-window.ts';
import { octetBlocks } from '../../../appliance/codecs/tftp/blocks.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';

const FILE = new Uint8Array(Buffer.from('11111111222222223333333344444444555'));
const data = (block: number, text: string) =>
  encodeTftp({ op: 'data', block, payload: new Uint8Array(Buffer.from(text)) });

function windowOf(windowSize: number): BlockWindow {
  const source = {
    size: FILE.length,
    read: (offset: number, length: number) => FILE.subarray(offset, offset + length),
  };
  return new BlockWindow(octetBlocks(source), { blockSize: 8, windowSize, rolloverTo: 0 });
}

function cut(window: BlockWindow, times: number): void {
  for (let time = 0; time < times; time += 1) expect(window.cutNext()).toBe('cut');
}

describe('the window of blocks', () => {
  it('holds finished packets, at most as many as the window size', () => {
    const window = windowOf(2);
    cut(window, 3);
    expect(window.packet(3)).toEqual(data(3, '33333333'));
    expect(window.packet(2)).toEqual(data(2, '22222222'));
    expect(window.packet(1)).toBeUndefined();
    expect(window.packet(4)).toBeUndefined();
  });

  it('knows the last block and the number of bytes before it', () => {
    const window = windowOf(2);
    cut(window, 4);
    expect(window.complete).toBe(false);
    cut(window, 1);
    expect(window.complete).toBe(true);
    expect(window.newest).toBe(5);
    expect([0, 1, 4, 5].map((block) => window.bytesThrough(block))).toEqual([0, 8, 32, 35]);
  });

  it('reuses its buffers for full blocks, so that a packet still queued in a socket stays valid', () => {
    const window = windowOf(2);
    cut(window, 2);
    const held = window.packet(2);
    cut(window, 2);
    expect(held).toEqual(data(4, '44444444'));
  });

  it('gives the short last block its own buffer, apart from those a socket may still queue', () => {
    const window = windowOf(2);
    cut(window, 4);
    const held = window.packet(3);
    cut(window, 1);
    expect(window.packet(5)).toEqual(data(5, '555'));
    expect(window.packet(5)?.buffer).not.toBe(held?.buffer);
    expect(held).toEqual(data(3, '33333333'));
  });
});
