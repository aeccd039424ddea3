// How the route table becomes an OpenAPI 3.1 document.

import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';

export const OPEN_API: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Coldiron management API',
      description:
        'From a cold, freshly racked server to an enrolled node. Every failure is answered with the schema Error; its ' +
        'correlation_id is also in the X-Correlation-Id header and in the log. Send your own X-Correlation-Id ' +
        '(at most 64 of A-Z a-z 0-9 . _ -) to find a request again.',
      version: '1',
    },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'ci_…, made with POST /api/v1/tokens' },
      },
    },
  },
  refResolver: { buildLocalReference: (schema, _base, _fragment, at) => String(schema.$id ?? `schema-${at}`) },
  transform: ({ schema, url, route }) => {
    const access = route.config?.access;
    return {
      url,
      schema: {
        ...schema,
        description: access === 'public' ? 'For everybody.' : `Needs the role ${access}.`,
        security: access === 'public' ? [] : [{ token: [] }],
        response: {
          ...(schema?.response as object | undefined),
          default: { description: 'Any failure', $ref: 'Error#' },
        },
      },
    };
  },
};
