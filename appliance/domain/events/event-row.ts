// One row of the event table: the data, producer, severity and sentence of one event kind.

import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';

/** `info`: the expected course. `warning`: a person may have to look. `error`: a step failed. */
export const SEVERITIES = ['info', 'warning', 'error'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The part of the appliance that writes the event. */
export type Producer =
  | 'dhcp'
  | 'tftp'
  | 'http-boot'
  | 'bmc'
  | 'machines'
  | 'provisioning'
  | 'deliveries'
  | 'identity'
  | 'allocations'
  | 'inventory'
  | 'api'
  | 'trail'
  | 'self-check'
  | 'node-api'
  | 'export'
  | 'terminals'
  | 'onboarding'
  | 'proposals'
  | 'maas';

export interface EventRow<Data extends TObject = TObject> {
  readonly producer: Producer;
  readonly severity: Severity;
  readonly data: Data;
  /** One plain sentence; without another subject, it is about the machine. It may contain text from a machine: print it with `eventSentence`. */
  readonly sentence: (data: Static<Data>, actor: string) => string;
}

/** The rows of one producer. `fields` is the schema of `data`; a `null` value is stored, never omitted. */
export const rowsOf =
  (producer: Producer) =>
  <Fields extends TProperties>(
    severity: Severity,
    fields: Fields,
    sentence: (data: Static<TObject<Fields>>, actor: string) => string,
  ): EventRow<TObject<Fields>> => ({ producer, severity, data: Type.Object(fields), sentence });

export const text = Type.String();
export const number = Type.Number();
export const flag = Type.Boolean();
export const texts = Type.Array(Type.String());
export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
export const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema);
/** Optional text such as `, architecture 7`: empty without a value. */
export const also = (value: string | number | null | undefined, words: (value: string | number) => string): string =>
  value === null || value === undefined || value === '' ? '' : words(value);
