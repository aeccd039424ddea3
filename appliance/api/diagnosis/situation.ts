// Gathers what a diagnosis needs to know about one machine: its events, and what the BMC, the appliance and the neighbourhood say now.

import { ColdironError } from '../../domain/errors.ts';
import type { Instant } from '../../domain/instant.ts';
import { awaitsEnrollment, runsSession } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import { shownBy } from '../../provisioning/shown-by.ts';
import { type Diagnosis, diagnose } from '../../trail/diagnose.ts';
import type { BmcFacts, DiagnosisInput, Endpoints, Neighbour, Siblings } from '../../trail/diagnosis/facts.ts';
import { isBefore } from '../../trail/diagnosis/stages.ts';
import type { ManagementDeps } from '../deps.ts';
import { nodeFacts } from '../node-presence.ts';
import { portClaims } from './switch-ports.ts';

export type SituationDeps = Pick<
  ManagementDeps,
  'store' | 'fleet' | 'bmc' | 'clock' | 'applianceProblems' | 'runTimes' | 'bootPort' | 'enrollment' | 'contactAt'
>;

/** Enough for several boots of one machine. */
const EVENTS_READ = 1000;
/** A person waits for the answer: a BMC that takes longer is reported as such. */
const BMC_PATIENCE = 5_000;
/** Of a sibling only the current boot matters. */
const SIBLING_EVENTS = 200;
const MOST_SIBLINGS = 40;
const MOST_STRANGERS = 50;

/** `askBmc`: false where many machines are looked at. */
export async function situationOf(
  deps: SituationDeps,
  machine: Machine,
  { askBmc }: { readonly askBmc: boolean },
): Promise<DiagnosisInput> {
  const { store, clock, runTimes, applianceProblems } = deps;
  const { id, spec, lifecycle, health } = machine;
  const [events, sessions, expected, bmc, node] = await Promise.all([
    store.events({ machine: id, limit: EVENTS_READ, newest: true }),
    store.sessionsOf(id, 1),
    runTimes.expected(spec.sku),
    askBmc ? bmcFacts(deps, machine) : null,
    nodeFacts(deps, machine, askBmc ? undefined : []),
  ]);
  const alone: DiagnosisInput = {
    hostname: spec.hostname,
    ...{ lifecycle, health, events, expected, bmc, node },
    interfaces: spec.interfaces,
    session: sessions[0] ?? null,
    appliance: applianceProblems(),
    neighbours: await neighboursOf(deps, machine),
    siblings: null,
    endpoints: endpointsOf(deps, machine),
    now: clock.now(),
  };
  const { stage } = diagnose(alone);
  if (!askBmc || !stage?.overdue) return alone;
  return {
    ...alone,
    siblings: await siblingsOf(deps, machine, stage),
    portClaims: await portClaims(deps, machine),
  };
}

/** Null: it has no BMC, the appliance may not use it, or nothing is expected of the machine. */
async function bmcFacts({ bmc, clock }: SituationDeps, machine: Machine): Promise<BmcFacts | null> {
  const { lifecycle, health, spec } = machine;
  const wanted =
    runsSession(lifecycle.state) || awaitsEnrollment(lifecycle) || health === 'silent' || lifecycle.state === 'failed';
  if (!wanted || spec.bmc === null) return null;
  const late = Promise.withResolvers<never>();
  const tooLate = new ColdironError(
    'bmc_unreachable',
    `no answer from the BMC ${spec.bmc.address} within ${BMC_PATIENCE / 1000} s`,
  );
  const timer = setTimeout(() => late.reject(tooLate), BMC_PATIENCE);
  try {
    const { mode, result } = await Promise.race([
      bmc.nodes.ask(machine, async (one) => one.powerState()),
      late.promise,
    ]);
    if (mode !== 'real') return null;
    const log = await Promise.race([recentLog({ bmc }, machine, clock.now()), late.promise]).catch(() => []);
    return { power: result, problem: null, log };
  } catch (error) {
    if (error instanceof ColdironError && error.code === 'bmc_off_limits') return null;
    const running = bmc.nodes.running(machine);
    const to = running === null ? undefined : SWITCHES[running.verb];
    if (error === tooLate && running !== null && to !== undefined)
      return { power: 'unknown', problem: null, switching: { to, since: running.since }, log: [] };
    return { power: 'unknown', problem: error instanceof Error ? error.message : String(error), log: [] };
  } finally {
    clearTimeout(timer);
  }
}

/** The verbs that end when the machine is on or off. */
const SWITCHES: Readonly<Record<string, 'on' | 'off'>> = { powerOn: 'on', powerOff: 'off', powerCycle: 'on' };

const RECENT: Instant = 60 * 60 * 1000;
const LOG_ENTRIES = 20;

async function recentLog(
  { bmc }: Pick<SituationDeps, 'bmc'>,
  machine: Machine,
  now: Instant,
): Promise<BmcFacts['log']> {
  const since = Math.max(machine.lifecycle.since, now - RECENT);
  const { result } = await bmc.nodes.ask(machine, async (one) => one.eventLog());
  return result.filter(({ at }) => at !== null && at >= since).slice(-LOG_ENTRIES);
}

/** Undeclared machines that show the identity of this one, or that appeared while it was expected. */
async function neighboursOf({ fleet, store }: SituationDeps, machine: Machine): Promise<Neighbour[]> {
  if (!runsSession(machine.lifecycle.state) && machine.lifecycle.state !== 'failed') return [];
  const { spec, hardware } = machine;
  const uuids = new Set<string>([spec.uuid, hardware.bound?.uuid].flatMap((uuid) => uuid ?? []));
  const serials = new Set([spec.serial, hardware.bound?.serial].flatMap((serial) => serial ?? []));
  const networks = new Set(spec.interfaces.map(({ network }) => network));
  const strangers = [...fleet.machines()].filter(
    (other) => other.lifecycle.state === 'discovered' && other.id !== machine.id,
  );
  const found = await Promise.all(
    strangers.slice(-MOST_STRANGERS).map(async (other): Promise<Neighbour | null> => {
      const shown = await shownBy(store, other);
      const network = other.spec.interfaces[0]?.network ?? null;
      const shares = [
        ...(shown.uuid !== null && uuids.has(shown.uuid) ? [`chassis UUID ${shown.uuid}`] : []),
        ...(shown.serial !== null && serials.has(shown.serial) ? [`serial number ${shown.serial}`] : []),
      ];
      if (shares.length === 0 && (network === null || !networks.has(network))) return null;
      return {
        name: other.spec.hostname,
        state: other.lifecycle.state,
        shares,
        firstSeen: other.lifecycle.since,
        network,
      };
    }),
  );
  return found.flatMap((one) => one ?? []);
}

async function siblingsOf(
  deps: SituationDeps,
  machine: Machine,
  stage: NonNullable<Diagnosis['stage']>,
): Promise<Siblings> {
  const { fleet, store, clock } = deps;
  const networks = new Set(machine.spec.interfaces.map(({ network }) => network));
  const others = [...fleet.machines()]
    .filter(
      ({ id, spec, lifecycle }) =>
        id !== machine.id &&
        (runsSession(lifecycle.state) || lifecycle.state === 'enrolling') &&
        spec.interfaces.some(({ network }) => networks.has(network)),
    )
    .slice(0, MOST_SIBLINGS);
  const stages = await Promise.all(
    others.map(async ({ id, spec, lifecycle, health }) => {
      const events = await store.events({ machine: id, limit: SIBLING_EVENTS, newest: true });
      const [session = null] = await store.sessionsOf(id, 1);
      const rest = { bmc: null, appliance: [], neighbours: [], siblings: null, expected: {}, endpoints: NO_ENDPOINTS };
      const input = {
        ...rest,
        hostname: spec.hostname,
        lifecycle,
        health,
        events,
        session,
        interfaces: spec.interfaces,
      };
      return { name: spec.hostname, at: diagnose({ ...input, now: clock.now() }).stage };
    }),
  );
  return {
    stage: stage.stage,
    stalled: stages.flatMap(({ name, at }) => (at?.overdue && at.stage === stage.stage ? [name] : [])),
    passed: stages.flatMap(({ name, at }) =>
      at && isBefore(stage.stage, at.stage) && at.began >= stage.began ? [name] : [],
    ),
  };
}

const NO_ENDPOINTS: Endpoints = { boot: null, node: null };

/** As the machine must reach them. */
function endpointsOf({ fleet, bootPort, enrollment }: SituationDeps, machine: Machine): Endpoints {
  const networks = machine.spec.interfaces.flatMap(({ network }) => fleet.network(network) ?? []);
  const server = networks.find((network) => network.server !== null)?.server ?? null;
  const url = enrollment.apiUrl(machine);
  return {
    boot: server === null ? null : `${server}:${bootPort}`,
    node: url === null ? null : new URL(url).host,
  };
}
