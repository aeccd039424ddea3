// The change of issuing a bootstrap bundle: the token, and the start of the enrollment if it has not started yet.

import type { Origin } from '../domain/event.ts';
import type { Machine } from '../domain/machine.ts';
import { type CommandContext, type Decision, emptyChange } from '../machines/commands/decision.ts';
import { moved } from '../machines/commands/move.ts';
import type { Write } from '../store/change.ts';
import type { EnrollmentToken, NewEnrollmentToken } from '../store/enrollment-store.ts';
import { auditOf, eventOf, tokenJson } from './enrollment-records.ts';

export interface BundleInput {
  readonly token: NewEnrollmentToken;
  /** The open token that the new one replaces. */
  readonly replaced: EnrollmentToken | null;
  readonly startsEnrollment: boolean;
  /** How the operator recovers the node with it; null: an ordinary bundle. */
  readonly recovery: RecoveryForm | null;
  /** How long the node may take; undefined: as long as the state allows. */
  readonly minutes?: number | undefined;
  readonly origin: Origin;
}

export type RecoveryForm = 'restart-command' | 'bootstrap-script';

export function bundleIssued(machine: Machine, bundle: BundleInput, context: CommandContext): Decision {
  const { token, replaced, origin, startsEnrollment, recovery, minutes } = bundle;
  const at = token.createdAt;
  const writes: Write[] = [{ kind: 'issue-token', token, replaces: replaced?.id ?? null }];
  const events = [eventOf('enrollment.bundle_handed_over', machine.id, at, origin, tokenJson(token))];
  const ordinary = replaced === null ? 'node.bundle_handed_over' : 'node.bundle_reissued';
  const action = recovery === null ? ordinary : 'nodes.reissue_enrollment';
  const before = replaced === null ? null : tokenJson(replaced);
  const after = { ...tokenJson(token), ...(recovery !== null && { form: recovery }) };
  const audit = [auditOf(action, `node:${machine.spec.hostname}`, at, origin, after, before)];
  if (startsEnrollment) {
    return moved(machine, { event: 'enroll', origin, minutes, also: { writes, events, audit } }, context);
  }
  return { outcome: 'change', change: { ...emptyChange(machine, at), version: null, writes, events, audit } };
}

/** The token that is neither used nor revoked; of several, the one that expires last. */
export const openToken = (tokens: readonly EnrollmentToken[]): EnrollmentToken | null =>
  tokens
    .filter(({ consumedAt, revokedAt }) => consumedAt === null && revokedAt === null)
    .reduce<EnrollmentToken | null>((best, token) => (best && best.expiresAt >= token.expiresAt ? best : token), null);
