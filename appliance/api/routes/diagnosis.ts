import { Type } from 'typebox';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { STATES } from '../../domain/states.ts';
import { diagnose } from '../../trail/diagnose.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNodeEverKnown } from '../find-node.ts';
import { NodeReference } from '../schemas/node.ts';
import { nullable } from '../schemas/shared.ts';

const Answer = Type.Object({
  node: Type.String(),
  state: Type.Enum([...LIFECYCLE_STATES]),
  waits_for: Type.String(),
  diagnosis: nullable(
    Type.Object({
      id: Type.String({ description: 'Stable; the rule that fits' }),
      reason: Type.String(),
      next_step: Type.String(),
      evidence: Type.Array(Type.String()),
    }),
  ),
});

/** Enough for several boots of one machine. */
const EVENTS_READ = 1000;

export function diagnosisRoute(app: App, deps: ManagementDeps): void {
  app.get(
    '/nodes/:node/diagnosis',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'Why it is not where it should be, and what to do',
        tags: ['trail'],
        params: NodeReference,
        response: { 200: Answer },
      },
    },
    async ({ params }) => {
      const { id, spec, lifecycle, health } = await findNodeEverKnown(deps, params.node);
      const events = await deps.store.events({ machine: id, limit: EVENTS_READ, newest: true });
      const [session = null] = await deps.store.sessionsOf(id, 1);
      const found = diagnose({
        hostname: spec.hostname,
        lifecycle,
        health,
        interfaces: spec.interfaces,
        session,
        events,
        now: deps.clock.now(),
      });
      return {
        node: spec.hostname,
        state: lifecycle.state,
        waits_for: STATES[lifecycle.state].waitsFor,
        diagnosis: found && {
          id: found.id,
          reason: found.reason,
          next_step: found.nextStep,
          evidence: [...found.evidence],
        },
      };
    },
  );
}
