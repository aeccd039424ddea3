// Rules about machines that did not start, and the fallback rule.

import { instantText } from '../../domain/instant.ts';
import { runsSession } from '../../domain/lifecycle.ts';
import { again, anyBoot, minutes, POWER_ON_TIMEOUT, type Rule, seen, text } from './rule.ts';

export const POWER_RULES: readonly Rule[] = [
  {
    id: 'power-failed',
    matches: ({ effectFailed }) => seen(effectFailed, `a BMC command failed: ${text(effectFailed?.data.reason)}`),
    reason: ({ effectFailed }) => `it could not be started through its BMC: ${text(effectFailed?.data.reason)}`,
    nextStep: ({ hostname }) => `Check that its BMC works: coldiron power ${hostname} status`,
  },
  {
    id: 'start-by-hand',
    matches: (signs) =>
      runsSession(signs.lifecycle.state) && !anyBoot(signs)
        ? seen(signs.manualStart, 'the appliance may not switch it on')
        : null,
    reason: ({ hostname }) => `${hostname} must be started by hand: it has no BMC, or the appliance may not use it`,
    nextStep: ({ manualStart }) => {
      const toDo = manualStart === null || manualStart.kind === 'bmc.recorded' ? undefined : manualStart.data.to_do;
      return toDo === undefined
        ? 'Set the boot device to network once, and power cycle the machine.'
        : `${toDo[0]?.toUpperCase()}${toDo.slice(1)}.`;
    },
  },
  {
    id: 'no-discover',
    matches: (signs) =>
      runsSession(signs.lifecycle.state) && !anyBoot(signs)
        ? [`it has sent no packet since ${instantText(signs.since)}, ${minutes(signs.now - signs.since)} ago`]
        : null,
    reason: ({ hostname, now, since }) =>
      now - since < POWER_ON_TIMEOUT
        ? `${hostname} has not requested an address yet; a server takes minutes to start`
        : `${hostname} was started but never requested an address: it boots from its disk, or its network card is on another network`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}); check the cable, the VLAN and network boot of the card with the declared MAC.`,
  },
  {
    id: 'deadline',
    matches: ({ lifecycle }) => (lifecycle.failure ? [lifecycle.failure.reason] : null),
    reason: ({ hostname, lifecycle }) =>
      `${hostname} failed at ${lifecycle.failure?.step}: ${lifecycle.failure?.reason}`,
    nextStep: ({ hostname, lifecycle }) =>
      `Fix the cause, then run: coldiron ${again(lifecycle.failure?.step)} ${hostname}`,
  },
];
