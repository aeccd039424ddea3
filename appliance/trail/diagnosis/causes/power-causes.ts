// Causes of machines that did not start, and the fallback.

import { instantText, SECOND } from '../../../domain/instant.ts';
import { runsSession } from '../../../domain/lifecycle.ts';
import { type Cause, durationText, type Evidence, fact, found, isIn, later, seen, stoppedIn } from '../cause.ts';
import type { Signs } from '../signs.ts';

export const POWER_CAUSES: readonly Cause[] = [
  {
    id: 'boot-device-not-kept',
    stages: ['power'],
    specificity: 3,
    looksFor: 'a boot device that the BMC accepted, and another one that it reports when it is asked',
    assess: (signs) => {
      const refused = signs.bootRefused;
      const readBack = refused?.data.read_back;
      if (!isIn(signs, 'power') || refused === null || readBack === undefined || later(signs.bootAsked, refused))
        return null;
      return found('certain', seen(refused, refused.data.words, 'bmc'), { device: readBack.device });
    },
    reason: 'the BMC of {node} accepted network boot, but reports {device} as the boot device',
    nextStep:
      'Put the network first in the boot order of its firmware setup (coldiron bootdev {node} setup --once, then coldiron console {node}), or update the firmware of the BMC. Ask it again: coldiron bootdev {node} pxe --once',
    verify: 'coldiron trail {node} shows a DHCP request after the next start.',
  },
  {
    id: 'power-failed',
    stages: ['power', 'first-boot'],
    specificity: 3,
    looksFor: 'a BMC command of the work that failed',
    assess: ({ effectFailed }) =>
      effectFailed
        ? found('certain', seen(effectFailed, `a BMC command failed: ${effectFailed.data.reason}`, 'bmc'), {
            because: effectFailed.data.reason,
          })
        : null,
    reason: 'it could not be started through its BMC: {because}',
    nextStep:
      'Check its BMC: coldiron power {node} status. If the password is wrong: coldiron bmc set-credentials {node} --username USER',
    verify: 'coldiron power {node} status answers.',
  },
  {
    id: 'powered-off',
    stages: 'any',
    specificity: 3,
    looksFor: 'a BMC that reports the power as off while the machine should work',
    assess: (signs) => {
      const { bmc, current } = signs;
      if (bmc?.power !== 'off' || !isExpectedOn(signs)) return null;
      // Right after the command it may still be off.
      if (isIn(signs, 'power') && !current?.overdue) return null;
      return found('certain', [
        fact('bmc', 'its BMC reports that the power is off'),
        ...bmc.log.slice(-2).map(({ at, message }) => fact('bmc', message, at)),
      ]);
    },
    reason: '{node} is switched off: it lost its power, or somebody switched it off',
    nextStep: 'Find out why (coldiron sel {node}), then start it again: {again}',
    verify: 'coldiron power {node} status says on.',
  },
  {
    id: 'power-not-switched',
    stages: ['power', 'first-boot'],
    specificity: 3,
    looksFor: 'a power command that the BMC accepted, and that had no effect for 30 seconds',
    assess: (signs) => {
      const { bmc, now } = signs;
      if (!bmc?.switching || now - bmc.switching.since < SWITCHED_WITHIN || !isExpectedOn(signs)) return null;
      const { to, since } = bmc.switching;
      const time = durationText(now - since);
      return found(
        'likely',
        [fact('bmc', `its BMC was told to switch it ${to} ${time} ago, and has not done so`, since)],
        { to, time },
      );
    },
    reason: 'the BMC of {node} accepts the command to switch it {to}, and after {time} it is not {to}',
    nextStep:
      'Check its power supplies and its front panel, and restart the BMC if it does not obey. What the BMC says: coldiron power {node} status',
    verify: 'coldiron power {node} status answers at once.',
  },
  {
    id: 'bmc-unreachable',
    stages: ['power'],
    specificity: 3,
    looksFor: 'a BMC that does not answer now',
    assess: (signs) =>
      signs.bmc?.problem && isExpectedOn(signs)
        ? found(isIn(signs, 'power') ? 'likely' : 'possible', [fact('bmc', signs.bmc.problem)], {
            because: signs.bmc.problem,
          })
        : null,
    reason: 'its BMC cannot be used: {because}',
    nextStep: 'Check the BMC, its cable and its address: coldiron power {node} status',
    verify: 'coldiron power {node} status answers.',
  },
  {
    id: 'boot-override-ignored',
    stages: ['power'],
    specificity: 3,
    looksFor: 'a network boot override that the BMC accepted and the firmware ignored',
    assess: (signs) =>
      signs.bootIgnored && isIn(signs, 'power')
        ? found('likely', [...seen(signs.bootIgnored, signs.bootIgnored.data.words, 'bmc'), ...lostBits(signs)])
        : null,
    reason: 'the BMC of {node} accepts the network boot, but its firmware ignores it and boots something else',
    nextStep:
      'Put the network first in the boot order of its firmware setup (coldiron bootdev {node} setup --once, then coldiron console {node}), and enable network boot of the card.',
    verify: 'coldiron trail {node} shows a DHCP request after the next start.',
  },
  {
    id: 'start-by-hand',
    stages: ['power'],
    specificity: 3,
    looksFor: 'no BMC, or one that the appliance may not use',
    assess: (signs) => {
      if (!runsSession(signs.lifecycle.state) || !isIn(signs, 'power') || signs.manualStart === null) return null;
      const { manualStart } = signs;
      const toDo = manualStart.kind === 'bmc.recorded' ? undefined : manualStart.data.to_do;
      const step = toDo ?? 'set the boot device to network once, and power cycle the machine';
      return found('certain', seen(manualStart, 'the appliance may not switch it on', 'bmc'), {
        to_do: `${step[0]?.toUpperCase() ?? ''}${step.slice(1)}`,
      });
    },
    reason: '{node} must be started by hand: it has no BMC, or the appliance may not use it',
    nextStep: '{to_do}.',
    goesOn: true,
  },
  {
    id: 'no-discover',
    stages: ['power'],
    specificity: 1,
    looksFor: 'no packet from the machine since it was started',
    assess: (signs) => {
      if (!runsSession(signs.lifecycle.state) && signs.lifecycle.state !== 'failed') return null;
      if (!stoppedIn(signs, 'power')) return null;
      const { since, now, bmc } = signs;
      return found('possible', [
        fact('network', `it has sent no packet since ${instantText(since)}, ${durationText(now - since)} ago`),
        ...(bmc?.power === 'on' ? [fact('bmc', 'its BMC reports that the power is on')] : []),
      ]);
    },
    reason:
      '{node} was started but never requested an address: its cable is not connected, its port is in another VLAN, it boots from its disk, or the declared MAC address is wrong',
    nextStep:
      'Look at its screen (coldiron console {node} --last). Check the link of the card with the declared MAC, the VLAN of its port, and network boot in its firmware.',
    verify: 'coldiron trail {node} shows a DHCP request.',
  },
];

/** Machines switch within seconds; large ones take longer to switch off. */
const SWITCHED_WITHIN = 30 * SECOND;

/** Shown only when no other cause is found. */
export const FALLBACK_CAUSES: readonly Cause[] = [
  {
    id: 'deadline',
    stages: 'any',
    specificity: 1,
    looksFor: 'a failed step with its recorded reason, and nothing more specific',
    assess: (signs) => {
      const { lifecycle } = signs;
      return lifecycle.failure
        ? found('possible', [fact('appliance', lifecycle.failure.reason, lifecycle.since)], {
            step: lifecycle.failure.step,
            because: lifecycle.failure.reason,
          })
        : null;
    },
    reason: '{node} failed at {step}: {because}',
    nextStep: 'Fix the cause, then run: {again}',
  },
  {
    id: 'overdue',
    stages: 'any',
    specificity: 1,
    looksFor: 'a stage that takes longer than on similar machines, and nothing more specific',
    assess: ({ current, now }) =>
      current?.overdue
        ? found('possible', [
            fact(
              'appliance',
              `this stage began ${durationText(now - current.began)} ago and may take ${durationText(current.allowed)}`,
              current.began,
            ),
          ])
        : null,
    reason: '{node} takes longer than expected',
    nextStep: 'Look at its screen (coldiron console {node} --last) and its events (coldiron trail {node}).',
  },
];

/** What the BMC did not keep of the setting that the firmware then ignored. */
const lostBits = ({ bootAsked }: Signs): readonly Evidence[] =>
  (bootAsked?.data.read_back?.differences ?? []).flatMap((words) =>
    seen(bootAsked, `its BMC did not keep it: ${words}`, 'bmc'),
  );

const isExpectedOn = ({ lifecycle, health }: Signs): boolean =>
  runsSession(lifecycle.state) ||
  lifecycle.state === 'enrolling' ||
  (lifecycle.state === 'active' && health === 'silent');
