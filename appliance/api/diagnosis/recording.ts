// The evidence about one machine as a document that can leave the site: the inputs of the diagnosis and of the boot decision, without
// secrets. `coldiron replay` runs both on it offline.

import type { Json, StoredEvent } from '../../domain/event.ts';
import type { Machine, MachineSpec } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';
import type { DiagnosisInput } from '../../trail/diagnosis/facts.ts';
import type { ManagementDeps } from '../deps.ts';
import { explainNode } from '../explain-node.ts';
import { situationOf } from './situation.ts';
import { VERSION } from './version.ts';

/** Another number is another shape. */
export const RECORDING_FORMAT = 1;

export interface RecordedDecision {
  readonly machine: Machine;
  readonly networks: readonly object[];
  readonly site: object | null;
  readonly profile: object | null;
  /** What the appliance would have answered. */
  readonly outcome: string;
  readonly because: string;
}

export async function recordingOf(deps: ManagementDeps, machine: Machine) {
  const situation = await situationOf(deps, machine, { askBmc: true });
  return {
    format: RECORDING_FORMAT,
    version: VERSION,
    situation: withoutSecrets(situation),
    decision: decisionOf(deps, machine),
  };
}

function decisionOf(deps: ManagementDeps, machine: Machine): RecordedDecision {
  const { fleet, bootPort, resolver, clock } = deps;
  const edge = { fleet, bootPort, resolver, now: clock.now() };
  const { outcome, because } = explainNode(edge, machine.id, { arch: null, via: null, state: null, armed: null });
  const { spec, intent } = machine;
  const profile = intent?.profile ?? spec.profile;
  return {
    machine: { ...machine, spec: declaredOnly(spec) },
    networks: [...new Set(spec.interfaces.map(({ network }) => network))].flatMap((name) => fleet.network(name) ?? []),
    site: spec.site === null ? null : { ...fleet.site(spec.site), accounts: [], bootstrap: null },
    profile: profile === null ? null : { ...fleet.profile(profile), accounts: [] },
    outcome: outcome.kind,
    because: because.words,
  };
}

/** Accounts hold keys and password hashes; the login of a BMC is nobody else's business. */
const declaredOnly = (spec: MachineSpec): MachineSpec => ({
  ...spec,
  accounts: [],
  access: null,
  bmc: spec.bmc && { ...spec.bmc, username: null, passwordFile: null },
});

const withoutSecrets = (situation: DiagnosisInput): DiagnosisInput => ({
  ...situation,
  session: situation.session && sessionWithoutOrder(situation.session),
  events: situation.events.map(eventWithoutSecrets),
});

/** An order names files with secrets; its identity holds the salt of the session key. */
const sessionWithoutOrder = (session: Session): Session => ({
  ...session,
  order: {},
  identity: session.identity && { ...session.identity, salt: null },
});

/** Tasks carry what operators typed and what programs printed. */
function eventWithoutSecrets(event: StoredEvent): StoredEvent {
  if (
    !event.kind.startsWith('task.') ||
    typeof event.data !== 'object' ||
    event.data === null ||
    Array.isArray(event.data)
  )
    return event;
  const { output, parameters, ...data } = event.data as Readonly<Record<string, Json>>;
  return {
    ...event,
    data: { ...data, ...(output !== undefined && { output: '' }), ...(parameters !== undefined && { parameters: {} }) },
  };
}
