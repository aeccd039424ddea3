// Rules about the boot loader: from the address to the script.

import {
  fileOf,
  isGrub,
  later,
  loaderRunsText,
  type Rule,
  STAGE_TIMEOUT,
  seen,
  stuck,
  transferFailure,
} from './rule.ts';

export const LOADER_RULES: readonly Rule[] = [
  {
    id: 'boot-loop',
    matches: ({ loop, script }) =>
      loop && !later(script, loop)
        ? seen(loop, `it was sent to ${fileOf(loop)} ${loop.data.times} times in a row`)
        : null,
    reason: ({ hostname, loop }) =>
      `${hostname} is in a boot loop: it loads ${fileOf(loop)} repeatedly and never fetches its script`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}). Check that its iPXE reaches the boot port over HTTP. Verify the boot files: coldiron assets verify`,
  },
  {
    id: 'script-not-fetched',
    matches: (signs) => {
      const { loaderRuns, script, kernel, imageInProgress, silent } = signs;
      if (!loaderRuns || imageInProgress || [script, kernel, silent].some((one) => later(one, loaderRuns))) return null;
      return stuck(signs, loaderRuns, STAGE_TIMEOUT.script) ? seen(loaderRuns, loaderRunsText(loaderRuns)) : null;
    },
    reason: ({ hostname, loaderRuns }) => {
      if (loaderRuns?.kind === 'http.entry')
        return `iPXE runs on ${hostname} and fetched the common script, but does not fetch its own over HTTP`;
      return isGrub(loaderRuns)
        ? `GRUB runs on ${hostname}, but does not fetch its own configuration over TFTP`
        : `iPXE runs on ${hostname}, but does not fetch its script over HTTP`;
    },
    nextStep: ({ hostname, loaderRuns }) =>
      isGrub(loaderRuns)
        ? `Look at its screen (coldiron console ${hostname}) for a GRUB prompt, and check that TFTP (UDP 69 and above 1024) reaches it.`
        : 'Check that machines on this network can reach the boot port, and that `server` of the network is the right address.',
  },
  {
    id: 'loader-rejected',
    matches: (signs) => {
      const { loader, loaderRuns, loaderFailure, script } = signs;
      if (!loader || [loaderRuns, loaderFailure, script].some((one) => later(one, loader))) return null;
      return stuck(signs, loader, STAGE_TIMEOUT.loader) ? seen(loader, `it fetched ${fileOf(loader)}`) : null;
    },
    reason: ({ hostname }) =>
      `${hostname} fetched its boot loader, but it does not run: Secure Boot rejects it, or it is built for another architecture`,
    nextStep: ({ hostname }) =>
      `Check the Secure Boot setting of its firmware; declare secure_boot: true for ${hostname}, or switch Secure Boot off.`,
  },
  {
    id: 'loader-not-fetched',
    matches: (signs) => {
      const { firmwareDiscover, ack, loader, loaderRuns, loaderFailure, loaderProbe } = signs;
      if (!firmwareDiscover || !later(ack, firmwareDiscover) || later(loaderRuns, ack)) return null;
      // shim was fetched, and requests GRUB next to itself.
      const hasFirst = later(loader, ack);
      if (hasFirst && !later(loaderFailure, loader)) return null;
      if (!stuck(signs, hasFirst ? loaderFailure : ack, STAGE_TIMEOUT.loader)) return null;
      return [
        ...(seen(ack, 'it has an address') ?? []),
        ...(later(loaderProbe, ack) ? (seen(loaderProbe, 'it requested the size of a file') ?? []) : []),
        ...(hasFirst ? (seen(loader, `it fetched ${fileOf(loader)}`) ?? []) : []),
        ...(loaderFailure ? [transferFailure(loaderFailure)] : []),
      ];
    },
    reason: ({ hostname, loader, loaderFailure, ack }) => {
      if (!loaderFailure) return `${hostname} has an address, but does not fetch its boot loader`;
      return later(loader, ack)
        ? `${hostname} fetched ${fileOf(loader)}, but not the file that it loads next: ${transferFailure(loaderFailure)}`
        : `${hostname} has an address, but cannot fetch its boot loader: ${transferFailure(loaderFailure)}`;
    },
    nextStep: () =>
      'Check that TFTP (UDP 69 and above 1024) reaches the machine. Verify the boot files: coldiron assets verify',
  },
];
