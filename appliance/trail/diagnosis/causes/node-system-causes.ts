// Causes that the installed system reports itself: a part of the first boot that failed before it could enroll, failed units, the end of
// cloud-init, and its clock.

import { CLOCK_TOLERANCE } from '../../../domain/events/node-api-events.ts';
import { cloudInitFailed, type NodeSystem } from '../../../domain/events/node-system.ts';
import { type Instant, SECOND } from '../../../domain/instant.ts';
import { type Cause, type Evidence, enrolling, fact, found, lastEvent, later, seen } from '../cause.ts';
import type { Signs } from '../signs.ts';

export const NODE_SYSTEM_CAUSES: readonly Cause[] = [
  {
    id: 'first-boot-part-failed',
    stages: ['first-boot'],
    specificity: 3,
    looksFor: 'a report of the first boot that one of its parts failed',
    assess: (signs) => {
      const failed = lastEvent(signs, 'node-api.first-boot-failed');
      if (failed === null || !enrolling(signs) || !later(failed, signs.installed ?? signs.enrolling)) return null;
      const { part, outcome, exit, lines } = failed.data;
      return found(
        'certain',
        [
          ...seen(failed, `${part}: ${outcome}, exit status ${exit}`, 'node'),
          ...lines.map((line) => fact('node', line, failed.at)),
        ],
        { part, words: lines.at(-1) ?? `exit status ${exit}` },
      );
    },
    reason: 'the first boot of {node} stopped before it could enroll: {part} failed: {words}',
    nextStep:
      'Correct the script {part} (`bootstrap` of the site is declared in the inventory), then install {node} again: coldiron deploy {node}',
    verify: 'coldiron nodes show {node} shows the state active.',
  },
  {
    id: 'unit-failed',
    stages: 'any',
    specificity: 3,
    looksFor: 'units of the installed system that failed, as its agent reports them',
    assess: (signs) => {
      const system = reported(signs);
      const [first] = system?.units ?? [];
      if (system === null || first === undefined) return null;
      const names = [...system.units.map(({ unit }) => unit), ...(system.more_units === 0 ? [] : ['others'])];
      return found('certain', unitEvidence(system, signs.node?.heardAt ?? null), {
        units: names.join(', '),
        unit: first.unit,
        words: first.lines.at(-1) ?? `result ${first.result}`,
      });
    },
    reason: '{node} runs, but units of its system failed: {units}. The last line: {words}',
    nextStep: 'On the node: journalctl -b -u {unit}. Correct the cause, then: systemctl restart {unit}',
    verify: 'coldiron nodes show {node} shows that no unit has failed.',
  },
  {
    id: 'cloud-init-errors',
    stages: 'any',
    specificity: 2,
    looksFor: 'cloud-init of the installed system that ended with errors, as its agent reports them',
    assess: (signs) => {
      const system = reported(signs);
      const end = system?.cloud_init ?? null;
      if (system === null || end === null || !cloudInitFailed(system)) return null;
      const at = signs.node?.heardAt ?? null;
      return found(
        'certain',
        [
          fact('node', `cloud-init ended with the status ${end.status}`, at),
          ...[...end.errors, ...end.warnings].map((line) => fact('node', line, at)),
        ],
        { words: end.errors.at(-1) ?? end.warnings.at(-1) ?? `status ${end.status}` },
      );
    },
    reason: '{node} runs, but cloud-init could not configure it completely: {words}',
    nextStep:
      'Check its files (coldiron render {node}); on the node: cloud-init status --long. After a correction, install it again: coldiron deploy {node}',
    verify: 'coldiron nodes show {node} shows the end of cloud-init without errors.',
  },
  {
    id: 'node-clock-off',
    stages: 'any',
    specificity: 3,
    looksFor: 'a heartbeat whose clock is off by more than 30 seconds',
    assess: (signs) => {
      const offset = isHeard(signs) ? (signs.node?.clockOffset ?? null) : null;
      if (offset === null || Math.abs(offset) <= CLOCK_TOLERANCE) return null;
      const words = `${Math.round(Math.abs(offset) / SECOND)} s ${offset < 0 ? 'behind' : 'ahead'}`;
      return found(
        'certain',
        [fact('node', `its clock was ${words} at its last heartbeat`, signs.node?.heardAt ?? null)],
        {
          words,
        },
      );
    },
    reason: 'the clock of {node} is {words}: its certificate and its logs are read with the wrong time',
    nextStep: 'Check that it reaches a time server (`ntp` of its site); on the node: timedatectl timesync-status.',
    verify: 'coldiron nodes show {node} shows its clock as right.',
  },
];

/** It works, so what its agent reports is about the system that runs now. */
const isHeard = ({ lifecycle, health, node, since }: Signs): boolean =>
  lifecycle.state === 'active' && health !== 'silent' && (node?.heardAt ?? 0) >= since;

const reported = (signs: Signs): NodeSystem | null => (isHeard(signs) ? (signs.node?.system ?? null) : null);

const unitEvidence = ({ units, more_units: more }: NodeSystem, at: Instant | null): Evidence[] => [
  ...units.flatMap(({ unit, result, lines }) => [
    fact('node', `${unit} failed (${result})`, at),
    ...lines.map((line) => fact('node', `${unit}: ${line}`, at)),
  ]),
  ...(more === 0 ? [] : [fact('node', `${more} more units failed`, at)]),
];
