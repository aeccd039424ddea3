// Rules about the boot loader: from the address to the script.

import { fileOf, isGrub, later, PATIENCE, type Rule, runsInWords, seen, stuck, text, trouble } from './rule.ts';

export const LOADER_RULES: readonly Rule[] = [
  {
    id: 'boot-loop',
    fits: ({ loop, script }) =>
      loop && !later(script, loop)
        ? seen(loop, `it was sent to ${fileOf(loop)} ${text(loop.data, 'times')} times in a row`)
        : null,
    reason: ({ hostname, loop }) =>
      `${hostname} is in a boot loop: it loads ${fileOf(loop)} again and again, and never fetches its script`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}). Check that its iPXE reaches the boot port over HTTP, and the boot files: coldiron assets verify`,
  },
  {
    id: 'script-not-fetched',
    fits: (signs) => {
      const { loaderRuns, script, kernel, imageUnderWay, silent } = signs;
      if (!loaderRuns || imageUnderWay || [script, kernel, silent].some((one) => later(one, loaderRuns))) return null;
      return stuck(signs, loaderRuns, PATIENCE.script) ? seen(loaderRuns, runsInWords(loaderRuns)) : null;
    },
    reason: ({ hostname, loaderRuns }) => {
      if (loaderRuns?.kind === 'http.entry')
        return `iPXE runs on ${hostname} and has the script that all get, and does not fetch its own over HTTP`;
      return isGrub(loaderRuns)
        ? `GRUB runs on ${hostname}, and does not fetch its own configuration over TFTP`
        : `iPXE runs on ${hostname}, and does not fetch its script over HTTP`;
    },
    nextStep: ({ hostname, loaderRuns }) =>
      isGrub(loaderRuns)
        ? `Look at its screen (coldiron console ${hostname}) for a prompt of GRUB, and whether TFTP (UDP 69 and above 1024) reaches it.`
        : "Check that the machines' network lets them reach the boot port, and that the server address of the network is right.",
  },
  {
    id: 'loader-rejected',
    fits: (signs) => {
      const { loader, loaderRuns, loaderTrouble, script } = signs;
      if (!loader || [loaderRuns, loaderTrouble, script].some((one) => later(one, loader))) return null;
      return stuck(signs, loader, PATIENCE.loader) ? seen(loader, `it fetched ${fileOf(loader)}`) : null;
    },
    reason: ({ hostname }) =>
      `${hostname} fetched its boot loader, and nothing runs: Secure Boot rejects it, or it is for another architecture`,
    nextStep: ({ hostname }) =>
      `Read what Secure Boot is set to; declare secure_boot: true for ${hostname}, or switch it off in the firmware.`,
  },
  {
    id: 'loader-not-fetched',
    fits: (signs) => {
      const { firmwareAsks, ack, loader, loaderRuns, loaderTrouble, loaderProbe } = signs;
      if (!firmwareAsks || !later(ack, firmwareAsks) || later(loaderRuns, ack)) return null;
      // shim, which it has, asks for GRUB beside itself.
      const hasFirst = later(loader, ack);
      if (hasFirst && !later(loaderTrouble, loader)) return null;
      if (!stuck(signs, hasFirst ? loaderTrouble : ack, PATIENCE.loader)) return null;
      return [
        ...(seen(ack, 'it has an address') ?? []),
        ...(later(loaderProbe, ack) ? (seen(loaderProbe, 'it asked for the size of a file') ?? []) : []),
        ...(hasFirst ? (seen(loader, `it fetched ${fileOf(loader)}`) ?? []) : []),
        ...(loaderTrouble ? [trouble(loaderTrouble)] : []),
      ];
    },
    reason: ({ hostname, loader, loaderTrouble, ack }) => {
      if (!loaderTrouble) return `${hostname} has an address, and does not fetch its boot loader`;
      return later(loader, ack)
        ? `${hostname} has ${fileOf(loader)}, but not what that loads next: ${trouble(loaderTrouble)}`
        : `${hostname} has an address, but not its boot loader: ${trouble(loaderTrouble)}`;
    },
    nextStep: () =>
      'Check that TFTP (UDP 69 and above 1024) reaches the machines, and the boot files: coldiron assets verify',
  },
];
