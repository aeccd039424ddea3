import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EscapeReader } from '../../appliance/cli/escape.ts';

/** Types the pieces; returns the bytes sent before the console closed, and the actions. */
function type(...pieces: string[]): { sent: string; actions: string[] } {
  const reader = new EscapeReader();
  let sent = '';
  const actions: string[] = [];
  for (const piece of pieces) {
    const typed = reader.read(Buffer.from(piece, 'latin1'));
    sent += Buffer.from(typed.send).toString('latin1');
    if (typed.action !== 'nothing') actions.push(typed.action);
    if (typed.action === 'leave') break;
  }
  return { sent, actions };
}

describe('console escapes', () => {
  it.each([
    ['closes at once', ['~.'], '', ['leave']],
    ['closes after a line', ['ls\r~.more'], 'ls\r', ['leave']],
    ['closes when the keys arrive one by one', ['ls\r', '~', '.'], 'ls\r', ['leave']],
    ['shows help and stays at the line start', ['~?', '~.'], '', ['help', 'leave']],
    ['sends one tilde for two', ['~~.'], '~.', []],
    ['does not close in the middle of a line', ['a~.'], 'a~.', []],
    ['sends a tilde that is no escape', ['~a'], '~a', []],
    ['accepts an escape after a tilde and a line end', ['~\r~.'], '~\r', ['leave']],
    ['accepts line feeds as line ends', ['x\n~.'], 'x\n', ['leave']],
  ])('%s', (_what, pieces, sent, actions) => {
    expect(type(...pieces)).toEqual({ sent, actions });
  });

  it('does not depend on how the keys are split', () => {
    const keys = fc.array(fc.constantFrom('~', '.', '?', '\r', '\n', 'a'), { maxLength: 30 });
    fc.assert(
      fc.property(keys, fc.array(fc.nat(30), { maxLength: 6 }), (letters, cuts) => {
        const text = letters.join('');
        const places = [0, ...cuts.filter((at) => at <= text.length).sort((a, b) => a - b), text.length];
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
        const whole = type(...letters);
        const cut = type(...pieces);
        expect(cut.sent).toBe(whole.sent);
        expect(cut.actions.includes('leave')).toBe(whole.actions.includes('leave'));
      }),
    );
  });

  it('passes all bytes without a tilde unchanged', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const keys = bytes.map((byte) => (byte === 0x7e ? 0x7d : byte));
        expect([...new EscapeReader().read(keys).send]).toEqual([...keys]);
      }),
    );
  });
});
