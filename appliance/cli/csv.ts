// Comma-separated values (RFC 4180), also with `;`, which spreadsheets write in locales with a decimal comma.

import { type CsvError, parse } from 'csv-parse/sync';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';

export interface CsvRow {
  /** The line where the row begins. */
  readonly line: number;
  readonly cells: readonly string[];
}

/** Accepts both line ends in one file: lines may be added by hand to a spreadsheet's export. */
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

/** Column names contain neither character. */
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
  // For an open quote the parser reports the end of the file; the quote is in the first row that cannot be read.
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
    // This is the error whose line is searched for.
  }
  return line;
}
