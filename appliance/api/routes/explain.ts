import { Type } from 'typebox';
import { parseClientArchCode } from '../../domain/architecture.ts';
import { ColdironError } from '../../domain/errors.ts';
import { parseIpv4 } from '../../domain/ipv4.ts';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import type { Parsed } from '../../domain/parsed.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { explainNode } from '../explain-node.ts';
import { Explanation } from '../schemas/explanation.ts';
import { NodeReference } from '../schemas/node.ts';
import { refTo } from '../schemas/shared.ts';

const Question = Type.Object(
  {
    arch: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description: 'As in DHCP option 93' })),
    via: Type.Optional(Type.String({ description: 'As if it asked through this relay' })),
    as: Type.Optional(Type.Enum([...LIFECYCLE_STATES], { description: 'What if it were in this state?' })),
    armed: Type.Optional(
      Type.Boolean({
        description:
          'As if its deployment or erasure were armed, or not. Left out: armed, in a state that it is not in',
      }),
    ),
  },
  { additionalProperties: false },
);

export function explainRoute(app: App, { fleet, bootPort, resolver, clock }: ManagementDeps): void {
  app.get(
    '/nodes/:node/explain',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'What a node, or an unknown MAC address, would get at every stage of its boot, and why',
        tags: ['nodes'],
        params: NodeReference,
        querystring: Question,
        response: { 200: refTo(Explanation) },
      },
    },
    async ({ params, query }) => {
      const arch = query.arch === undefined ? null : understood('arch', parseClientArchCode(query.arch));
      const via = query.via === undefined ? null : understood('via', parseIpv4(query.via));
      const edge = { fleet, bootPort, resolver, now: clock.now() };
      const supposed = { arch, via, state: query.as ?? null, armed: query.armed ?? null };
      const { stages, notes, ...rest } = explainNode(edge, params.node, supposed);
      return { ...rest, stages: [...stages], notes: [...notes] };
    },
  );
}

function understood<T>(field: string, result: Parsed<T>): T {
  if (result.ok) return result.value;
  throw new ColdironError('invalid_request', `${field}: ${result.reason}`);
}
