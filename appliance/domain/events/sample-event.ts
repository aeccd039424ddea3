// Generates an example of each event kind from its schema, for `docs/events.md` and for tests.

import type { TSchema } from 'typebox';
import type { Json } from '../event.ts';
import { EVENT_TABLE, type EventData, type EventKind } from './event-table.ts';

/** Examples by field name; any other field is shown as `<name>`. */
const EXAMPLES: Readonly<Record<string, Json>> = {
  address: '10.0.100.50',
  server: '10.0.100.66',
  from: '10.0.100.50',
  relay: '10.0.200.1',
  mac: '52:54:00:12:34:56',
  macs: ['52:54:00:12:34:56'],
  xid: '3903f326',
  network: 'boot',
  interface: 'eth0',
  file: 'snponly.efi',
  asset: 'images/service-os-x86_64/initrd',
  path: '/boot/loader/snponly.efi',
  architecture: 7,
  seconds: 600,
  times: 5,
  bytes: 1024,
  of: 1024,
  size: 1024,
  device: 'network',
  firmware: 'efi',
  light: 'on',
  method: 'ipmi-efi-once',
  profile: 'debian-13',
  step: 'write-image',
  percent: 40,
  last_heard: 1_767_225_600_000,
  not_after: '2026-12-17T00:00:00.000Z',
  expires_at: '2026-12-17T00:00:00.000Z',
  handed_to: 'token:operator',
  host: '192.0.2.10',
};

/** The parts of JSON Schema that the table uses. */
interface Shape {
  readonly type?: string;
  readonly enum?: readonly Json[];
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}

export const sampleData = <Kind extends EventKind>(kind: Kind): EventData<Kind> =>
  sampleOf(EVENT_TABLE[kind].data, kind) as unknown as EventData<Kind>;

export function sampleOf(schema: TSchema, name: string): Json {
  const { type, enum: values, anyOf, items, properties } = schema as Shape;
  if (values) return values[0] ?? null;
  if (anyOf) return sampleOf((anyOf[0] ?? {}) as TSchema, name);
  const example = EXAMPLES[name];
  switch (type) {
    case 'string':
      return typeof example === 'string' ? example : `<${name}>`;
    case 'number':
      return typeof example === 'number' ? example : 1;
    case 'boolean':
      return true;
    case 'array':
      return Array.isArray(example) ? example : [sampleOf((items ?? {}) as TSchema, name)];
    default:
      return Object.fromEntries(
        Object.entries(properties ?? {}).map(([field, part]) => [field, sampleOf(part as TSchema, field)]),
      );
  }
}
