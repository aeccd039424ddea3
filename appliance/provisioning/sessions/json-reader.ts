// Validates what the service OS sends against its schema. Every invalid field is named; unknown fields are dropped.

import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Clean, Clone } from 'typebox/value';
import { ColdironError } from '../../domain/errors.ts';
import { shown } from '../../domain/parsed.ts';

const MOST_FINDINGS = 8;

export function jsonReader<Schema extends TSchema>(schema: Schema): (value: unknown) => Static<Schema> {
  const compiled = Compile(schema);
  return (value) => {
    if (compiled.Check(value)) return Clean(schema, Clone(value)) as Static<Schema>;
    const findings = [...new Set(compiled.Errors(value).map(inWords))].slice(0, MOST_FINDINGS);
    throw new ColdironError('invalid_request', findings.join('; '));
  };
}

const inWords = ({ instancePath, message }: { readonly instancePath: string; readonly message: string }): string =>
  `${shown(instancePath.slice(1).replaceAll('/', '.') || 'body')}: ${message}`;
