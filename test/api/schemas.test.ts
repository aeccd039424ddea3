// Routes compile their schemas with their first request. Here each one is compiled, so that a wrong one is noticed before that.

import Fastify, { type FastifyInstance } from 'fastify';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATION_IDS } from '../../appliance/contract/operations.ts';
import { COMPONENTS } from '../../appliance/contract/schemas/components.ts';
import { WIRE, type Wire } from '../../appliance/contract/wire.ts';

describe('the schemas of the operation table', () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = Fastify();
    for (const { schema } of COMPONENTS) app.addSchema(schema);
    app.get<{ Params: { id: keyof typeof WIRE } }>('/:id', async (request, reply) => {
      const write = reply.compileSerializationSchema(
        WIRE[request.params.id].answer as object as Record<string, unknown>,
      );
      return { compiled: typeof write };
    });
    await app.ready();
  });
  afterAll(() => app.close());

  it.each(OPERATION_IDS)('can be compiled: %s', async (id) => {
    const answer = await app.inject(`/${id}`);
    expect(answer.json()).toEqual({ compiled: 'function' });
    const { params, query, body }: Wire = WIRE[id];
    for (const schema of [params, query, body]) if (schema) expect(Compile(schema).Check).toBeTypeOf('function');
  });
});
