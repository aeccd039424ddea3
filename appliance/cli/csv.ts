// Comma-separated values (RFC 4180): quotes, doubled quotes, line breaks inside quotes, CRLF or LF.

import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';

export interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

export function parseCsv(text: string): Parsed<CsvRow[]> {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let cell = '';
  let line = 1;
  let rowLine = 1;
  let quoted: number | null = null; // the line on which the open quote stands
  let wasQuoted = false;
  const endCell = (): void => {
    cells.push(cell);
    cell = '';
    wasQuoted = false;
  };
  const endRow = (): void => {
    endCell();
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: rowLine, cells });
    cells = [];
    rowLine = line;
  };
  // Spreadsheets put a byte order mark before the first column's name.
  for (let at = text.startsWith('\ufeff') ? 1 : 0; at < text.length; at++) {
    const character = text[at];
    if (character === '\n') line++;
    if (quoted !== null) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') {
        cell += '"';
        at++;
      } else quoted = null;
    } else if (character === '"') {
      if (cell !== '' || wasQuoted) return unparsable(`line ${line}: a quote in the middle of a cell`);
      quoted = line;
      wasQuoted = true;
    } else if (character === ',') endCell();
    else if (character === '\n') endRow();
    else if (character === '\r' && text[at + 1] === '\n') continue;
    else if (wasQuoted) return unparsable(`line ${line}: text after a closing quote`);
    else cell += character;
  }
  if (quoted !== null) return unparsable(`line ${quoted}: a quote is never closed`);
  endRow();
  return parsed(rows);
}
