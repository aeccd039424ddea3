// Bodies, parameters and queries against their schemas. Bodies are taken as they are: "8" is not 8, and null is not 0.
// Paths and queries are text on the wire, so whole numbers and booleans are read from it there, and nothing else is.

import type { FastifySchemaCompiler } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { ColdironError } from '../domain/errors.ts';
import { shown } from '../domain/parsed.ts';

type Finding = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validator = Compile(schema);
  return (given: unknown) => {
    // A missing body is an empty one: "host: missing" says more than "not an object".
    const value = httpPart === 'body' ? (given ?? {}) : fromText(schema, given);
    if (validator.Check(value)) return { value };
    const lines = [...new Set(validator.Errors(value).flatMap((finding) => describe(finding, httpPart ?? 'body')))];
    const [only, ...others] = lines;
    if (only !== undefined && others.length === 0) return { error: new ColdironError('invalid_request', only) };
    return { error: new ColdironError('invalid_request', `${lines.length} things are not right`, lines) };
  };
};

function fromText(schema: TSchema, given: unknown): unknown {
  if (!Type.IsObject(schema) || given === null || typeof given !== 'object') return given;
  return Object.fromEntries(
    Object.entries(given).map(([key, text]) => {
      const field: unknown = schema.properties[key];
      // One value of a parameter that may be repeated comes as a text, several as a list.
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
      // What forbids unknown fields, once more; `additionalProperties` names them.
      return [];
    default:
      return [`${here}: ${finding.message}`];
  }
}
