// Generates `docs/events.md` from the event table.

import type { TSchema } from 'typebox';
import type { Json } from '../event.ts';
import { EVENT_KINDS, EVENT_TABLE, type EventKind } from './event-table.ts';
import { eventSentence } from './known-event.ts';
import { sampleData } from './sample-event.ts';

const HEAD = `# Events

Generated from \`appliance/domain/events/\` by \`npm run docs\`.

The appliance appends one event for each fact. \`GET /api/v1/events\` and \`coldiron trail <node> --json\` show them with these fields:
\`seq\`, \`at\`, \`kind\`, \`actor\`, \`node\`, \`correlation_id\` and \`data\`. The table lists every kind. A field with \`?\` may be
missing. The sentence is what \`coldiron trail\` prints, here for an example.

| kind | severity | producer | sentence | data |
|---|---|---|---|---|
`;

export const eventDocument = (): string => `${HEAD}${EVENT_KINDS.map(rowText).join('\n')}\n`;

function rowText(kind: EventKind): string {
  const { severity, producer, data } = EVENT_TABLE[kind];
  const sentence = eventSentence({ kind, actor: 'token:operator', data: sampleData(kind) as Json });
  return `| \`${kind}\` | ${severity} | ${producer} | ${escaped(sentence)} | ${fields(data)} |`;
}

function fields(schema: TSchema): string {
  const { properties, required = [] } = schema as { properties: object; required?: readonly string[] };
  return Object.keys(properties)
    .map((name) => `\`${name}${required.includes(name) ? '' : '?'}\``)
    .join(', ');
}

/** A bar would end the cell, and `<name>` would be read as HTML. */
const escaped = (text: string): string => text.replace(/[|<>]/g, (character) => `\\${character}`);
