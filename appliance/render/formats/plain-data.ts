// Plain data (texts, whole numbers, true and false, null, lists and sets of them) as a literal of a format that has all of these.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

export interface DataWriter {
  readonly text: (value: string) => Parsed<string>;
  readonly integer: (value: number) => string;
  readonly key: (name: string) => Parsed<string>;
  readonly list: (items: readonly string[]) => string;
  readonly set: (entries: readonly (readonly [key: string, value: string])[]) => string;
}

const DEEPEST = 32;

/** A reason says where inside the value: `.users[0].name has …`. */
export function writeData(value: unknown, writer: DataWriter): Parsed<string> {
  const problems: string[] = [];
  const text = write(value, writer, '', (at, reason) => problems.push(at === '' ? reason : `${at} ${reason}`));
  return problems.length === 0 ? parsed(text) : unparsable(problems.join('; '));
}

type Complain = (at: string, reason: string) => void;

function write(value: unknown, writer: DataWriter, at: string, complain: Complain, depth = 0): string {
  const told = (made: Parsed<string>): string => {
    if (!made.ok) complain(at, made.reason);
    return made.ok ? made.value : '';
  };
  if (depth > DEEPEST) return told(unparsable(`is nested more than ${DEEPEST} deep`));
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return told(writer.text(value));
  if (typeof value === 'number') {
    return Number.isSafeInteger(value)
      ? writer.integer(value)
      : told(unparsable('is not a whole number that keeps its value'));
  }
  if (Array.isArray(value)) {
    return writer.list(value.map((item, index) => write(item, writer, `${at}[${index}]`, complain, depth + 1)));
  }
  if (!isPlainSet(value)) return told(unparsable('is not plain data'));
  return writer.set(
    Object.entries(value).map(([name, item]) => [
      told(writer.key(name)),
      write(item, writer, `${at}.${name}`, complain, depth + 1),
    ]),
  );
}

/** No class has a literal, and a Secret least of all. */
function isPlainSet(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
