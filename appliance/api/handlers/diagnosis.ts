// Handlers of the diagnosis: of one node, of the site, the timeline of a boot, and its recording.

import { knownEvent } from '../../domain/events/known-event.ts';
import { CLOCK_TOLERANCE } from '../../domain/events/node-api-events.ts';
import { isDegraded } from '../../domain/events/node-system.ts';
import { instantText } from '../../domain/instant.ts';
import { awaitsEnrollment, runsSession } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import { reportedBy } from '../../identity/heartbeats.ts';
import { diagnose } from '../../trail/diagnose.ts';
import { type DiagnosedMachine, siteProblems } from '../../trail/diagnosis/site.ts';
import { timelineOf } from '../../trail/diagnosis/timeline.ts';
import type { ManagementDeps } from '../deps.ts';
import { recordingOf } from '../diagnosis/recording.ts';
import { situationOf } from '../diagnosis/situation.ts';
import { switchesOf } from '../diagnosis/switch-ports.ts';
import { findNodeEverKnown } from '../find-node.ts';
import type { Handlers } from '../handler.ts';
import { diagnosisView, siteProblemView, timelineView } from '../views/diagnosis.ts';

/** The newest first; a site with more problems than this has one that they share. */
const MOST_MACHINES = 500;

export const diagnosisHandlers: Handlers<'diagnoseNode' | 'diagnoseSite' | 'getNodeTimeline' | 'recordNode'> = {
  async diagnoseNode(deps, { params }) {
    const machine = await findNodeEverKnown(deps, params.node);
    return diagnosisView(machine, diagnose(await situationOf(deps, machine, { askBmc: true })));
  },

  async diagnoseSite(deps) {
    const suspects = [...deps.fleet.machines()]
      .filter((machine) => needsALook(machine) || reportsTrouble(deps, machine))
      .slice(0, MOST_MACHINES);
    const diagnosed: DiagnosedMachine[] = [];
    // One after the other: a site in trouble has hundreds, and the boot servers share this process.
    for (const machine of suspects) {
      const diagnosis = diagnose(await situationOf(deps, machine, { askBmc: false }));
      const { spec, lifecycle } = machine;
      diagnosed.push({
        name: spec.hostname,
        traits: [...(await switchTraits(deps, machine)), ...traitsOf(machine)],
        since: diagnosis.stage?.began ?? lifecycle.since,
        diagnosis,
      });
    }
    const problems = siteProblems(diagnosed);
    return {
      looked_at: suspects.length,
      in_time: diagnosed.filter(({ diagnosis }) => diagnosis.causes.length === 0).length,
      problems: problems.map(siteProblemView),
    };
  },

  async getNodeTimeline(deps: ManagementDeps, { params }) {
    const { id, spec } = await findNodeEverKnown(deps, params.node);
    const events = await deps.store.events({ machine: id, limit: 2_000, newest: true });
    const known = events.flatMap((event) => knownEvent(event) ?? []);
    const timeline = timelineOf(known);
    const start = known.findLast((one) => one.at === timeline.began && one.kind.startsWith('lifecycle.'));
    const expected = await deps.runTimes.expected(spec.sku);
    const work = start === undefined ? null : start.kind.slice('lifecycle.'.length);
    return timelineView(spec.hostname, work, timeline, { expected, now: deps.clock.now() });
  },

  async recordNode(deps, { params }) {
    const machine = await findNodeEverKnown(deps, params.node);
    return { ...(await recordingOf(deps, machine)), recorded_at: instantText(deps.clock.now()) };
  },
};

/** It runs, but its clock is wrong or a unit of its system has failed. */
function reportsTrouble({ enrollment }: ManagementDeps, { id, lifecycle }: Machine): boolean {
  if (lifecycle.state !== 'active') return false;
  const { clockOffset, system } = reportedBy(enrollment.heartbeats.lastOf(id)?.report ?? null);
  return Math.abs(clockOffset ?? 0) > CLOCK_TOLERANCE || (system !== null && isDegraded(system));
}

const needsALook = ({ lifecycle, health }: Machine): boolean =>
  runsSession(lifecycle.state) ||
  awaitsEnrollment(lifecycle) ||
  lifecycle.state === 'failed' ||
  lifecycle.state === 'quarantined' ||
  health === 'silent';

const switchTraits = async (deps: ManagementDeps, machine: Machine): Promise<string[]> =>
  (await switchesOf(deps, machine)).map((name) => `switch ${name}`);

function traitsOf({ spec }: Machine): string[] {
  const { rack } = spec.labels;
  return [
    ...(rack === undefined ? [] : [`rack ${rack}`]),
    ...new Set(spec.interfaces.map(({ network }) => `network ${network}`)),
    ...(spec.sku === null ? [] : [`SKU ${spec.sku}`]),
    ...(spec.profile === null ? [] : [`profile ${spec.profile}`]),
    ...(spec.site === null ? [] : [`site ${spec.site}`]),
  ];
}
