// Rules about the kernel and initrd: from the boot script to a running service OS.

import { runsSession } from '../../domain/lifecycle.ts';
import { fileOf, later, type Rule, STAGE_TIMEOUT, seen, stuck, text, transferFailure } from './rule.ts';

export const SYSTEM_RULES: readonly Rule[] = [
  {
    id: 'image-broken-off',
    matches: (signs) =>
      signs.imageFailure &&
      !signs.imageInProgress &&
      !later(signs.kernel, signs.imageFailure) &&
      !signs.session?.openedAt &&
      stuck(signs, signs.imageFailure, STAGE_TIMEOUT.kernel)
        ? seen(signs.imageFailure, transferFailure(signs.imageFailure))
        : null,
    reason: ({ hostname, imageFailure }) =>
      `${hostname} did not fetch its kernel and initrd completely: ${imageFailure ? transferFailure(imageFailure) : ''}`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}) for an out-of-memory message; check the cable, duplex and MTU of its port. Verify the boot files: coldiron check`,
  },
  {
    id: 'no-session',
    matches: (signs) =>
      signs.kernel &&
      !signs.imageInProgress &&
      !signs.session?.openedAt &&
      stuck(signs, signs.kernel, STAGE_TIMEOUT.system)
        ? seen(signs.kernel, `it fetched ${fileOf(signs.kernel)}`)
        : null,
    reason: ({ hostname, osDiscover }) =>
      osDiscover
        ? `the service OS of ${hostname} has an address, but cannot reach the appliance over HTTP`
        : `${hostname} fetched the service OS, but it did not start: a kernel panic, or no driver for its network card`,
    nextStep: ({ hostname }) => `Look at its screen (coldiron console ${hostname}) for the last kernel messages.`,
  },
  {
    id: 'boot-failed',
    matches: ({ bootFailed, kernel }) =>
      bootFailed && !later(kernel, bootFailed)
        ? seen(bootFailed, `iPXE reports error ${text(bootFailed.data.errno)}`)
        : null,
    reason: ({ bootFailed }) =>
      `its boot loader failed at ${text(bootFailed?.data.stage)}, iPXE error ${text(bootFailed?.data.errno)}`,
    nextStep: () => 'Look up the error number at ipxe.org/err. Verify the boot files: coldiron assets verify',
  },
  {
    id: 'sent-elsewhere',
    matches: ({ script, lifecycle, session }) =>
      script &&
      !session &&
      runsSession(lifecycle.state) &&
      script.data.outcome !== 'service-os' &&
      script.data.outcome !== 'installer'
        ? seen(script, `its script has the outcome ${script.data.outcome}`)
        : null,
    reason: ({ script }) =>
      `its boot script has the outcome ${text(script?.data.outcome)}, because ${text(script?.data.words)}`,
    nextStep: ({ hostname }) => `Show the current boot decision and its reason: coldiron explain ${hostname}`,
  },
  {
    id: 'kernel-not-fetched',
    matches: (signs) =>
      signs.script &&
      !later(signs.kernel, signs.script) &&
      !signs.imageInProgress &&
      !signs.session?.openedAt &&
      stuck(signs, signs.script, STAGE_TIMEOUT.kernel)
        ? seen(signs.script, 'it fetched its script')
        : null,
    reason: ({ hostname }) => `${hostname} fetched its script, but neither kernel nor initrd`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}) for a prompt, a menu or an out-of-memory message.`,
  },
];
