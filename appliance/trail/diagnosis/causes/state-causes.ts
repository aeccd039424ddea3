// Causes in the lifecycle state itself: decisions of operators, and machines that are not trusted.

import { instantText } from '../../../domain/instant.ts';
import { type Cause, fact, found, seen } from '../cause.ts';

export const STATE_CAUSES: readonly Cause[] = [
  {
    id: 'removed',
    stages: 'any',
    specificity: 3,
    looksFor: 'the state `removed`',
    assess: ({ lifecycle, script }) =>
      lifecycle.state === 'removed'
        ? found(
            'certain',
            [
              fact('operator', lifecycle.note ?? 'no reason was recorded', lifecycle.since),
              ...(script && script.at >= lifecycle.since ? seen(script, 'it booted again and was rejected') : []),
            ],
            { at: instantText(lifecycle.since) },
          )
        : null,
    reason: '{node} was removed at {at}, so its boot requests are refused',
    nextStep: 'To use it again, declare it as a new node in an inventory file, then run: coldiron apply FILE',
  },
  {
    id: 'quarantined',
    stages: 'any',
    specificity: 3,
    looksFor: 'the state `quarantined`',
    assess: ({ lifecycle }) =>
      lifecycle.state === 'quarantined'
        ? found('certain', [fact('appliance', lifecycle.note ?? 'no reason was recorded', lifecycle.since)], {
            note: lifecycle.note ?? 'no reason was recorded',
          })
        : null,
    reason: '{node} is not trusted: {note}',
    nextStep:
      'Compare its chassis, MACs and serial number with the inventory (coldiron nodes show {node}), then run: coldiron clear-quarantine {node}',
    verify: 'coldiron nodes show {node} shows the state before the quarantine.',
  },
];
