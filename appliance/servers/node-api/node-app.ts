// The node API: enrollment for nodes without a certificate, and everything else for nodes with one.

import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { guardRoutes } from '../../api/access.ts';
import { type App, createApp } from '../../api/base-app.ts';
import { FailedAttempts } from '../../api/failed-attempts.ts';
import { ColdironError } from '../../domain/errors.ts';
import { CLOCK_TOLERANCE } from '../../domain/events/node-api-events.ts';
import { SECOND } from '../../domain/instant.ts';
import type { TaskId } from '../../domain/task.ts';
import { type AgentReport, storedReport } from '../../identity/node-agents.ts';
import { eligibilityOf } from '../../identity/node-eligibility.ts';
import type { Enrolled } from '../../identity/node-enrollment.ts';
import { secretText, taskSigningKeysText } from '../../render/bundle/bundle.ts';
import { nodeAgentRoutes } from './agent-routes.ts';
import { sendFields } from './answer.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import { createPeers } from './peer.ts';
import { nodeSystemRoutes } from './system-routes.ts';
import { nodeTaskRoutes } from './task-routes.ts';
import { nodeTerminalRoutes } from './terminal-routes.ts';

const KIBIBYTE = 1024;
const Line = (most: number) => Type.String({ maxLength: most, pattern: '^[^\\r\\n]*$' });
const Request = Type.String({ maxLength: 16 * KIBIBYTE, description: 'PKCS#10 in PEM' });
const closed = { additionalProperties: false } as const;

const EnrollBody = Type.Object({ node_id: Line(64), token: Line(128), certificate_request: Request }, closed);
const RenewBody = Type.Object({ certificate_request: Request }, closed);
const Number_ = Type.Optional(Type.String({ pattern: '^\\d{1,15}$' }));
const HeartbeatBody = Type.Object(
  {
    agent: Type.Optional(Line(64)),
    boot_id: Type.Optional(Line(64)),
    uptime_seconds: Number_,
    clock: Number_,
    /** The task that the node is running. */
    task: Type.Optional(Line(36)),
    /** The settings that the agent uses, and its own checksum. */
    api_url: Type.Optional(Line(300)),
    ca_sha256: Type.Optional(Line(64)),
    task_keys: Type.Optional(Line(400)),
    digest: Type.Optional(Line(64)),
    problem: Type.Optional(Line(300)),
  },
  closed,
);

export async function buildNodeApp(deps: NodeApiDeps): Promise<App> {
  const { store, enrollment, now, logger, contacts } = deps;
  const { authority, nodes, signer, heartbeats, twins, tasks, settings, agents } = enrollment;
  const app = createApp(deps);
  limitBodies(app, deps.requestTimeout ?? 0);
  const peers = createPeers(store, now, {
    heard: (machine) => twins.heard(machine),
    refused: (request, code, words) => contacts.refused(request.ip, routeOf(request), code, words),
  });
  guardRoutes(app, peers.authenticate);
  acceptForms(app);
  const failures = new FailedAttempts({ now });
  // A node with a wrong URL asks for paths that do not exist.
  app.addHook('onResponse', async (request, reply) => {
    if (reply.statusCode === 404 && request.is404)
      contacts.refused(request.ip, routeOf(request), 'not_found', 'the node API has no such path');
  });

  const trust = async () => {
    const { pem, shown } = await authority.trust();
    return { ca_pem: pem, ca_sha256: createHash('sha256').update(pem).digest('hex'), ca_fingerprint: shown };
  };

  const enrolled = async (issued: Enrolled, machineId: Enrolled['machine'], correlationId: string) => {
    const machine = await store.machine(machineId);
    if (machine) {
      twins.heard(machine);
      await enrollment.confirmEnrolled(machine, correlationId);
    }
    return {
      result: issued.kind,
      node_id: issued.machine,
      certificate: issued.certificatePem,
      not_after: Math.floor(issued.notAfter / SECOND),
      renew_after: Math.floor((issued.notAfter - settings.nodeLifetime / 3) / SECOND),
      recovery_token: secretText(issued.recoveryToken),
      ...(await trust()),
      task_keys: taskSigningKeysText(await signer.verifiers()),
      heartbeat_seconds: settings.heartbeatEvery / SECOND,
      time: Math.floor(now() / SECOND),
    };
  };

  // The token decides between enrollment and recovery; the two paths only make logs readable.
  for (const path of ['/node/v1/enroll', '/node/v1/recover']) {
    app.post(
      path,
      { config: { access: 'public' }, bodyLimit: 32 * KIBIBYTE, schema: { body: EnrollBody } },
      async (request, reply) => {
        const { node_id: nodeId, token, certificate_request: certificateRequest } = request.body;
        const wait = failures.secondsToWait(request.ip);
        if (wait > 0 && !(await nodes.isEntitled({ nodeId, token }))) {
          reply.header('retry-after', wait);
          throw new ColdironError(
            'rate_limited',
            `too many refused enrollments from ${request.ip}; wait ${wait} seconds`,
          );
        }
        const input = { nodeId, token, certificateRequest, correlationId: request.id };
        const issued = await nodes.enroll(input).catch((error: unknown) => {
          if (error instanceof ColdironError) {
            if (error.code !== 'store_unavailable') failures.count(request.ip);
            contacts.refused(request.ip, path, error.code, error.message);
          }
          throw error;
        });
        return sendFields(request, reply, await enrolled(issued, issued.machine, request.id));
      },
    );
  }

  app.post(
    '/node/v1/renew',
    { config: { access: 'node' }, bodyLimit: 32 * KIBIBYTE, schema: { body: RenewBody } },
    async (request, reply) => {
      const { machine } = peers.of(request);
      const issued = await nodes.renew(machine.id, request.body.certificate_request, request.id);
      return sendFields(request, reply, await enrolled(issued, machine.id, request.id));
    },
  );

  app.get('/node/v1/ca', { config: { access: 'public' } }, async (request, reply) =>
    sendFields(request, reply, { ...(await trust()), time: Math.floor(now() / SECOND) }),
  );

  app.post(
    '/node/v1/heartbeat',
    { config: { access: 'node' }, bodyLimit: 4 * KIBIBYTE, schema: { body: HeartbeatBody } },
    async (request, reply) => {
      const { machine, certificate } = peers.of(request);
      const { agent = null, boot_id: bootId = null, uptime_seconds: uptime, clock, task } = request.body;
      const offset = clock === undefined ? null : Number(clock) * SECOND - now();
      if (offset !== null) contacts.clock(machine.id, offset, agent);
      if (offset !== null && Math.abs(offset) > CLOCK_TOLERANCE) {
        logger.warn({ node: machine.spec.hostname, seconds: Math.round(offset / SECOND) }, "a node's clock is wrong");
      }
      await enrollment.confirmEnrolled(machine, request.id);
      const used = settingsIn(request.body);
      if (used !== null) await agents.reported(machine, used, request.id);
      const report = {
        ...{ agent, boot_id: bootId, uptime_seconds: Number(uptime ?? 0), clock_offset_ms: offset },
        ...(used !== null && { settings: storedReport(used) }),
      };
      await heartbeats.record(machine, report, request.id);
      const url = enrollment.apiUrl(machine);
      const { active } = await authority.trust();
      const { ca_sha256, ca_fingerprint } = await trust();
      return sendFields(request, reply, {
        node_id: machine.id,
        hostname: machine.spec.hostname,
        state: machine.lifecycle.state,
        tasks: eligibilityOf(machine.lifecycle).tasks ? 'yes' : 'no',
        ...(task !== undefined && { task: (await tasks.mayContinue(machine, task as TaskId)) ? 'continue' : 'stop' }),
        renew: certificate.authority === active ? 'no' : 'yes',
        ca_sha256,
        ca_fingerprint,
        task_keys: taskSigningKeysText(await signer.verifiers()),
        ...(url !== null && { api_url: url }),
        reconcile: agents.mustReconcile(machine.id) ? 'yes' : 'no',
        accepts: 'settings,logs',
        heartbeat_seconds: settings.heartbeatEvery / SECOND,
        clock_offset_seconds: Math.round((offset ?? 0) / SECOND),
        time: Math.floor(now() / SECOND),
      });
    },
  );

  sessionRoutes(app, deps.sessions);
  nodeTaskRoutes(app, deps, peers);
  nodeSystemRoutes(app, deps, peers, failures);
  nodeAgentRoutes(app, deps, peers);
  nodeTerminalRoutes(app, deps, peers);
  await app.ready();
  return app;
}

/** Null: an agent of an earlier version, or a heartbeat during a task. */
function settingsIn(
  body: {
    readonly [Key in 'api_url' | 'ca_sha256' | 'task_keys' | 'digest' | 'problem']?: string;
  },
): AgentReport | null {
  const { api_url, ca_sha256, task_keys, digest, problem } = body;
  if (api_url === undefined) return null;
  return {
    ...{ apiUrl: api_url, caSha256: ca_sha256 ?? null, taskKeys: task_keys ?? null, digest: digest ?? null },
    problem: problem ?? null,
  };
}

/** Instead of Node's own limit, which would also end the output of a terminal: a request that is sent as long as the terminal is open. */
function limitBodies(app: App, limit: number): void {
  app.server.requestTimeout = 0;
  app.addHook('onRequest', async ({ raw, routeOptions }) => {
    if (limit === 0 || routeOptions.config.endless === true) return;
    const timer = setTimeout(() => {
      if (!raw.complete) raw.socket.destroy();
    }, limit).unref();
    raw.once('close', () => clearTimeout(timer));
  });
}

/** The pattern, so that nothing of the client's is repeated. */
const routeOf = ({ routeOptions }: FastifyRequest): string => routeOptions.url ?? 'an unknown path';

/** The handler reads the body itself: it has other limits, and machines send it before they are nodes. */
function sessionRoutes(app: App, sessions: NodeApiDeps['sessions']): void {
  app.register((scope, _options, registered) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.route({
      method: ['GET', 'POST', 'PUT'],
      url: '/boot/session/*',
      config: { access: 'public' },
      handler: async (request, reply) => {
        reply.hijack();
        await sessions(request.raw, reply.raw, request.id);
      },
    });
    registered();
  });
}

/** A shell can send this without a JSON encoder: `curl --data-urlencode name@file`. */
function acceptForms(app: App): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))));
  });
}
