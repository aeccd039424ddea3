// Output for a person: tables, colour only on a terminal; and JSON for --json.

import { plainLine } from '../domain/plain-line.ts';

export interface Output {
  readonly write: (text: string) => void;
  readonly colour: boolean;
}

/** https://no-color.org: any value of NO_COLOR turns colour off. */
export const standardOutput = (): Output => ({
  write: (text) => void process.stdout.write(text),
  colour: process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
});

const STYLES = { bold: 1, red: 31, green: 32, yellow: 33, grey: 90 } as const;
export type Style = keyof typeof STYLES;

export const styled = (output: Output, style: Style, text: string): string =>
  output.colour ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;

/** JSON.stringify escapes ASCII control characters; terminals also obey the C1 controls, which this escapes. */
export const jsonText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );

export const printJson = (output: Output, value: unknown): void => output.write(`${jsonText(value, 2)}\n`);

/** Columns as wide as their widest cell. Control characters never reach the terminal. */
export function table(output: Output, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map(printable));
  const widths = head.map((title, column) => Math.max(title.length, ...clean.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[styled(output, 'bold', line(head)), ...clean.map(line)].join('\n')}\n`;
}

/** One line without control characters, safe for text from a machine. */
export const printable = plainLine;

/** For text of several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');
