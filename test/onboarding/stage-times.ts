// The duration of each stage from power-on to active, from a node's trail.

import type { TrailEvent } from './rig.ts';

type Milestone = (event: TrailEvent) => boolean;

const isKind =
  (kind: string): Milestone =>
  (event) =>
    event.kind === kind;

const isStep =
  (step: string, status: string): Milestone =>
  ({ kind, data }) =>
    kind === 'session.step' && data.step === step && data.status === status;

const BEGIN = isKind('lifecycle.deploying');

/** Each stage ends with the first matching event after the previous stage. */
const STAGES = [
  { name: 'BMC, power on, firmware', until: isKind('dhcp.discover') },
  { name: 'address, loader, script', until: isKind('http.script') },
  {
    name: 'kernel and initrd',
    until: ({ kind, data }) => kind === 'http.served' && String(data.asset).endsWith('/initrd'),
  },
  { name: 'service OS starts', until: isKind('session.opened') },
  { name: 'inspect, rehearse, choose the disk', until: isStep('write-image', 'started') },
  { name: 'write the image', until: isStep('write-image', 'done') },
  { name: 'read it back', until: isStep('verify-image', 'done') },
  { name: 'grow, seed, boot entry', until: isKind('lifecycle.enrolling') },
  { name: 'first start, cloud-init, enrollment', until: isKind('lifecycle.active') },
] as const satisfies readonly { readonly name: string; readonly until: Milestone }[];

export type StageName = (typeof STAGES)[number]['name'];

/** Until the first report of the service OS. */
export const UNTIL_FIRST_REPORT: readonly StageName[] = STAGES.slice(0, 4).map(({ name }) => name);
export const FIRST_START: StageName = 'first start, cloud-init, enrollment';

export interface StageTime {
  readonly name: StageName;
  readonly seconds: number;
}

/** Of the last deployment. Throws when it has not ended. */
export function stageTimes(trail: readonly TrailEvent[]): readonly StageTime[] {
  const begin = trail.findLast(BEGIN);
  // Events of different writers may be stored in a different order than they happened.
  const events = [...trail].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  let before = Date.parse(begin?.at ?? '');
  return STAGES.map(({ name, until }) => {
    const end = events.find((event) => Date.parse(event.at) >= before && until(event));
    if (!end) throw new Error(`the trail has no end of this stage: ${name}`);
    const seconds = (Date.parse(end.at) - before) / 1000;
    before = Date.parse(end.at);
    return { name, seconds };
  });
}
