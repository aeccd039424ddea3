import { describe, expect, it } from 'vitest';
import { jsonText, printableLines, table } from '../../appliance/cli/terminal.ts';

/** Clears the screen in the two ways that terminals know it: ESC [ 2 J, and the one character that stands for ESC [. */
const HOSTILE = 'fan\u001b[2J\u009b2J';
const obeyed = (text: string): string[] => text.match(/[^\P{Cc}\n]/gu) ?? [];
const output = { colour: false, write: () => undefined };

describe('what others say', () => {
  it('never moves the cursor from a table', () => {
    const shown = table(output, ['SENSOR'], [[HOSTILE]]);
    expect(obeyed(shown)).toEqual([]);
    expect(shown).toContain('fan');
  });

  it('never moves it from an error, which may have several lines', () => {
    const shown = printableLines(`first\n${HOSTILE}`);
    expect(obeyed(shown)).toEqual([]);
    expect(shown.split('\n')).toHaveLength(2);
  });

  it('never moves it from JSON, and is still there for who reads that', () => {
    for (const indent of [0, 2]) {
      const shown = jsonText({ name: HOSTILE }, indent);
      expect(obeyed(shown)).toEqual([]);
      expect(JSON.parse(shown)).toEqual({ name: HOSTILE });
    }
  });
});
