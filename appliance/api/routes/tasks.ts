import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import { SECOND } from '../../domain/instant.ts';
import { shown } from '../../domain/parsed.ts';
import type { TaskId } from '../../domain/task.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { NodeReference } from '../schemas/node.ts';
import { PageSize, refTo } from '../schemas/shared.ts';
import { NewTask, Task, TaskReference, taskView } from '../schemas/task.ts';

const tags = ['tasks'];
const STANDARD_LIMIT = 50;

export function taskRoutes(app: App, deps: ManagementDeps): void {
  app.post(
    '/nodes/:node/tasks',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Tell an enrolled node to do something from the closed list of tasks',
        tags,
        params: NodeReference,
        body: NewTask,
        response: { 201: refTo(Task) },
      },
    },
    async (request, reply) => {
      const machine = await findNode(deps, request.params.node);
      const { kind, parameters = {}, expires_in_seconds: seconds } = request.body;
      const order = { kind, parameters, ...(seconds !== undefined && { within: seconds * SECOND }) };
      return reply.code(201).send(taskView(await deps.enrollment.tasks.run(machine, order, originOf(request))));
    },
  );

  app.get(
    '/nodes/:node/tasks',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'The tasks of a node, the newest first',
        tags,
        params: NodeReference,
        querystring: Type.Object({ limit: PageSize(STANDARD_LIMIT, 500) }, { additionalProperties: false }),
        response: { 200: Type.Object({ tasks: Type.Array(refTo(Task)) }) },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      const tasks = await deps.store.tasksOf(machine.id, request.query.limit ?? STANDARD_LIMIT);
      return { tasks: tasks.map(taskView) };
    },
  );

  app.get(
    '/nodes/:node/tasks/:task',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'One task of a node; with `wait`, as soon as it is over',
        tags,
        params: TaskReference,
        querystring: Type.Object(
          { wait: Type.Optional(Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds' })) },
          { additionalProperties: false },
        ),
        response: { 200: refTo(Task) },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      const gone = new AbortController();
      request.raw.socket.once('close', () => gone.abort());
      const wait = (request.query.wait ?? 0) * SECOND;
      const task = await deps.enrollment.tasks.outcome(request.params.task as TaskId, wait, gone.signal);
      if (task?.machine !== machine.id) {
        throw new ColdironError('not_found', `${machine.spec.hostname} has no task ${shown(request.params.task)}`);
      }
      return taskView(task);
    },
  );
}
