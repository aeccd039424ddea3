// One row of the event table: what an event of one kind holds, who writes it, how serious it is, and its sentence.

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
  | 'work'
  | 'deliveries'
  | 'identity'
  | 'inventory'
  | 'api'
  | 'trail';

export interface EventRow<Data extends TObject = TObject> {
  readonly producer: Producer;
  readonly severity: Severity;
  readonly data: Data;
  /** One plain sentence, the machine being its subject where no other is named. It may hold text from a machine: see `sentence.ts`. */
  readonly sentence: (data: Static<Data>, actor: string) => string;
}

/** The rows of one producer. `fields` is the schema of `data`; `null` values are stored as null and never left out. */
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
/** `, architecture 7` and the like: nothing where there is no value. */
export const also = (value: string | number | null | undefined, words: (value: string | number) => string): string =>
  value === null || value === undefined || value === '' ? '' : words(value);
