// The steps of a technician, ticked off by what the appliance observed. Pure: from the row, the cables and the events of the node.

import type { Answer } from '../../../contract/wire.ts';
import type { LifecycleState } from '../../../domain/lifecycle.ts';
import type { Row } from '../live/row.ts';

type Cable = Answer<'getNodeCabling'>['cables'][number];

export interface Observed {
  readonly row: Row;
  /** Null: not known. */
  readonly power: 'on' | 'off' | null;
  readonly cables: readonly Cable[];
  /** Kinds of the events of the node that were read. */
  readonly kinds: ReadonlySet<string>;
}

/** `now`: this is the next thing to do or to wait for. */
export type StepState = 'done' | 'now' | 'later' | 'wrong';

export interface Step {
  readonly id: string;
  readonly title: string;
  readonly state: StepState;
  /** What was seen, or what to do. */
  readonly words: string;
}

/** How far each state is, so that later states tick earlier steps. States outside of the way have no place on it. */
const REACHED: Readonly<Partial<Record<LifecycleState, number>>> = {
  discovered: 1,
  registered: 2,
  commissioning: 3,
  ready: 4,
  deploying: 5,
  enrolling: 6,
  active: 7,
  draining: 7,
  releasing: 4,
};

/** A machine that failed at a step has come that far. */
const FAILED_AT: Readonly<Partial<Record<NonNullable<Row['failed_step']>, number>>> = {
  commission: 3,
  deploy: 5,
  enroll: 6,
};

const seen = (kinds: ReadonlySet<string>, ...prefixes: readonly string[]): boolean =>
  [...kinds].some((kind) => prefixes.some((prefix) => kind === prefix || kind.startsWith(`${prefix}.`)));

interface Check {
  readonly id: string;
  readonly title: string;
  readonly done: boolean;
  readonly wrong?: boolean;
  readonly saw: string;
  readonly todo: string;
}

export function stepsOf({ row, power, cables, kinds }: Observed): Step[] {
  const failedAt = row.state === 'failed' ? row.failed_step : null;
  const reached = (failedAt === null ? REACHED[row.state] : FAILED_AT[failedAt]) ?? 0;
  // Its events may be older than the log.
  const booted = seen(kinds, 'dhcp', 'tftp', 'http', 'session') || (reached >= 4 && failedAt !== 'commission');
  const linked = cables.some(({ link }) => link === true);
  const wrongCable = cables.find(({ verdict }) => verdict === 'another-port');
  const rightCable = cables.find(({ verdict }) => verdict === 'as-declared');
  const checks: Check[] = [
    {
      ...{ id: 'power', title: 'Power' },
      done: power === 'on' || booted,
      saw: power === 'on' ? 'The BMC says that it is on.' : 'It has been on: it sent requests.',
      todo: power === 'off' ? 'Switch it on, here or at the machine.' : 'Connect both power cables and switch it on.',
    },
    {
      ...{ id: 'link', title: 'Network cable' },
      done: (linked || booted) && !wrongCable,
      wrong: wrongCable !== undefined,
      saw: rightCable?.summary ?? 'The network card has a link.',
      todo: wrongCable?.summary ?? declaredPort(cables),
    },
    {
      ...{ id: 'dhcp', title: 'Network boot' },
      done: booted || reached >= 3,
      saw: 'The appliance received its requests.',
      todo: 'Start it from the network. The appliance shows its first request here.',
    },
    {
      ...{ id: 'accepted', title: 'Accepted' },
      done: reached >= 2 || row.state === 'failed',
      saw: 'It is part of the inventory.',
      todo: 'It was seen and waits to be accepted by an operator.',
    },
    {
      ...{ id: 'commissioned', title: 'Commissioned and tested' },
      done: reached >= 4,
      wrong: failedAt === 'commission',
      saw: 'Hardware was read and tested.',
      todo:
        failedAt === 'commission'
          ? (row.reason ?? 'It failed.')
          : progressWords(row, 'commissioning', 'An operator commissions it.'),
    },
    {
      ...{ id: 'deployed', title: 'Installed' },
      done: reached >= 6,
      wrong: failedAt === 'deploy',
      saw: 'Its system is installed.',
      todo:
        failedAt === 'deploy'
          ? (row.reason ?? 'It failed.')
          : progressWords(row, 'deploying', 'An operator deploys it.'),
    },
    {
      ...{ id: 'active', title: 'Active' },
      done: reached >= 7,
      wrong: failedAt === 'enroll',
      saw: row.health === 'online' ? 'It reports to the appliance. You are done here.' : 'It is enrolled.',
      todo:
        failedAt === 'enroll'
          ? (row.reason ?? 'It failed.')
          : progressWords(row, 'enrolling', 'It boots its own system and enrolls.'),
    },
  ];
  let open = true;
  return checks.map(({ id, title, done, wrong = false, saw, todo }) => {
    if (done) return { id, title, state: 'done', words: saw };
    const state: StepState = wrong ? 'wrong' : open ? 'now' : 'later';
    open = false;
    return { id, title, state, words: todo };
  });
}

function progressWords({ state, progress, waiting_for }: Row, during: LifecycleState, otherwise: string): string {
  if (state !== during) return otherwise;
  if (progress === null) return waiting_for;
  return `${progress.step}${progress.percent === null ? '' : `, ${Math.round(progress.percent)} %`}`;
}

function declaredPort(cables: readonly Cable[]): string {
  const declared = cables.find((cable) => cable.declared !== null)?.declared;
  return declared
    ? `Plug its cable into port ${declared.port} of ${declared.name}.`
    : 'Plug its network cable into the provisioning network.';
}

/** Where it stands, as large text. */
export const placeText = ({ rack, unit, site }: Row): string =>
  rack === null
    ? 'No rack is declared'
    : `Rack ${rack}${unit === null ? '' : `, unit ${unit}`}${site === null ? '' : ` (${site})`}`;
