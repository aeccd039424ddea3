// Task routes for nodes: fetch a task, begin it, report its result.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { App } from '../../api/base-app.ts';
import { ColdironError } from '../../domain/errors.ts';
import { SECOND } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import { type TaskId, taskDefinition } from '../../domain/task.ts';
import { eligibilityOf } from '../../identity/node-eligibility.ts';
import { sendFields } from './answer.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import type { Peers } from './peer.ts';

const TaskReference = Type.Object({ task: Type.String({ pattern: '^[0-9a-f-]{36}$' }) });
const closed = { additionalProperties: false } as const;
const LONGEST_WAIT_SECONDS = 60;

export function nodeTaskRoutes(app: App, { store, enrollment, stopping }: NodeApiDeps, peers: Peers): void {
  const { tasks, drains } = enrollment;

  const Wait = Type.Object({ timeout: Type.Optional(Type.String({ pattern: '^\\d{1,3}$' })) }, closed);
  const wait = async (machine: Machine, timeout: string | undefined, request: FastifyRequest, reply: FastifyReply) => {
    const seconds = Math.min(Number(timeout ?? 0), LONGEST_WAIT_SECONDS);
    const gone = new AbortController();
    request.raw.socket.once('close', () => gone.abort());
    const mayWork = async (): Promise<boolean> => {
      const current = await store.machine(machine.id);
      return current !== null && eligibilityOf(current.lifecycle).tasks;
    };
    const task = await tasks.next(machine.id, mayWork, seconds * SECOND, AbortSignal.any([gone.signal, stopping]));
    if (!task) return reply.code(204).send();
    return sendFields(request, reply, {
      task_id: task.id,
      lease: task.lease ?? '',
      limit_seconds: taskDefinition(task.kind).limit / SECOND,
      payload: task.payload,
      signature: task.signature,
      key_id: task.signingKey,
    });
  };

  app.get(
    '/node/v1/tasks/wait',
    { config: { access: 'node' }, schema: { querystring: Wait } },
    async (request, reply) => wait(peers.of(request).machine, request.query.timeout, request, reply),
  );

  // Runbooks of other systems name the node in the path. Only its certificate counts.
  app.get(
    '/internal/v1/nodes/:node/tasks/wait',
    {
      config: { access: 'node' },
      schema: { params: Type.Object({ node: Type.String({ maxLength: 64 }) }), querystring: Wait },
    },
    async (request, reply) => {
      const { machine } = peers.of(request);
      if (request.params.node !== machine.id) {
        throw new ColdironError('forbidden', 'the node in the path is not the one of the client certificate');
      }
      return wait(machine, request.query.timeout, request, reply);
    },
  );

  app.post(
    '/node/v1/tasks/:task/begin',
    {
      config: { access: 'node' },
      schema: { params: TaskReference, body: Type.Object({ lease: Type.String({ maxLength: 64 }) }, closed) },
    },
    async (request, reply) => {
      const id = request.params.task as TaskId;
      const { machine } = peers.of(request);
      const begun = await tasks.begin(machine, id, request.body.lease, request.id);
      if (!begun) {
        const why = `its lease has expired, or a node in state ${machine.lifecycle.state} may not run it`;
        throw new ColdironError('conflict', `task ${id} cannot begin: ${why}`);
      }
      return sendFields(request, reply, { task_id: id, begun: 'yes' });
    },
  );

  app.post(
    '/node/v1/tasks/:task/result',
    {
      config: { access: 'node' },
      // Form encoding may need three bytes for each byte of output.
      bodyLimit: 256 * 1024,
      schema: {
        params: TaskReference,
        body: Type.Object({ status: Type.Enum(['succeeded', 'failed']), output: Type.String() }, closed),
      },
    },
    async (request, reply) => {
      const id = request.params.task as TaskId;
      const { status, output } = request.body;
      const { machine } = peers.of(request);
      const result = await tasks.finish(machine, id, { succeeded: status === 'succeeded', output }, request.id);
      await drains.settle(machine);
      return sendFields(request, reply, { task_id: id, result });
    },
  );
}
