import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import { DAY } from '../../domain/instant.ts';
import { shownFingerprint } from '../../identity/fingerprint.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { Authorities, AuthorityView, authorityView, holderView } from '../schemas/enrollment.ts';
import { timeText } from '../schemas/shared.ts';

const tags = ['enrollment'];
const closed = { additionalProperties: false } as const;
/** Nodes renew after two thirds of a month: what has less left should have been renewed. */
const EXPIRING_WITHIN = 7 * DAY;

export function authorityRoutes(app: App, deps: ManagementDeps): void {
  const find = (id: Parameters<typeof deps.fleet.machineById>[0]) => deps.fleet.machineById(id);

  app.get(
    '/ca',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'The authorities, who still holds a certificate of the one that goes out, and what ends soon',
        tags,
        response: { 200: Authorities },
      },
    },
    async () => {
      const { rotation, authority, signer } = deps.enrollment;
      const { authorities, stale, overAt } = await rotation.status();
      const { certificates } = await authority.expiring(EXPIRING_WITHIN);
      return {
        authorities: authorities.map(authorityView),
        stale: stale.map((certificate) => holderView(certificate, find)),
        stale_until: timeText(overAt),
        expiring: certificates.map((certificate) => holderView(certificate, find)),
        task_signing_keys: (await signer.verifiers()).map(({ id, state, publicKey }) => ({
          id,
          state,
          public_key: publicKey,
        })),
      };
    },
  );

  app.post(
    '/ca/rotate',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Let the next authority sign; the one before stays trusted, and nobody is cut off',
        tags,
        body: Type.Object(
          { stage_only: Type.Optional(Type.Boolean({ description: 'Only let nodes hear of it yet' })) },
          closed,
        ),
        response: { 200: AuthorityView },
      },
    },
    async (request) => authorityView(await deps.enrollment.rotate(originOf(request), request.body.stage_only ?? false)),
  );

  app.post(
    '/ca/retire',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Trust the authority before no longer; refused while somebody would be cut off',
        tags,
        body: Type.Object(
          {
            force: Type.Optional(Type.Boolean({ description: 'Cut off whoever still holds a certificate of it' })),
            confirm: Type.Optional(Type.String({ description: 'With force: its fingerprint' })),
          },
          closed,
        ),
        response: { 200: AuthorityView },
      },
    },
    async (request) => {
      const { force = false, confirm } = request.body;
      const { authorities, stale } = await deps.enrollment.rotation.status();
      const outgoing = authorities.find(({ state }) => state === 'outgoing');
      if (outgoing && force && confirm !== shownFingerprint(outgoing.id)) {
        throw new ColdironError(
          'invalid_request',
          `confirm: must be its fingerprint, ${shownFingerprint(outgoing.id)}`,
        );
      }
      if (!force && stale.length > 0) {
        throw new ColdironError(
          'conflict',
          `${stale.length} certificates of it are in use`,
          stale.map((certificate) => {
            const { holder, kind, not_after: notAfter } = holderView(certificate, find);
            return `${holder}: ${kind} certificate, until ${notAfter}`;
          }),
        );
      }
      return authorityView(await deps.enrollment.retire(originOf(request), force));
    },
  );

  app.post(
    '/ca/task-key',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Stage the next key that tasks are signed with, or let the staged one sign',
        tags,
        body: Type.Object({}, closed),
        response: { 200: Type.Object({ id: Type.String(), state: Type.String() }) },
      },
    },
    async (request) => {
      const { signer, tasks } = deps.enrollment;
      const by = originOf(request);
      // Nodes must have heard of it before it signs: two calls, with a heartbeat between them.
      const isStaged = (await signer.verifiers()).some(({ state }) => state === 'staged');
      const id = isStaged ? await signer.activate(by) : await signer.stage(by);
      tasks.wakeAll();
      return { id, state: isStaged ? 'active' : 'staged' };
    },
  );
}
