// Validates the structure of a document: walks a value along its schema, reports every problem in plain text, and returns the
// valid part, so that one problem hides no other. The schema library stops at eight errors and reports "schema is false"; an
// operator needs all problems, with a suggestion for misspelled keys.

import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { shown } from '../domain/parsed.ts';
import { suggestion } from './nearest-name.ts';

export type Report = (path: string, message: string) => void;

/** The valid part of a value: an invalid key or item is present as undefined. */
export type ValidPart<T> = T extends readonly (infer Item)[]
  ? readonly (ValidPart<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: ValidPart<T[Key]> | undefined }
    : T;

/** The subset of JSON Schema that our files use. */
interface Shape {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly minItems?: number;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly description?: string;
}

/** Returns a reader for one schema; the reader returns undefined when no part of the value is valid. */
export function structureReader<Schema extends TSchema>(
  schema: Schema,
): (value: unknown, report: Report) => ValidPart<Static<Schema>> | undefined {
  const compiled = Compile(schema);
  return (value, report) =>
    (compiled.Check(value) ? value : validPart(schema as Shape, value, '', report)) as
      | ValidPart<Static<Schema>>
      | undefined;
}

function validPart(shape: Shape, value: unknown, path: string, report: Report): unknown {
  const problem = valueProblem(shape, value);
  if (problem !== null) {
    report(path, problem);
    return undefined;
  }
  if (shape.type === 'array') {
    return (value as unknown[]).map((item, at) => validPart(shape.items ?? {}, item, `${path}[${at}]`, report));
  }
  return shape.type === 'object' ? validObject(shape, value as Record<string, unknown>, path, report) : value;
}

function validObject(shape: Shape, value: Record<string, unknown>, path: string, report: Report): unknown {
  const at = (key: string) => (path === '' ? shown(key) : `${path}.${shown(key)}`);
  const properties = shape.properties ?? {};
  const patterns = Object.entries(shape.patternProperties ?? {});
  const valid: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const known = Object.hasOwn(properties, key)
      ? properties[key]
      : patterns.find(([pattern]) => new RegExp(pattern).test(key))?.[1];
    if (known) valid[key] = validPart(known, value[key], at(key), report);
    else report(at(key), unknownKey(key, shape));
  }
  for (const key of shape.required ?? []) {
    if (Object.hasOwn(value, key)) continue;
    report(at(key), 'is missing');
    valid[key] = undefined;
  }
  return valid;
}

function unknownKey(key: string, shape: Shape): string {
  if (/passw|passphrase|secret/i.test(key)) return 'secrets are never in the inventory; use password_file';
  if (!shape.properties) return 'not a key (letters, digits, ".", "_", "/", "-", at most 63)';
  return `unknown key${suggestion(key, Object.keys(shape.properties))}`;
}

/** The problem of the value itself, not of its contents. */
function valueProblem(shape: Shape, value: unknown): string | null {
  if (value === null) return 'is empty: give a value or remove the key';
  if (shape.enum) {
    if (typeof value !== 'string') return `must be one of ${shape.enum.join(', ')}, is ${typeText(value)}`;
    if (shape.enum.includes(value)) return null;
    return `must be one of ${shape.enum.join(', ')}: ${shown(value)}${suggestion(value, shape.enum)}`;
  }
  switch (shape.type) {
    case 'object':
      return isMapping(value) ? null : `must be a mapping (key: value), is ${typeText(value)}`;
    case 'array':
      if (!Array.isArray(value)) return `must be a list, is ${typeText(value)}`;
      return value.length < (shape.minItems ?? 0) ? 'must have at least one item' : null;
    case 'string':
      return textProblem(shape, value);
    case 'integer':
      return integerProblem(shape, value);
    case 'boolean':
      return typeof value === 'boolean' ? null : `must be true or false, is ${typeText(value)}`;
    default:
      return null;
  }
}

function textProblem(shape: Shape, value: unknown): string | null {
  if (typeof value === 'number') return `must be text, is a number: ${value} (put it in quotes)`;
  if (typeof value !== 'string') return `must be text, is ${typeText(value)}`;
  if (value.length > (shape.maxLength ?? Number.POSITIVE_INFINITY)) {
    return `must have at most ${shape.maxLength} characters, has ${value.length}`;
  }
  if (shape.pattern === undefined || new RegExp(shape.pattern).test(value)) return null;
  return `must be ${shape.description}: ${shown(value)}`;
}

function integerProblem(shape: Shape, value: unknown): string | null {
  if (typeof value !== 'number') return `must be a whole number, is ${typeText(value)}`;
  if (!Number.isInteger(value)) return `must be a whole number: ${value}`;
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = shape;
  return value >= minimum && value <= maximum ? null : `must be ${minimum} to ${maximum}: ${value}`;
}

const isMapping = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

function typeText(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  if (typeof value === 'string') return `text: ${shown(value)}`;
  return typeof value === 'boolean' ? String(value) : `a number: ${shown(value)}`;
}
