// Single writes of a change as functions, for tests that need one write and not a whole command.

import type { EffectId } from '../../appliance/domain/effect.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { NewAuditEntry, NewEvent } from '../../appliance/domain/event.ts';
import type { Instant } from '../../appliance/domain/instant.ts';
import type { ArmedIntent, IntentId } from '../../appliance/domain/intent.ts';
import type { Health } from '../../appliance/domain/lifecycle.ts';
import type { Machine, MachineId } from '../../appliance/domain/machine.ts';
import type { SessionEnd, SessionId } from '../../appliance/domain/session.ts';
import type { Change, Write } from '../../appliance/store/change.ts';
import type {
  EnrollmentToken,
  NewEnrollmentToken,
  Redemption,
  Renewal,
} from '../../appliance/store/enrollment-store.ts';
import type {
  MachineFacts,
  NewTicket,
  Opening,
  Reopening,
  SessionReport,
} from '../../appliance/store/session-store.ts';
import type { Store } from '../../appliance/store/store.ts';

export type Transition = Pick<Change, 'machine' | 'effects' | 'events' | 'audit'> & {
  readonly version: number;
  readonly lifecycle: NonNullable<Change['lifecycle']>;
};

export interface Recorded {
  readonly event: NewEvent;
  readonly audit: NewAuditEntry;
}

export const changeOf = (machine: MachineId, changes: Partial<Change> = {}): Change => ({
  command: null,
  at: Date.UTC(2026, 0, 1),
  machine,
  version: null,
  lifecycle: null,
  effects: [],
  writes: [],
  events: [],
  audit: [],
  ...changes,
});

export function writesTo(store: Store) {
  const machines = async (): Promise<Machine[]> => {
    const { machines: there, removed = [] } = await store.inventory();
    return [...there, ...removed];
  };
  /** The machine of the write, or any machine: the write itself says what it changes. */
  const about = async (isIt: (machine: Machine) => boolean | Promise<boolean>): Promise<MachineId> => {
    const all = await machines();
    for (const machine of all) if (await isIt(machine)) return machine.id;
    const [any] = all;
    if (!any) throw new ColdironError('not_found', 'the store has no machine');
    return any.id;
  };
  const written = async (
    machine: MachineId,
    write: Write,
    { event, audit }: Partial<{ event: NewEvent | null; audit: NewAuditEntry }> = {},
  ): Promise<boolean> => {
    const events = event ? [event] : [];
    const committed = await store.commit(changeOf(machine, { writes: [write], events, audit: audit ? [audit] : [] }));
    return committed.outcome === 'committed';
  };
  const ofEffect = (id: EffectId) =>
    about(async (machine) => (await store.effects(machine.id)).some((effect) => effect.id === id));
  const settled = async (id: EffectId, write: Write, events: readonly NewEvent[] = []): Promise<void> => {
    const committed = await store.commit(changeOf(await ofEffect(id), { writes: [write], events }));
    if (committed.outcome === 'refused') throw new ColdironError('conflict', `effect ${id}: ${committed.reason}`);
  };
  const ofSession = (isIt: (id: SessionId) => boolean) =>
    about(async (machine) => (await store.sessionsOf(machine.id, 100)).some(({ id }) => isIt(id)));

  return {
    async transition(transition: Transition): Promise<Machine> {
      const committed = await store.commit(
        changeOf(transition.machine, { at: transition.lifecycle.since, ...transition }),
      );
      if (committed.outcome !== 'committed') throw new Error(`the transition was ${committed.outcome}`);
      return committed.machine;
    },
    setHealth: (machine: MachineId, health: Health, event: NewEvent) =>
      written(machine, { kind: 'set-health', health }, { event }),
    finishEffect: (id: EffectId, events: readonly NewEvent[]) =>
      settled(id, { kind: 'finish-effect', effect: id }, events),
    retryEffect: (id: EffectId, notBefore: Instant, error: string) =>
      settled(id, { kind: 'retry-effect', effect: id, notBefore, error }),
    failEffect: (id: EffectId, error: string, events: readonly NewEvent[]) =>
      settled(id, { kind: 'fail-effect', effect: id, error }, events),
    armIntent: async (intent: ArmedIntent, event: NewEvent, audit: NewAuditEntry): Promise<void> =>
      void (await written(intent.machine, { kind: 'arm-intent', intent }, { event, audit })),
    async consumeIntent(intent: IntentId, at: Instant, event: NewEvent, ticket: NewTicket | null = null) {
      const machine = await about((each) => each.intent?.id === intent);
      const writes: Write[] = [
        { kind: 'consume-intent', intent, at },
        ...(ticket ? [{ kind: 'put-ticket', ticket } as const] : []),
      ];
      return (await store.commit(changeOf(machine, { writes, events: [event] }))).outcome === 'committed';
    },
    revokeIntents: (machine: MachineId, at: Instant, event?: NewEvent) =>
      written(machine, { kind: 'revoke-intents', at }, { event: event ?? null }),
    putTicket: async (ticket: NewTicket): Promise<void> =>
      void (await written(ticket.machine, { kind: 'put-ticket', ticket })),
    openSession: async ({ event, audit, ...opening }: Opening & Recorded) =>
      written(await about(() => false), { kind: 'open-session', opening }, { event, audit }),
    reopenSession: async ({ event, audit, ...reopening }: Reopening & Recorded) =>
      written(await about(() => false), { kind: 'reopen-session', reopening }, { event, audit }),
    reportStep: async ({ event, ...report }: SessionReport & { readonly event: NewEvent | null }) =>
      written(await ofSession((id) => id === report.id), { kind: 'report-step', report }, { event }),
    markStalled: async (session: SessionId, movedAt: Instant, at: Instant) =>
      written(await ofSession((id) => id === session), { kind: 'mark-stalled', session, movedAt, at }),
    endSession: async (session: SessionId, how: SessionEnd, at: Instant, reason: string | null, event: NewEvent) =>
      written(
        await ofSession((id) => id === session),
        { kind: 'end-session', session, end: { how, at, reason } },
        { event },
      ),
    endSessionsOf: (machine: MachineId, how: SessionEnd, at: Instant, reason: string | null) =>
      written(machine, { kind: 'end-sessions', end: { how, at, reason } }),
    takeSessionFile: async (session: SessionId, name: string, at: Instant, audit: NewAuditEntry) =>
      written(await ofSession((id) => id === session), { kind: 'take-session-file', session, name, at }, { audit }),
    putFacts: async (machine: MachineId, facts: MachineFacts, event: NewEvent): Promise<void> =>
      void (await written(machine, { kind: 'put-facts', facts }, { event })),
    /** Finds the open token that the new one replaces, like the bundle issuer. */
    async issueToken(
      token: NewEnrollmentToken,
      replace: boolean,
      event: NewEvent,
      audit: (replaced: EnrollmentToken | null) => NewAuditEntry,
    ) {
      const open = (await store.enrollmentTokensOf(token.machine))
        .filter(({ consumedAt, revokedAt }) => consumedAt === null && revokedAt === null)
        .sort((a, b) => b.expiresAt - a.expiresAt)[0];
      const replaced = open ?? null;
      if (replaced && replaced.expiresAt > token.createdAt && !replace)
        return { issued: false, open: replaced } as const;
      const write: Write = { kind: 'issue-token', token, replaces: replaced?.id ?? null };
      const issued = await written(token.machine, write, { event, audit: audit(replaced) });
      return { issued, replaced } as const;
    },
    redeemToken: ({ event, audit, ...redemption }: Redemption & Recorded) =>
      written(redemption.machine, { kind: 'redeem-token', redemption }, { event, audit }),
    renewCertificate: ({ event, audit, ...renewal }: Renewal & Recorded) =>
      written(renewal.machine, { kind: 'renew-certificate', renewal }, { event, audit }),
    revokeIdentity: (machine: MachineId, at: Instant, because: string, event: NewEvent) => {
      const origin = { actor: 'local:tester', correlationId: null };
      const revocation = { at, because, origin, event, tokenEvent: event, healthEvent: event };
      return written(machine, { kind: 'revoke-identity', revocation });
    },
  };
}
