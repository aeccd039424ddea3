// Typed access to one mapping of a file, after its structure was checked. Three answers per key: the value, the default
// when the key is absent, or undefined when what stands there was refused.

import type { Sound } from '../documents/structure.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Findings, Place } from './drafts.ts';

type Parser<T> = (text: string) => Parsed<T>;
type Texts<T> = { [Key in keyof T]-?: NonNullable<T[Key]> extends string ? Key : never }[keyof T];
type Lists<T> = { [Key in keyof T]-?: NonNullable<T[Key]> extends readonly unknown[] ? Key : never }[keyof T];

export class Fields<T extends object> {
  readonly #fields: Sound<T>;
  readonly #at: Place;
  readonly #findings: Findings;
  readonly #prefix: string;

  constructor(fields: Sound<T>, at: Place, findings: Findings, prefix = '') {
    this.#fields = fields;
    this.#at = at;
    this.#findings = findings;
    this.#prefix = prefix;
  }

  has(key: keyof T): boolean {
    return Object.hasOwn(this.#fields, key);
  }

  report(field: string, message: string): void {
    this.#findings.report(this.#at, this.#prefix + field, message);
  }

  warn(field: string, message: string): void {
    this.#findings.warn(this.#at, this.#prefix + field, message);
  }

  /** A value that the schema alone settles. */
  value<Key extends keyof T, Default>(key: Key, otherwise: Default): NonNullable<T[Key]> | Default | undefined {
    return this.has(key) ? (this.#raw(key) as NonNullable<T[Key]> | undefined) : otherwise;
  }

  required<V>(key: Texts<T>, parse: Parser<V>): V | undefined {
    return this.#parsed(this.#raw(key), String(key), parse);
  }

  optional<V>(key: Texts<T>, parse: Parser<V>): V | null | undefined {
    return this.has(key) ? this.required(key, parse) : null;
  }

  /** A list of scalars that the schema alone settles: one refused item leaves nothing to rely on. */
  values<Key extends Lists<T>>(key: Key, otherwise: NonNullable<T[Key]>): NonNullable<T[Key]> | undefined {
    const items = this.value(key, otherwise) as readonly unknown[] | undefined;
    return items?.includes(undefined) ? undefined : (items as NonNullable<T[Key]> | undefined);
  }

  list<V>(key: Lists<T>, parse: Parser<V>): (V | undefined)[] | undefined {
    if (!this.has(key)) return [];
    const items = this.#raw(key) as readonly unknown[] | undefined;
    return items?.map((item, at) => this.#parsed(item, `${String(key)}[${at}]`, parse));
  }

  items<Key extends Lists<T>, V>(key: Key, declare: (item: Fields<Item<T[Key]>>) => V): (V | undefined)[] | undefined {
    if (!this.has(key)) return [];
    const items = this.#raw(key) as readonly (Sound<Item<T[Key]>> | undefined)[] | undefined;
    return items?.map((item, at) => item && declare(this.#inside(item, `${String(key)}[${at}]`)));
  }

  record<Key extends keyof T, V>(
    key: Key,
    declare: (item: Fields<NonNullable<T[Key]> & object>) => V,
  ): V | null | undefined {
    if (!this.has(key)) return null;
    const inner = this.#raw(key) as Sound<NonNullable<T[Key]> & object> | undefined;
    return inner && declare(this.#inside(inner, String(key)));
  }

  #raw(key: keyof T): unknown {
    return (this.#fields as Readonly<Record<keyof T, unknown>>)[key];
  }

  #inside<Inner extends object>(inner: Sound<Inner>, field: string): Fields<Inner> {
    return new Fields(inner, this.#at, this.#findings, `${this.#prefix}${field}.`);
  }

  #parsed<V>(text: unknown, field: string, parse: Parser<V>): V | undefined {
    if (typeof text !== 'string') return undefined;
    const result = parse(text);
    if (result.ok) return result.value;
    this.report(field, result.reason);
    return undefined;
  }
}

type Item<List> = NonNullable<List> extends readonly (infer One)[] ? One & object : never;
