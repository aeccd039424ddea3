// Rules about machines that did not start, and the one that is left when nothing else fits.

import { instantText } from '../../domain/instant.ts';
import { runsSession } from '../../domain/lifecycle.ts';
import { again, anyBoot, minutes, POWER_ON, type Rule, seen, text } from './rule.ts';

export const POWER_RULES: readonly Rule[] = [
  {
    id: 'power-failed',
    fits: ({ effectFailed }) =>
      seen(effectFailed, `what its BMC was to do failed: ${text(effectFailed?.data, 'reason')}`),
    reason: ({ effectFailed }) => `it could not be started through its BMC: ${text(effectFailed?.data, 'reason')}`,
    nextStep: ({ hostname }) => `Ask its BMC: coldiron power ${hostname} status`,
  },
  {
    id: 'start-by-hand',
    fits: (signs) =>
      runsSession(signs.lifecycle.state) && !anyBoot(signs)
        ? seen(signs.byHand, 'nothing may switch it on but a person')
        : null,
    reason: ({ hostname }) => `${hostname} waits to be started by hand: its BMC is absent, or not to be touched`,
    nextStep: ({ byHand }) => {
      const toDo = text(byHand?.data, 'to_do');
      return toDo === 'unknown'
        ? 'Choose network boot once, and power cycle the machine.'
        : `${toDo[0]?.toUpperCase()}${toDo.slice(1)}.`;
    },
  },
  {
    id: 'no-discover',
    fits: (signs) =>
      runsSession(signs.lifecycle.state) && !anyBoot(signs)
        ? [`nothing was heard of it since ${instantText(signs.since)}, ${minutes(signs.now - signs.since)} ago`]
        : null,
    reason: ({ hostname, now, since }) =>
      now - since < POWER_ON
        ? `${hostname} has not asked for an address yet; servers take minutes until they do`
        : `${hostname} was started and never asked for an address: it starts from its disk, or its card is not where it should be`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}); check cable, VLAN and network boot of the card with the declared MAC.`,
  },
  {
    id: 'deadline',
    fits: ({ lifecycle }) => (lifecycle.failure ? [lifecycle.failure.reason] : null),
    reason: ({ hostname, lifecycle }) =>
      `${hostname} failed at ${lifecycle.failure?.step}: ${lifecycle.failure?.reason}`,
    nextStep: ({ hostname, lifecycle }) =>
      `Remove the cause, then: coldiron ${again(lifecycle.failure?.step)} ${hostname}`,
  },
];
