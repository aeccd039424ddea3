// Generates docs/api.md from the operation table.

import { verbOf } from './operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from './operations.ts';
import { TAGS, type Tag } from './tags.ts';

const INTRODUCTION = `# The management API

<!-- Generated from appliance/contract/operations.ts by \`npm run docs\`. -->

The whole description is the OpenAPI document: [appliance/api/openapi.json](../appliance/api/openapi.json), also served at
\`GET /api/v1/openapi.json\`. Each role includes the rights of the roles before it: viewer, agent, tech, operator, admin.

**Idempotency-Key.** Every write takes one (1 to 255 visible ASCII characters). The same key, caller and request within 24 hours
gets the answer of the first, with \`Idempotent-Replayed: true\`, and is not executed again. The same key with another request is
\`idempotency_key_reused\` (422); while the first runs, \`request_in_progress\` (409). A refusal (4xx) changes nothing and frees the
key. An answer that contains a secret is never stored: \`answer_not_kept\` (409) says when the request was completed. After a crash in the
middle the answer is \`outcome_unknown\` (409), except for idempotent operations, which are executed again.

**If-Match.** Answers about a node have its version as \`ETag\`, answers of apply and import the declared revision. A write that
names it in \`If-Match\` is refused with 412 \`version_conflict\`, which lists the changes, when the version has changed.
\`If-Match: *\` stands for any version.

Where a row has several routes, the first is in the OpenAPI document; the others are the same operation under the paths that the runbooks of
other systems use.
`;

export function apiDocument(): string {
  const sections = (Object.keys(TAGS) as Tag[]).map((tag) => section(tag)).join('\n');
  return `${INTRODUCTION}\n${sections}`;
}

function section(tag: Tag): string {
  const rows = OPERATION_IDS.filter((id) => OPERATIONS[id].tag === tag).map(row);
  const head = ['| operation | route | role | If-Match | CLI |', '|---|---|---|---|---|'];
  return `## ${tag}\n\n${TAGS[tag]}\n\n${[...head, ...rows].join('\n')}\n`;
}

function row(id: OperationId): string {
  const operation = OPERATIONS[id];
  const { method, path, access, write, summary } = operation;
  const verb = verbOf(operation);
  const cells = [
    `\`${id}\`<br>${summary}`,
    [path, ...(operation.aliases ?? [])].map((each) => `\`${method} ${each}\``).join('<br>'),
    access,
    write?.precondition ?? '',
    verb === null ? '' : `\`coldiron ${verb}\``,
  ];
  return `| ${cells.join(' | ')} |`;
}
