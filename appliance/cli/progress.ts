// How far each of many is: a table that changes in place on a terminal, a line for each that is done anywhere else.

import { type Output, printable, type Style, styled } from './terminal.ts';

export interface Progress {
  /** `over`: nothing more comes of this one. */
  show(name: string, words: string, style: Style, over: boolean): void;
}

export interface Screen extends Output {
  /** What a terminal shows; null: no terminal. */
  readonly size: { readonly rows: number; readonly columns: number } | null;
}

/** The longest of the words beside a name: `unknown (only written down)`. */
const ROOM_FOR_WORDS = 28;

export function progressOn(screen: Screen, names: readonly string[]): Progress {
  if (screen.size === null) return plainLines(screen, names);
  // A table that does not fit, or whose lines are broken, cannot be drawn over: then the lines come as they are done.
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
  const lines = new Map(names.map((name) => [name, line(name, 'waits', 'grey')]));
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
