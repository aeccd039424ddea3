// Comma-separated values (RFC 4180), also with the `;` that spreadsheets write where the comma is the decimal sign.

import { type CsvError, parse } from 'csv-parse/sync';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';

export interface CsvRow {
  /** Where it begins. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Both line ends in one file: lines that were added by hand to what a spreadsheet wrote. */
const OPTIONS = { bom: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'] };

export function parseCsv(text: string): Parsed<CsvRow[]> {
  const delimiter = delimiterOf(text);
  try {
    const options = { ...OPTIONS, info: true, skip_empty_lines: true, delimiter };
    const rows = parse(text, options) as unknown as { record: string[]; info: { lines: number } }[];
    return parsed(
      rows.map(({ record, info }) => ({ line: info.lines - record.join('').split('\n').length + 1, cells: record })),
    );
  } catch (error) {
    return unparsable(problemOf(error as CsvError, text, delimiter));
  }
}

/** Names of columns contain neither of the two. */
function delimiterOf(text: string): ',' | ';' {
  const [head = ''] = text.split('\n', 1);
  return head.split(';').length > head.split(',').length ? ';' : ',';
}

const PROBLEMS: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  INVALID_OPENING_QUOTE: 'a quote in the middle of a cell',
  CSV_INVALID_CLOSING_QUOTE: 'text after a closing quote',
};

function problemOf(error: CsvError, text: string, delimiter: string): string {
  const problem = PROBLEMS[error.code];
  if (problem === undefined) throw error;
  // Of an open quote the parser knows only that the file ended; the row that it is in is the first one that cannot be read.
  const line = error.code === 'CSV_QUOTE_NOT_CLOSED' ? rowAtEnd(text, delimiter) : Number(error.lines);
  const [head = ''] = text.replace(/^\ufeff/, '').split(/\r?\n/, 1);
  const column = line > 1 ? head.split(delimiter)[Number(error.column)] : undefined;
  return `line ${line}${column === undefined ? '' : `, column ${column.trim()}`}: ${problem}`;
}

/** The line after the last row that is complete. */
function rowAtEnd(text: string, delimiter: string): number {
  let line = 1;
  const on_record = (record: string[], { lines }: { lines: number }): string[] => {
    line = lines + 1;
    return record;
  };
  try {
    parse(text, { ...OPTIONS, delimiter, on_record });
  } catch {
    // It is the error whose line is being looked for.
  }
  return line;
}
