// Rules about the kernel and initrd: from the script to a service OS that is up.

import { runsSession } from '../../domain/lifecycle.ts';
import { fileOf, later, PATIENCE, type Rule, seen, stuck, text, trouble } from './rule.ts';

export const SYSTEM_RULES: readonly Rule[] = [
  {
    id: 'image-broken-off',
    fits: (signs) =>
      signs.imageTrouble &&
      !signs.imageUnderWay &&
      !later(signs.kernel, signs.imageTrouble) &&
      !signs.session?.openedAt &&
      stuck(signs, signs.imageTrouble, PATIENCE.kernel)
        ? seen(signs.imageTrouble, trouble(signs.imageTrouble))
        : null,
    reason: ({ hostname, imageTrouble }) =>
      `${hostname} did not get all of its kernel and initrd: ${imageTrouble ? trouble(imageTrouble) : ''}`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}) for too little memory; check cable, duplex and MTU of its port, and the boot files: coldiron check`,
  },
  {
    id: 'no-session',
    fits: (signs) =>
      signs.kernel && !signs.imageUnderWay && !signs.session?.openedAt && stuck(signs, signs.kernel, PATIENCE.system)
        ? seen(signs.kernel, `it fetched ${fileOf(signs.kernel)}`)
        : null,
    reason: ({ hostname, systemAsks }) =>
      systemAsks
        ? `the service OS of ${hostname} has an address, but does not reach the appliance over HTTP`
        : `${hostname} fetched the service OS, and it never came up: a kernel panic, or no driver for its network card`,
    nextStep: ({ hostname }) => `Look at its screen (coldiron console ${hostname}) for the last lines of the kernel.`,
  },
  {
    id: 'boot-failed',
    fits: ({ bootFailed, kernel }) =>
      bootFailed && !later(kernel, bootFailed)
        ? seen(bootFailed, `iPXE reports error ${text(bootFailed.data, 'errno')}`)
        : null,
    reason: ({ bootFailed }) =>
      `its boot loader gave up at ${text(bootFailed?.data, 'stage')}, iPXE error ${text(bootFailed?.data, 'errno')}`,
    nextStep: () =>
      'Look the error number up at ipxe.org/err; check that the boot files are whole: coldiron assets verify',
  },
  {
    id: 'sent-elsewhere',
    fits: ({ script, lifecycle, session }) =>
      script &&
      !session &&
      runsSession(lifecycle.state) &&
      !/^(service-os|installer)$/.test(text(script.data, 'outcome'))
        ? seen(script, `its script said ${text(script.data, 'outcome')}`)
        : null,
    reason: ({ script }) =>
      `it asked for its script and got ${text(script?.data, 'outcome')}, because ${text(script?.data, 'words')}`,
    nextStep: ({ hostname }) => `Read what it would get now, and why: coldiron explain ${hostname}`,
  },
  {
    id: 'kernel-not-fetched',
    fits: (signs) =>
      signs.script &&
      !later(signs.kernel, signs.script) &&
      !signs.imageUnderWay &&
      !signs.session?.openedAt &&
      stuck(signs, signs.script, PATIENCE.kernel)
        ? seen(signs.script, 'it fetched its script')
        : null,
    reason: ({ hostname }) => `${hostname} has its script, and fetches neither kernel nor initrd`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}): a prompt, a menu, or too little memory.`,
  },
];
