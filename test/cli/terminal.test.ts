import { describe, expect, it } from 'vitest';
import { jsonText, printableLines, styled, table } from '../../appliance/cli/terminal.ts';

/** Clears the screen in the two encodings that terminals accept: ESC [ 2 J, and CSI as one character. */
const HOSTILE = 'fan\u001b[2J\u009b2J';
const obeyed = (text: string): string[] => text.match(/[^\P{Cc}\n]/gu) ?? [];
const output = { colour: false, write: () => undefined };

describe('text from machines', () => {
  it('cannot move the cursor from a table', () => {
    const shown = table(output, ['SENSOR'], [[HOSTILE]]);
    expect(obeyed(shown)).toEqual([]);
    expect(shown).toContain('fan');
  });

  it('cannot move it from an error of several lines', () => {
    const shown = printableLines(`first\n${HOSTILE}`);
    expect(obeyed(shown)).toEqual([]);
    expect(shown.split('\n')).toHaveLength(2);
  });

  it('cannot move it from JSON, where it stays readable as an escape', () => {
    for (const indent of [0, 2]) {
      const shown = jsonText({ name: HOSTILE }, indent);
      expect(obeyed(shown)).toEqual([]);
      expect(JSON.parse(shown)).toEqual({ name: HOSTILE });
    }
  });
});

describe('a table', () => {
  it('has columns as wide as their widest cell, and no trailing blanks', () => {
    const rows = [
      ['node01', 'ready', ''],
      ['a', 'deploying', 'x'],
    ];
    expect(table(output, ['NAME', 'STATE', 'NOTE'], rows)).toBe(
      'NAME    STATE      NOTE\nnode01  ready\na       deploying  x\n',
    );
  });

  it('has a bold head on a terminal, and no colour anywhere else', () => {
    expect(table({ ...output, colour: true }, ['NAME'], [['a']])).toBe('\u001b[1mNAME\u001b[0m\na\n');
    expect(styled(output, 'red', 'failed')).toBe('failed');
  });
});
