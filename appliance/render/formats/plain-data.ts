// Writes plain data (strings, integers, booleans, null, lists and sets of them) as a literal of a format that supports all of these.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

export interface DataWriter {
  readonly text: (value: string) => Parsed<string>;
  readonly integer: (value: number) => string;
  readonly key: (name: string) => Parsed<string>;
  readonly list: (items: readonly string[]) => string;
  readonly set: (entries: readonly (readonly [key: string, value: string])[]) => string;
}

const DEEPEST = 32;

/** A reason includes the path inside the value: `.users[0].name has …`. */
export function writeData(value: unknown, writer: DataWriter): Parsed<string> {
  const problems: string[] = [];
  const text = write(value, writer, '', (at, reason) => problems.push(at === '' ? reason : `${at} ${reason}`));
  return problems.length === 0 ? parsed(text) : unparsable(problems.join('; '));
}

type Report = (at: string, reason: string) => void;

function write(value: unknown, writer: DataWriter, at: string, report: Report, depth = 0): string {
  const orReport = (made: Parsed<string>): string => {
    if (!made.ok) report(at, made.reason);
    return made.ok ? made.value : '';
  };
  if (depth > DEEPEST) return orReport(unparsable(`is nested more than ${DEEPEST} deep`));
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return orReport(writer.text(value));
  if (typeof value === 'number') {
    return Number.isSafeInteger(value) ? writer.integer(value) : orReport(unparsable('is not a safe integer'));
  }
  if (Array.isArray(value)) {
    return writer.list(value.map((item, index) => write(item, writer, `${at}[${index}]`, report, depth + 1)));
  }
  if (!isPlainSet(value)) return orReport(unparsable('is not plain data'));
  return writer.set(
    Object.entries(value).map(([name, item]) => [
      orReport(writer.key(name)),
      write(item, writer, `${at}.${name}`, report, depth + 1),
    ]),
  );
}

/** Class instances have no literal, above all a Secret. */
function isPlainSet(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
