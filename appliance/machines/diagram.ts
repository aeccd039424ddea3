// The lifecycle for readers: a diagram, a table and their page, generated from the tables so that they stay in step.

import { LIFECYCLE_STATES, type LifecycleState } from '../domain/lifecycle.ts';
import { STATES } from '../domain/states.ts';
import {
  CONDITIONS,
  EVENTS,
  type LifecycleEvent,
  resumeTargets,
  TRANSITIONS,
  type TransitionRow,
} from './transitions.ts';

/** An event that is possible in nearly every state would fill the picture with arrows; it gets a note instead. */
const ARROWS_PER_EVENT = 8;

/** Mermaid `stateDiagram-v2`. */
export function lifecycleDiagram(): string {
  const everywhere = eventNames().filter((event) => sourcesOf(event).length > ARROWS_PER_EVENT);
  const labels = new Map<string, string[]>();
  for (const row of TRANSITIONS) {
    if (everywhere.includes(row.event)) continue;
    for (const to of row.to === 'resume' ? resumeTargets(row.from) : [row.to]) {
      const arrow = `${row.from} --> ${to}`;
      const label = row.if ? `${row.event} [${row.if}]` : row.event;
      labels.set(arrow, [...(labels.get(arrow) ?? []), label]);
    }
  }
  return [
    'stateDiagram-v2',
    '  [*] --> discovered : seen on the network',
    '  [*] --> registered : declared in the inventory',
    ...[...labels].map(([arrow, events]) => `  ${arrow} : ${events.join(', ')}`),
    ...LIFECYCLE_STATES.filter((state) => !TRANSITIONS.some((row) => row.from === state)).map(
      (state) => `  ${state} --> [*]`,
    ),
    ...everywhere.flatMap((event) => [`  note right of ${targetOf(event)}`, `    ${fromWhere(event)}`, '  end note']),
    '',
  ].join('\n');
}

/** Markdown: what each state means, in lifecycle order. */
export function lifecycleTable(): string {
  return markdownTable(
    ['state', 'means', 'at PXE it gets', 'waits for', 'deadline → then', 'safe next step'],
    LIFECYCLE_STATES.map((state) => {
      const { means, atPxe, waitsFor, nextStep } = STATES[state];
      return [state, means, atPxe, waitsFor, deadlineText(state), nextStep];
    }),
  );
}

/** The whole page, `docs/lifecycle.md`. */
export function lifecycleDocument(): string {
  return [
    '# The life of a machine',
    '',
    'Generated from `appliance/domain/states.ts` and `appliance/machines/transitions.ts` by `npm run docs`; edit those.',
    '',
    'State is what we want of a machine. Whether we hear from it is its health (`online`, `silent`, `unknown`), kept apart.',
    'An event that the table does not foresee is recorded as `lifecycle.unexpected` and changes nothing.',
    '',
    '## States',
    '',
    lifecycleTable(),
    '## Diagram',
    '',
    '```mermaid',
    `${lifecycleDiagram()}\`\`\``,
    '',
    '## Events',
    '',
    markdownTable(
      ['event', 'from', 'means'],
      eventNames().map((event) => [`${event} (${EVENTS[event].by})`, sourcesOf(event).join(', '), EVENTS[event].means]),
    ),
    '## Transitions',
    '',
    'The first row that fits decides. Effects are written down with the transition and done afterwards, in this order.',
    'Every transition except `deploy` and `release` revokes an open intent in the same commit.',
    '',
    markdownTable(['from', 'event', 'only if', 'to', 'effects'], TRANSITIONS.map(transitionCells)),
  ].join('\n');
}

const transitionCells = (row: TransitionRow): string[] => [
  row.from,
  row.event,
  row.if ? CONDITIONS[row.if] : '',
  row.remember && row.remember !== 'resume' ? `${targetText(row)}, back to ${row.remember}` : targetText(row),
  [...(row.revokesIdentity ? ['identity revoked (same commit)'] : []), ...row.effects].join(', '),
];

function targetText(row: TransitionRow): string {
  if (row.to === 'resume') return 'the state before';
  return row.to === 'failed' && row.fails ? `failed(${row.fails})` : row.to;
}

function deadlineText(state: LifecycleState): string {
  const { deadline } = STATES[state];
  if (deadline === null) return 'none';
  const length = deadline === 'profile' ? 'as the profile says' : inUnits(deadline);
  const outcomes = TRANSITIONS.filter((row) => row.from === state && row.event === 'deadline').map((row) =>
    row.to === state ? row.effects.join(', ') : targetText(row),
  );
  return `${length} → ${outcomes.join(', then ')}`;
}

const inUnits = (minutes: number): string =>
  minutes % 60 === 0 && minutes > 60 ? `${minutes / 60} h` : `${minutes} min`;

const eventNames = (): LifecycleEvent[] => Object.keys(EVENTS) as LifecycleEvent[];

const sourcesOf = (event: LifecycleEvent): LifecycleState[] => [
  ...new Set(TRANSITIONS.filter((row) => row.event === event).map((row) => row.from)),
];

const targetOf = (event: LifecycleEvent): string => TRANSITIONS.find((row) => row.event === event)?.to ?? '[*]';

function fromWhere(event: LifecycleEvent): string {
  const sources = sourcesOf(event);
  const exceptions = LIFECYCLE_STATES.filter((state) => !sources.includes(state));
  return `${event}: from every state but ${exceptions.join(' and ')}`;
}

const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
