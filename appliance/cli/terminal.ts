// Output for a person: tables, colour only on a terminal; and JSON for --json. Everything that a verb prints passes `forScreen`, so
// that text from a machine cannot operate the terminal, whatever verb prints it.

import { plainLine } from '../domain/plain-line.ts';

export interface Output {
  readonly write: (text: string) => void;
  readonly colour: boolean;
}

/** https://no-color.org: any value of NO_COLOR turns colour off. */
export const standardOutput = (): Output => ({
  write: (text) => void process.stdout.write(forScreen(text, process.stdout.isTTY === true)),
  colour: process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
});

const STYLES = { bold: 1, red: 31, green: 32, yellow: 33, grey: 90 } as const;
export type Style = keyof typeof STYLES;

export const styled = (output: Output, style: Style, text: string): string =>
  output.colour ? `\u001b[${STYLES[style]}m${text}\u001b[0m` : text;

/** The sequences that this CLI writes itself, on terminals only: colours, erase the line, move up. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is to be found here
const OWN_SEQUENCES = /(\r?\u001b\[2K|\u001b\[\d{1,2}m|\u001b\[\d{1,4}A|[\n\t])/;
const OWN_LAYOUT = /([\n\t])/;

/** Escapes everything that a terminal would obey, or show in another order, except what this CLI writes itself. */
export const forScreen = (text: string, isTerminal: boolean): string =>
  text
    .split(isTerminal ? OWN_SEQUENCES : OWN_LAYOUT)
    .map((part, at) => (at % 2 === 0 ? plainLine(part) : part))
    .join('');

/** JSON.stringify escapes ASCII control characters; the others become the same kind of escape, so that the value stays the same. */
export const jsonText = (value: unknown, indent = 0): string => forScreen(JSON.stringify(value, null, indent), false);

export const printJson = (output: Output, value: unknown): void => output.write(`${jsonText(value, 2)}\n`);

/** Columns as wide as their widest cell. Control characters never reach the terminal. */
export function table(output: Output, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map(cell));
  const widths = head.map((title, column) => Math.max(title.length, ...clean.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((text, column) => (column === cells.length - 1 ? text : text.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[styled(output, 'bold', line(head)), ...clean.map(line)].join('\n')}\n`;
}

/** One line without control characters, safe for text from a machine. */
export const printable = plainLine;

const LONGEST_CELL = 300;

/** As `printable`, of bounded length: one long value must not push the other columns off the screen. */
export function cell(text: string): string {
  const line = printable(text.length > LONGEST_CELL ? text.slice(0, LONGEST_CELL) : text);
  return text.length > LONGEST_CELL ? `${line}… (${text.length} characters)` : line;
}

/** For text of several lines: the lines after the first are indented, so that none can pass for a line of the CLI. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n    ');
