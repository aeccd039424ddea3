import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine.ts';
import { parseObjectName } from '../../domain/names.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { Node, NodeReference, nodeView } from '../schemas/node.ts';
import {
  DeployBody,
  factsView,
  NodeFacts,
  NodeSession,
  ReleaseBody,
  sessionView,
  WorkBody,
} from '../schemas/node-work.ts';
import { PageSize, refTo } from '../schemas/shared.ts';

type Work = (machine: Machine, request: Origin) => Promise<Machine>;

const SESSIONS_SHOWN = 20;

export function nodeWorkRoutes(app: App, deps: ManagementDeps): void {
  const { work } = deps;
  const plain: readonly (readonly [path: string, means: string, run: Work])[] = [
    ['commission', 'Gather facts and test the hardware', (node, by) => work.plain(node, 'commission', by)],
    ['cancel', 'Call off commissioning, deploying or releasing', (node, by) => work.cancel(node, by)],
    ['rescue', 'Start the service OS with SSH', (node, by) => work.rescue(node, by)],
    ['end-rescue', 'Back to the installed system', (node, by) => work.plain(node, 'rescue-ended', by)],
    ['drain', 'Let the workload leave', (node, by) => work.plain(node, 'drain', by)],
    [
      'drained',
      'Say that the workload has left, where the node cannot say so itself',
      (node, by) => work.plain(node, 'drained', by),
    ],
    ['undrain', 'Let the workload come back', (node, by) => work.plain(node, 'undrain', by)],
  ];
  for (const [path, summary, run] of plain) {
    app.post(
      `/nodes/:node/${path}`,
      {
        config: { access: 'operator' },
        schema: {
          summary,
          tags: ['nodes'],
          params: NodeReference,
          body: WorkBody,
          response: { 200: refTo(Node) },
        },
      },
      async (request) => {
        const machine = await findNode(deps, request.params.node);
        return nodeView(await run(machine, { ...originOf(request), ...noteOf(request.body) }));
      },
    );
  }

  app.post(
    '/nodes/:node/deploy',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Install a profile; what is on the disk is lost',
        tags: ['nodes'],
        params: NodeReference,
        body: DeployBody,
        response: { 200: refTo(Node) },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      mustBeConfirmed(machine, request.body.confirm);
      const profile = request.body.profile === undefined ? null : parseObjectName(request.body.profile);
      if (profile && !profile.ok) throw new ColdironError('invalid_request', `profile: ${profile.reason}`);
      const by = { ...originOf(request), ...noteOf(request.body) };
      return nodeView(await work.deploy(machine, profile?.value ?? null, by));
    },
  );

  app.post(
    '/nodes/:node/release',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Erase the disks, then the node is free again',
        tags: ['nodes'],
        params: NodeReference,
        body: ReleaseBody,
        response: { 200: refTo(Node) },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      mustBeConfirmed(machine, request.body.confirm);
      return nodeView(await work.release(machine, { ...originOf(request), ...noteOf(request.body) }));
    },
  );

  app.get(
    '/nodes/:node/sessions',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'Sessions of its service OS, the newest first',
        tags: ['nodes'],
        params: NodeReference,
        querystring: Type.Object({ limit: PageSize(SESSIONS_SHOWN, 100) }, { additionalProperties: false }),
        response: { 200: Type.Object({ sessions: Type.Array(refTo(NodeSession)) }) },
      },
    },
    async ({ params, query: { limit = SESSIONS_SHOWN } }) => {
      const { id } = await findNode(deps, params.node);
      return { sessions: (await deps.store.sessionsOf(id, limit)).map(sessionView) };
    },
  );

  app.get(
    '/nodes/:node/facts',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'What it was found to consist of, the newest first',
        tags: ['nodes'],
        params: NodeReference,
        response: { 200: Type.Object({ facts: Type.Array(refTo(NodeFacts)) }) },
      },
    },
    async ({ params }) => {
      const { id } = await findNode(deps, params.node);
      return { facts: (await deps.store.factsOf(id)).map(factsView) };
    },
  );
}

const noteOf = ({ note }: { readonly note?: string }) => (note === undefined ? {} : { note });

function mustBeConfirmed({ spec: { hostname } }: Machine, confirm: string): void {
  if (confirm !== hostname) {
    throw new ColdironError('invalid_request', `confirm: must be the node's host name, ${hostname}`);
  }
}
