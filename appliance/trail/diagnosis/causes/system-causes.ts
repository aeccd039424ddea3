// Causes around the kernel and initrd: from the boot script to a running service OS.

import { ipxeErrorText } from '../../../domain/ipxe-error.ts';
import { runsSession } from '../../../domain/lifecycle.ts';
import { fileOf } from '../boot-events.ts';
import { type Cause, found, later, seen, stoppedIn, transferFailure } from '../cause.ts';
import type { Signs } from '../signs.ts';

export const SYSTEM_CAUSES: readonly Cause[] = [
  {
    id: 'image-broken-off',
    stages: ['images', 'start'],
    specificity: 2,
    looksFor: 'a kernel or initrd transfer that ended early',
    assess: (signs) => {
      const { imageFailure, imageInProgress, kernel, session } = signs;
      if (!imageFailure || imageInProgress || later(kernel, imageFailure) || session?.openedAt) return null;
      return stoppedIn(signs, 'images', 'start')
        ? found('likely', seen(imageFailure, transferFailure(imageFailure)), { what: transferFailure(imageFailure) })
        : null;
    },
    reason: '{node} did not fetch its kernel and initrd completely: {what}',
    nextStep:
      'Look at its screen for an out-of-memory message (coldiron console {node} --last); check the cable, duplex and MTU of its port.',
    verify: 'coldiron trail {node} shows a complete transfer of the initrd.',
  },
  {
    id: 'system-without-appliance',
    stages: ['start'],
    specificity: 2,
    looksFor: 'a service OS that got an address and opened no session',
    assess: (signs) => {
      const { kernel, osDiscover, endpoints } = signs;
      if (!kernel || !later(osDiscover, kernel) || !hasNoSession(signs)) return null;
      return found(
        'likely',
        [...seen(kernel, `it fetched ${fileOf(kernel)}`), ...seen(osDiscover, 'the service OS requested an address')],
        {
          where:
            endpoints.node === null
              ? String(endpoints.boot ?? 'its boot port')
              : `${endpoints.boot} and ${endpoints.node}`,
        },
      );
    },
    reason: 'the service OS of {node} has an address, but cannot reach the appliance',
    nextStep:
      'Check that machines on this network reach TCP {where}: firewall and routes. The last lines of its screen name what it tried: coldiron console {node} --last',
    goesOn: true,
  },
  {
    id: 'system-not-started',
    stages: ['start'],
    specificity: 1,
    looksFor: 'kernel and initrd were fetched, and nothing was heard since',
    assess: (signs) => {
      const { kernel, osDiscover } = signs;
      if (!kernel || later(osDiscover, kernel) || !hasNoSession(signs)) return null;
      return found('possible', seen(kernel, `it fetched ${fileOf(kernel)}`));
    },
    reason:
      '{node} fetched the service OS, but it did not start: a kernel panic, too little memory, or no driver for its network card',
    nextStep: 'Read the last kernel messages on its screen: coldiron console {node} --last',
  },
  {
    id: 'boot-failed',
    stages: 'any',
    specificity: 2,
    looksFor: 'an error that iPXE reported',
    assess: (signs) => {
      const { bootFailed, kernel, session } = signs;
      if (!bootFailed || later(kernel, bootFailed) || (session?.openedAt ?? 0) > bootFailed.at) return null;
      const { stage, errno, message } = bootFailed.data;
      return found(
        'certain',
        seen(bootFailed, `iPXE reports error ${errno ?? 'unknown'}${message ? `: ${message}` : ''}`),
        {
          stage: stage ?? 'an unknown stage',
          error: errno === undefined ? 'unknown' : ipxeErrorText(errno),
        },
      );
    },
    reason: 'the boot loader of {node} failed at {stage}, iPXE error {error}',
    nextStep: 'Verify the boot files (coldiron assets verify), then run: {again}',
  },
  {
    id: 'sent-elsewhere',
    stages: ['script', 'images'],
    specificity: 3,
    looksFor: 'a boot script that does not start the work of its state',
    assess: ({ script, lifecycle, session }) => {
      if (!script || session || !runsSession(lifecycle.state)) return null;
      const { outcome, words } = script.data;
      if (outcome === 'service-os' || outcome === 'installer') return null;
      return found('certain', seen(script, `its script has the outcome ${outcome}`, 'appliance'), { outcome, words });
    },
    reason: 'the boot script of {node} has the outcome {outcome}, because {words}',
    nextStep: 'Show the current boot decision and its reason: coldiron explain {node}',
  },
  {
    id: 'kernel-not-fetched',
    stages: ['images'],
    specificity: 1,
    looksFor: 'a script without a later transfer of kernel or initrd',
    assess: (signs) => {
      const { script, kernel, imageInProgress, session } = signs;
      if (!script || later(kernel, script) || imageInProgress || session?.openedAt || !stoppedIn(signs, 'images'))
        return null;
      return found('possible', seen(script, 'it fetched its script'), {
        where: signs.endpoints.boot === null ? 'the boot port' : `TCP ${signs.endpoints.boot}`,
      });
    },
    reason: '{node} fetched its script, but neither kernel nor initrd',
    nextStep:
      'Look at its screen (coldiron console {node} --last) for a network error, a prompt, a menu or an out-of-memory message. Check its cable, and that it still reaches {where}.',
  },
];

const hasNoSession = (signs: Signs): boolean =>
  !signs.imageInProgress && !signs.session?.openedAt && stoppedIn(signs, 'start', 'images');
