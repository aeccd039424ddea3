// Typed access to one mapping of a file, after its structure was checked. Each key returns the value, the default when the key
// is absent, or undefined when its value was rejected.

import type { ValidPart } from '../documents/structure.ts';
import type { Parsed } from '../domain/parsed.ts';
import type { Findings, Place } from './drafts.ts';

type Parser<T> = (text: string) => Parsed<T>;
type Texts<T> = { [Key in keyof T]-?: NonNullable<T[Key]> extends string ? Key : never }[keyof T];
type Lists<T> = { [Key in keyof T]-?: NonNullable<T[Key]> extends readonly unknown[] ? Key : never }[keyof T];

export class Fields<T extends object> {
  readonly #fields: ValidPart<T>;
  readonly #at: Place;
  readonly #findings: Findings;
  readonly #prefix: string;

  constructor(fields: ValidPart<T>, at: Place, findings: Findings, prefix = '') {
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

  /** A value that the schema alone validates. */
  value<Key extends keyof T, Default>(key: Key, fallback: Default): NonNullable<T[Key]> | Default | undefined {
    return this.has(key) ? (this.#raw(key) as NonNullable<T[Key]> | undefined) : fallback;
  }

  required<V>(key: Texts<T>, parse: Parser<V>): V | undefined {
    return this.#parsed(this.#raw(key), String(key), parse);
  }

  optional<V>(key: Texts<T>, parse: Parser<V>): V | null | undefined {
    return this.has(key) ? this.required(key, parse) : null;
  }

  /** A list of scalars that the schema alone validates: one rejected item makes the whole list undefined. */
  values<Key extends Lists<T>>(key: Key, fallback: NonNullable<T[Key]>): NonNullable<T[Key]> | undefined {
    const items = this.value(key, fallback) as readonly unknown[] | undefined;
    return items?.includes(undefined) ? undefined : (items as NonNullable<T[Key]> | undefined);
  }

  list<V>(key: Lists<T>, parse: Parser<V>): (V | undefined)[] | undefined {
    if (!this.has(key)) return [];
    const items = this.#raw(key) as readonly unknown[] | undefined;
    return items?.map((item, at) => this.#parsed(item, `${String(key)}[${at}]`, parse));
  }

  items<Key extends Lists<T>, V>(key: Key, declare: (item: Fields<Item<T[Key]>>) => V): (V | undefined)[] | undefined {
    if (!this.has(key)) return [];
    const items = this.#raw(key) as readonly (ValidPart<Item<T[Key]>> | undefined)[] | undefined;
    return items?.map((item, at) => item && declare(this.#inside(item, `${String(key)}[${at}]`)));
  }

  record<Key extends keyof T, V>(
    key: Key,
    declare: (item: Fields<NonNullable<T[Key]> & object>) => V,
  ): V | null | undefined {
    if (!this.has(key)) return null;
    const inner = this.#raw(key) as ValidPart<NonNullable<T[Key]> & object> | undefined;
    return inner && declare(this.#inside(inner, String(key)));
  }

  #raw(key: keyof T): unknown {
    return (this.#fields as Readonly<Record<keyof T, unknown>>)[key];
  }

  #inside<Inner extends object>(inner: ValidPart<Inner>, field: string): Fields<Inner> {
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
