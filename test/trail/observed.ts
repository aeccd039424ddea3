// What was observed of a machine, in short notation, and the input of a diagnosis made of it.

import type { Json, StoredEvent } from '../../appliance/domain/event.ts';
import type { EventKind } from '../../appliance/domain/events/event-table.ts';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import {
  type FailedStep,
  type Health,
  type Lifecycle,
  type LifecycleState,
  lifeIn,
} from '../../appliance/domain/lifecycle.ts';
import type { Session, SessionId } from '../../appliance/domain/session.ts';
import type { DiagnosisInput } from '../../appliance/trail/diagnosis/facts.ts';
import { machineId } from '../machines/machines.ts';

export const T0 = Date.UTC(2026, 0, 1);
/** Fields that are left out have the values of the sample. */
export type Observed = readonly [afterSeconds: number, kind: EventKind, data?: Json];

export const eventsOf = (observed: readonly Observed[]): StoredEvent[] =>
  observed.map(([after, kind, data = {}], seq) => ({
    seq,
    at: T0 + after * SECOND,
    kind,
    actor: 'mac:52:54:00:12:34:56',
    machine: machineId(1),
    correlationId: null,
    data: withoutAbsent(merged(merged(sampleData(kind) as Json, enteredFrom(kind)), data)),
  }));

/** A field with the value `absent` is left out. */
const withoutAbsent = (data: Json): Json =>
  isObject(data) ? Object.fromEntries(Object.entries(data).filter(([, value]) => value !== 'absent')) : data;

/** The sample of a lifecycle event stays in one state. */
const enteredFrom = (kind: EventKind): Json =>
  kind.startsWith('lifecycle.')
    ? { before: { state: 'ready' }, after: { state: kind.slice('lifecycle.'.length) } }
    : {};

/** `given` over `sample`, also in nested objects. */
function merged(sample: Json, given: Json): Json {
  if (!isObject(sample) || !isObject(given)) return given;
  return {
    ...sample,
    ...Object.fromEntries(
      Object.entries(given).map(([key, value]) => [key, key in sample ? merged(sample[key] ?? null, value) : value]),
    ),
  };
}

const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const sessionWith = (changes: Partial<Session>): Session => ({
  id: 'session-1' as SessionId,
  machine: machineId(1),
  mode: 'install',
  order: {},
  ticketMadeAt: T0 + 20 * SECOND,
  ticketExpiresAt: T0 + 15 * MINUTE,
  openedAt: null,
  expiresAt: null,
  heardAt: null,
  identity: null,
  sequence: 0,
  last: null,
  ended: null,
  ...changes,
});

export const failedAt = (step: FailedStep, reason = 'deploying for 30 min, past its deadline.'): Lifecycle => ({
  ...lifeIn('failed', T0 + 30 * MINUTE),
  failure: { step, reason },
});

export interface Subject {
  readonly state?: LifecycleState | Lifecycle;
  readonly health?: Health;
  readonly session?: Session;
  readonly minutes?: number;
  readonly facts?: Partial<DiagnosisInput>;
}

export const inputOf = (
  events: readonly StoredEvent[],
  { state = 'deploying', health = 'unknown', session, minutes = 10, facts = {} }: Subject = {},
): DiagnosisInput => ({
  hostname: 'node01',
  lifecycle: typeof state === 'string' ? lifeIn(state, T0) : state,
  health,
  interfaces: [{ mac: '52:54:00:12:34:56', network: 'boot' }],
  session: session ?? null,
  events: [...events, ...endOf(state), ...openedIn(session)].sort((one, other) => one.at - other.at),
  bmc: null,
  appliance: [],
  neighbours: [],
  siblings: null,
  expected: {},
  endpoints: { boot: '10.0.100.1:8080', node: '10.0.100.1:8444' },
  now: T0 + minutes * MINUTE,
  ...facts,
});

/** A failed machine has the event of its failure. */
const endOf = (state: Subject['state']): StoredEvent[] =>
  typeof state === 'object' && state.state === 'failed'
    ? eventsOf([[(state.since - T0) / SECOND, 'lifecycle.failed', { event: 'deadline' }]]).map(withoutCause)
    : [];

/** The sample of a failure is a restart. */
const withoutCause = (event: StoredEvent): StoredEvent => {
  const { cause: _, ...data } = event.data as { readonly [key: string]: Json };
  return { ...event, data };
};

const openedIn = (session: Session | undefined): StoredEvent[] =>
  session?.openedAt == null ? [] : eventsOf([[(session.openedAt - T0) / SECOND, 'session.opened']]);
