// How the operation table becomes an OpenAPI 3.1 document.

import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { errorsOf, type Operation } from '../contract/operation.ts';
import { OPERATIONS, type OperationId } from '../contract/operations.ts';
import { DocumentedInventoryApply } from '../contract/schemas/inventory.ts';
import { TAGS } from '../contract/tags.ts';
import { WIRE, type Wire } from '../contract/wire.ts';
import { ERRORS } from '../domain/errors.ts';

const INTRODUCTION = `From a cold, freshly racked server to an enrolled node.

Every failure is answered with the schema Error; its correlation_id is also in the X-Correlation-Id header and in the log. Send
your own X-Correlation-Id (at most 64 of A-Z a-z 0-9 . _ -) to find a request again.

A write that names an Idempotency-Key is done once: the same request with the same key, within 24 hours, gets the answer of the
first, with the header Idempotent-Replayed. A refusal (4xx) does nothing and is not kept. Answers that hold a secret are never
kept. After a crash in the middle the answer is outcome_unknown.

A write that names the ETag of its object in If-Match is refused with 412 when the object has changed since. If-Match: * stands
for any version.

The serial console (GET /api/v1/nodes/{node}/console) and the terminal (GET /api/v1/nodes/{node}/terminal) are streams after an HTTP upgrade, which OpenAPI cannot describe.`;

const UPGRADED: ReadonlySet<OperationId> = new Set<OperationId>(['openNodeConsole', 'openNodeTerminal']);

export const OPEN_API: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Coldiron management API',
      description: INTRODUCTION,
      version: '1',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      contact: { name: 'Coldiron contributors' },
    } as object as { title: string; version: string },
    servers: [
      {
        url: 'https://{appliance}:{port}',
        description: 'The management listener of an appliance',
        variables: {
          appliance: { default: 'coldiron.lan', description: 'Host name or address of the appliance' },
          port: { default: '8443', description: 'listen.management of the site file' },
        },
      },
    ],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'ci_…, created with POST /api/v1/tokens' },
      },
    },
  },
  refResolver: { buildLocalReference: (schema, _base, _fragment, at) => String(schema.$id ?? `schema-${at}`) },
  transform: ({ url, route }) => {
    const id = route.config?.operation;
    if (id === undefined || UPGRADED.has(id) || url !== OPERATIONS[id].path) return { url, schema: { hide: true } };
    return { url, schema: described(id) };
  },
};

/** The document describes more than the validator checks. */
const DOCUMENTED_BODIES: Partial<Record<OperationId, object>> = { applyInventory: DocumentedInventoryApply };

function described(id: OperationId) {
  const operation = OPERATIONS[id];
  const { params, query, body }: Wire = WIRE[id];
  const { access, write } = operation;
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    description: access === 'public' ? 'Public, without a token.' : `Needs the role ${access}.`,
    security: access === 'public' ? [] : [{ token: [] }],
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body: DOCUMENTED_BODIES[id] ?? body }),
    ...(write && { headers: writeHeaders(operation) }),
    response: responsesOf(id, operation),
  };
}

const writeHeaders = ({ write }: Operation) => ({
  type: 'object',
  properties: {
    'Idempotency-Key': {
      type: 'string',
      minLength: 1,
      maxLength: 255,
      pattern: '^[\\x21-\\x7e]+$',
      description:
        'Chosen by the client, a new one for each new request; a repetition with the same key is not executed again',
    },
    ...(write?.precondition && {
      'If-Match': {
        type: 'string',
        description:
          write.precondition === 'node'
            ? 'The ETag of the node that you read, or *'
            : 'The declared revision of the inventory that you read, as an ETag, or *',
      },
    }),
  },
});

const header = (description: string) => ({ description, type: 'string' });

function responsesOf(id: OperationId, operation: Operation): Record<string, object> {
  const { answer }: Wire = WIRE[id];
  const headers = {
    ...(operation.etag && { ETag: header('The version, for If-Match') }),
    ...(operation.write && {
      'Idempotent-Replayed': header('true: this is the answer of an earlier request; nothing was executed now'),
    }),
  };
  const { content } = operation;
  const success = {
    ...(content === undefined ? answer : { content: { [content]: { schema: answer } } }),
    description: 'Done',
    ...(Object.keys(headers).length > 0 && { headers }),
  };
  const degraded =
    id === 'getHealth' ? { 503: { ...answer, description: 'A service has failed, or is still starting' } } : {};
  return { [operation.status ?? 200]: success, ...degraded, ...failuresOf(operation) };
}

function failuresOf(operation: Operation): Record<string, object> {
  const byStatus = Map.groupBy(errorsOf(operation), (code) => statusOf(operation, code));
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, { description: codes.join(', '), $ref: 'Error#' }]),
  );
}

const statusOf = ({ write }: Operation, code: keyof typeof ERRORS): number =>
  code === 'version_conflict' && write?.precondition ? 412 : ERRORS[code].status;
