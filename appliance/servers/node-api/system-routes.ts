// What nodes report about their operating system: an enrolled node about its failed units and cloud-init, and a first boot that failed
// before the node could enroll, with the token of its bundle.

import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { App } from '../../api/base-app.ts';
import type { FailedAttempts } from '../../api/failed-attempts.ts';
import { ColdironError } from '../../domain/errors.ts';
import { lastLines, readNodeSystem } from '../../domain/events/node-system.ts';
import { parseMachineId } from '../../domain/machine.ts';
import { sendFields } from './answer.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import type { Peers } from './peer.ts';

const KIBIBYTE = 1024;
const closed = { additionalProperties: false } as const;
const Line = (most: number) => Type.String({ maxLength: most, pattern: '^[^\\r\\n]*$' });
const Text = Type.String({ maxLength: 32 * KIBIBYTE });

/** curl leaves out the field of an empty file. */
const SystemBody = Type.Object({ units: Type.Optional(Text), cloud_init: Type.Optional(Text) }, closed);
const FirstBootBody = Type.Object(
  {
    node_id: Line(64),
    token: Line(128),
    part: Line(200),
    outcome: Line(32),
    exit: Line(8),
    output: Type.Optional(Text),
  },
  closed,
);

export function nodeSystemRoutes(
  app: App,
  { enrollment, contacts, store }: NodeApiDeps,
  peers: Peers,
  failures: FailedAttempts,
): void {
  app.post(
    '/node/v1/system',
    // Form encoding may need three bytes for each byte.
    { config: { access: 'node' }, bodyLimit: 256 * KIBIBYTE, schema: { body: SystemBody } },
    async (request, reply) => {
      const { machine } = peers.of(request);
      const { units = '', cloud_init: cloudInit = '' } = request.body;
      const system = readNodeSystem(units, cloudInit);
      const before = enrollment.heartbeats.keepSystem(machine, system);
      contacts.system(machine.id, before, system);
      return sendFields(request, reply, { node_id: machine.id, failed_units: system.units.length + system.more_units });
    },
  );

  app.post(
    '/node/v1/first-boot',
    { config: { access: 'public' }, bodyLimit: 128 * KIBIBYTE, schema: { body: FirstBootBody } },
    async (request, reply) => {
      const { node_id: nodeId, token, part, outcome, exit, output = '' } = request.body;
      await requireToken(request, { nodeId, token });
      const id = parseMachineId(nodeId);
      const machine = id.ok ? await store.machine(id.value) : null;
      if (machine === null) throw new ColdironError('enrollment_refused', REFUSED);
      contacts.firstBootFailed(request.ip, machine.id, {
        ...{ part, outcome, exit: /^\d{1,3}$/.test(exit) ? Number(exit) : -1 },
        lines: lastLines(output.split('\n')),
      });
      return sendFields(request, reply, { node_id: machine.id, recorded: 'yes' });
    },
  );

  /** The token proves as much as for an enrollment, and is not used up. */
  async function requireToken(request: FastifyRequest, claim: { readonly nodeId: string; readonly token: string }) {
    if (await enrollment.nodes.isEntitled(claim)) return;
    const wait = failures.secondsToWait(request.ip);
    failures.count(request.ip);
    contacts.refused(request.ip, '/node/v1/first-boot', 'enrollment_refused', REFUSED);
    if (wait > 0)
      throw new ColdironError('rate_limited', `too many refused requests from ${request.ip}; wait ${wait} seconds`);
    throw new ColdironError('enrollment_refused', REFUSED);
  }
}

const REFUSED = 'the enrollment token is not accepted';
