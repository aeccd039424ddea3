// Handlers of bundles, certificates, the authority and API tokens.

import { ColdironError } from '../../domain/errors.ts';
import { DAY, HOUR, instantText } from '../../domain/instant.ts';
import { shown } from '../../domain/parsed.ts';
import { shownFingerprint } from '../../identity/fingerprint.ts';
import { bundleDocument } from '../../render/bundle/bundle.ts';
import { createApiToken } from '../api-token.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode, findNodeEverKnown } from '../find-node.ts';
import type { Handlers } from '../handler.ts';
import { authorityView, certificateView, enrollmentTokenView, holderView } from '../views/enrollment.ts';
import { timeText } from '../views/time-text.ts';
import { tokenView } from '../views/token.ts';

/** Nodes renew after two thirds of a month: a certificate with less time left should have been renewed. */
const EXPIRING_WITHIN = 7 * DAY;

const holderFor =
  ({ fleet }: ManagementDeps) =>
  (certificate: Parameters<typeof holderView>[0]) =>
    holderView(certificate, (id) => fleet.machineById(id));

export const enrollmentHandlers: Handlers<
  | 'issueEnrollmentBundle'
  | 'getNodeEnrollment'
  | 'getAuthorities'
  | 'rotateAuthority'
  | 'retireAuthority'
  | 'rotateTaskKey'
  | 'listTokens'
  | 'createToken'
  | 'revokeToken'
> = {
  async issueEnrollmentBundle(deps, { params, body: { reissue = false }, origin }) {
    const machine = await findNode(deps, params.node);
    const { bundle, files, replaced } = await deps.enrollment.issueBundle(machine, reissue, origin);
    return {
      node: bundle.hostname,
      node_id: bundle.nodeId,
      bundle_id: bundle.id,
      expires_at: instantText(bundle.tokenExpiresAt),
      replaced: replaced?.id ?? null,
      bootstrap_bundle: bundleDocument(bundle) as Record<string, unknown>,
      environment: files.environment.text,
      install_script: files.script.text,
    };
  },

  async getNodeEnrollment(deps, { params }) {
    const machine = await findNodeEverKnown(deps, params.node);
    const heartbeat = deps.enrollment.heartbeats.lastOf(machine.id);
    return {
      node: machine.spec.hostname,
      health: machine.health,
      last_heard: timeText(heartbeat?.at ?? null),
      report: heartbeat?.report ?? null,
      tokens: (await deps.store.enrollmentTokensOf(machine.id)).map(enrollmentTokenView),
      certificates: (await deps.store.certificatesOf(machine.id)).map(certificateView),
    };
  },

  async getAuthorities(deps) {
    const { rotation, authority, signer } = deps.enrollment;
    const { authorities, stale, overAt } = await rotation.status();
    const { certificates } = await authority.expiring(EXPIRING_WITHIN);
    const verifiers = await signer.verifiers();
    return {
      authorities: authorities.map(authorityView),
      stale: stale.map(holderFor(deps)),
      stale_until: timeText(overAt),
      expiring: certificates.map(holderFor(deps)),
      trust_pem: (await authority.trust()).pem,
      task_signing_keys: verifiers.map(({ id, state, publicKey }) => ({ id, state, public_key: publicKey })),
    };
  },

  rotateAuthority: async ({ enrollment }, { body, origin }) =>
    authorityView(await enrollment.rotate(origin, body.stage_only ?? false)),

  async retireAuthority(deps, { body: { force = false, confirm }, origin }) {
    const { authorities, stale } = await deps.enrollment.rotation.status();
    const outgoing = authorities.find(({ state }) => state === 'outgoing');
    if (outgoing && force && confirm !== shownFingerprint(outgoing.id)) {
      throw new ColdironError('invalid_request', `confirm: must be its fingerprint, ${shownFingerprint(outgoing.id)}`);
    }
    if (!force && stale.length > 0) {
      throw new ColdironError(
        'conflict',
        `${stale.length} certificates of this authority are in use`,
        stale.map((certificate) => {
          const { holder, kind, not_after: notAfter } = holderFor(deps)(certificate);
          return `${holder}: ${kind} certificate, until ${notAfter}`;
        }),
      );
    }
    return authorityView(await deps.enrollment.retire(origin, force));
  },

  async rotateTaskKey({ enrollment: { signer, tasks } }, { origin }) {
    // Nodes must know the key before it signs: two calls, with a heartbeat between them.
    const isStaged = (await signer.verifiers()).some(({ state }) => state === 'staged');
    const id = isStaged ? await signer.activate(origin) : await signer.stage(origin);
    tasks.wakeAll();
    return { id, state: isStaged ? 'active' : 'staged' };
  },

  listTokens: async ({ store, clock }) => ({
    tokens: (await store.tokens()).map((token) => tokenView(token, clock)),
  }),

  async createToken({ store, clock }, { body: { name, role, expires_in_hours: hours }, origin }) {
    const expiresAt = hours === undefined ? null : clock.now() + hours * HOUR;
    const { actor, correlationId } = origin;
    const made = await createApiToken(store, { name, role, expiresAt, actor, correlationId }, clock);
    return { ...tokenView(made.token, clock), token: made.text };
  },

  async revokeToken({ store, clock }, { params, origin: { actor, correlationId } }) {
    const found = (await store.tokens()).find(({ id }) => id === params.token);
    if (!found) throw new ColdironError('not_found', `there is no token ${shown(params.token)}`);
    const now = clock.now();
    const revoked = await store.revokeToken(found.id, now, {
      at: now,
      actor,
      correlationId,
      action: 'token.revoked',
      target: `token:${found.name}`,
      before: { id: found.id, role: found.role },
      after: null,
    });
    if (!revoked) throw new ColdironError('conflict', `the token ${found.name} is already revoked`);
    return tokenView({ ...found, revokedAt: now }, clock);
  },
};
