// Progress of many nodes: a table that is redrawn in place on a terminal; otherwise one line for each node that is done.

import { type Output, printable, type Style, styled } from './terminal.ts';

export interface Progress {
  /** `over`: this node is done. */
  show(name: string, words: string, style: Style, over: boolean): void;
}

export interface Screen extends Output {
  /** The size of the terminal; null: not a terminal. */
  readonly size: { readonly rows: number; readonly columns: number } | null;
}

/** The longest text beside a name: `unknown (recorded only)`. */
const ROOM_FOR_WORDS = 28;

export function progressOn(screen: Screen, names: readonly string[]): Progress {
  if (screen.size === null) return plainLines(screen, names);
  // A table that does not fit, or whose lines wrap, cannot be redrawn: then each node gets a line when it is done.
  const { rows, columns } = screen.size;
  const fits = names.length < rows - 1 && widest(names) + ROOM_FOR_WORDS < columns;
  return fits ? liveTable(screen, names) : plainLines(screen, names);
}

const widest = (names: readonly string[]): number => Math.max(...names.map((name) => name.length));

function plainLines(screen: Output, names: readonly string[]): Progress {
  const line = lineWriter(screen, names);
  return {
    show: (name, words, style, over) => {
      if (over) screen.write(`${line(name, words, style)}\n`);
    },
  };
}

const ERASE_LINE = '\u001b[2K';

function liveTable(screen: Output, names: readonly string[]): Progress {
  const line = lineWriter(screen, names);
  const lines = new Map(names.map((name) => [name, line(name, 'waiting', 'grey')]));
  const draw = (): void => screen.write([...lines.values()].map((text) => `${ERASE_LINE}${text}\n`).join(''));
  draw();
  return {
    show: (name, words, style) => {
      lines.set(name, line(name, words, style));
      screen.write(`\u001b[${lines.size}A`);
      draw();
    },
  };
}

function lineWriter(screen: Output, names: readonly string[]): (name: string, words: string, style: Style) => string {
  const width = widest(names);
  return (name, words, style) => `${printable(name).padEnd(width)}  ${styled(screen, style, printable(words))}`;
}
