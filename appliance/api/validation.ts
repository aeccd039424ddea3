// Validates bodies, parameters and queries against their schemas. Bodies are not coerced: "8" is not 8, and null is not 0.
// Paths and queries are text on the wire, so integers and booleans are parsed there, and no other types.

import type { FastifySchemaCompiler } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { ColdironError } from '../domain/errors.ts';
import { shown } from '../domain/parsed.ts';

type Finding = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let compiled: ReturnType<typeof Compile> | undefined;
  return (given: unknown) => {
    // With the first request of the route: an appliance is up sooner, and most of its routes are rarely used.
    compiled ??= Compile(schema);
    const validator = compiled;
    // A missing body counts as an empty one: "host: missing" is clearer than "not an object".
    const value = httpPart === 'body' ? (given ?? {}) : fromText(schema, given);
    if (validator.Check(value)) return { value };
    const lines = [...new Set(validator.Errors(value).flatMap((finding) => describe(finding, httpPart ?? 'body')))];
    const [only, ...others] = lines;
    if (only !== undefined && others.length === 0) return { error: new ColdironError('invalid_request', only) };
    return { error: new ColdironError('invalid_request', `the request has ${lines.length} problems`, lines) };
  };
};

const COMPILED = new WeakMap<TSchema, ReturnType<FastifySchemaCompiler<TSchema>>>();

/** The value as a route would pass it to its handler; throws `invalid_request`, as the route would answer. */
export function validated(schema: TSchema | undefined, given: unknown, httpPart: string): unknown {
  if (schema === undefined) return undefined;
  const known = COMPILED.get(schema) ?? validatorCompiler({ schema, httpPart, method: '', url: '' });
  COMPILED.set(schema, known);
  const outcome = known(given) as { readonly value: unknown } | { readonly error: Error };
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

function fromText(schema: TSchema, given: unknown): unknown {
  if (!Type.IsObject(schema) || given === null || typeof given !== 'object') return given;
  return Object.fromEntries(
    Object.entries(given).map(([key, text]) => {
      const field: unknown = schema.properties[key];
      // A repeatable parameter is a string when it occurs once, a list when it occurs several times.
      if (Type.IsArray(field) && typeof text === 'string') return [key, [text]];
      if (Type.IsInteger(field) && /^\d{1,15}$/.test(String(text))) return [key, Number(text)];
      if (Type.IsBoolean(field) && /^(true|false)$/.test(String(text))) return [key, text === 'true'];
      return [key, text];
    }),
  );
}

function describe(finding: Finding, part: string): string[] {
  const at = finding.instancePath
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${shown(step)}`))
    .join('')
    .replace(/^\./, '');
  const below = (key: string) => (at === '' ? shown(key) : `${at}.${shown(key)}`);
  const here = at === '' ? part : at;
  switch (finding.keyword) {
    case 'required':
      return finding.params.requiredProperties.map((key) => `${below(key)}: missing`);
    case 'additionalProperties':
      return finding.params.additionalProperties.map((key) => `${below(key)}: unknown field`);
    case 'enum':
      return [`${here}: must be one of ${finding.params.allowedValues.join(', ')}`];
    case 'boolean':
      // Repeats the finding of `additionalProperties`, which names the fields.
      return [];
    default:
      return [`${here}: ${finding.message}`];
  }
}
