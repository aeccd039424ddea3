// Why a machine is not where it should be: rules over what was seen of it, from the last stage to the first. The first that fits
// is the most likely reason, because whatever lies before it has worked.

import { type Instant, instantText, MINUTE, SECOND } from '../domain/instant.ts';
import { awaitsEnrollment, type FailedStep, runsSession } from '../domain/lifecycle.ts';
import { type Case, type Data, type Seen, type Signs, signsOf } from './signs.ts';

export interface Diagnosis {
  /** Stable. */
  readonly id: string;
  readonly reason: string;
  readonly nextStep: string;
  /** What was seen that speaks for it, in words. */
  readonly evidence: readonly string[];
}

interface Rule {
  readonly id: string;
  /** The evidence; null: it does not fit. */
  readonly fits: (signs: Signs) => readonly string[] | null;
  readonly reason: (signs: Signs) => string;
  readonly nextStep: (signs: Signs) => string;
}

/** How long a stage may be silent before it counts as stuck. */
const PATIENCE = {
  request: 40 * SECOND,
  loader: 20 * SECOND,
  script: 30 * SECOND,
  kernel: 30 * SECOND,
  system: 3 * MINUTE,
};
const SILENT_SESSION = 2 * MINUTE;
const POWER_ON = 8 * MINUTE;

export const RULES: readonly Rule[] = [
  {
    id: 'removed',
    fits: ({ lifecycle, script }) => {
      if (lifecycle.state !== 'removed') return null;
      const back = script && script.at >= lifecycle.since ? seen(script, 'it booted again and was refused') : null;
      return [lifecycle.note ?? 'no reason was written down', ...(back ?? [])];
    },
    reason: ({ hostname, lifecycle }) =>
      `${hostname} was removed at ${instantText(lifecycle.since)}, so it gets nothing but a refusal that says so`,
    nextStep: () =>
      'If it is to be used again, declare it anew (coldiron nodes add, or an inventory file): it is then a new node.',
  },
  {
    id: 'quarantined',
    fits: ({ lifecycle }) =>
      lifecycle.state === 'quarantined' ? [lifecycle.note ?? 'no reason was written down'] : null,
    reason: ({ hostname, lifecycle }) => `${hostname} is not trusted: ${lifecycle.note ?? 'nobody wrote down why'}`,
    nextStep: ({ hostname }) => `Compare chassis, MACs and serial, then: coldiron clear-quarantine ${hostname}`,
  },
  {
    id: 'enrolled-never',
    fits: (signs) =>
      enrolling(signs) && later(signs.systemAsks, signs.installed)
        ? seen(signs.systemAsks, 'the installed system asked for an address')
        : null,
    reason: ({ hostname }) => `${hostname} was installed and starts, but it has not enrolled`,
    nextStep: ({ hostname }) =>
      `Look at its agent (journalctl -u coldiron-node-agent) and whether it reaches the node API; a new token: coldiron token reissue ${hostname}`,
  },
  {
    id: 'boots-network-again',
    fits: (signs) =>
      enrolling(signs) && later(signs.script, signs.installed)
        ? seen(signs.script, 'it asked for its boot script after it was installed')
        : null,
    reason: ({ hostname }) =>
      `${hostname} was installed, but goes on booting from the network and is sent back to its disk`,
    nextStep: () =>
      "Put the disk before the network in its boot order, or check that its firmware kept the disk's boot entry.",
  },
  {
    id: 'no-first-boot',
    fits: (signs) => (enrolling(signs) && signs.installed ? seen(signs.installed, 'it was installed') : null),
    reason: ({ hostname }) => `${hostname} was installed, and nothing was seen of it since`,
    nextStep: ({ hostname }) => `Look at its screen (coldiron console ${hostname}): does it start from its disk?`,
  },
  {
    id: 'disk-not-found',
    fits: ({ failedStep }) => failed(failedStep, /^choose-disk/),
    reason: ({ hostname, failedStep }) => `no disk of ${hostname} is the one that was meant: ${said(failedStep)}`,
    nextStep: ({ hostname }) =>
      `Compare the disks (coldiron nodes show ${hostname}) with the storage of its profile; name one by its id.`,
  },
  {
    id: 'call-home-failed',
    fits: ({ failedStep }) => failed(failedStep, /^rehearse/),
    reason: ({ hostname, failedStep }) =>
      `with its final network configuration ${hostname} cannot reach the appliance: ${said(failedStep)}`,
    nextStep: () => 'Check addresses, VLANs and routes of its links in the inventory, and the ports of its switch.',
  },
  {
    id: 'image-hash-wrong',
    fits: ({ failedStep }) =>
      failedStep && /sha-?256|checksum|hash/i.test(said(failedStep))
        ? failed(failedStep, /image/)
        : failed(failedStep, /^verify-image/),
    reason: ({ failedStep }) => `the image on the disk is not the image that the profile names: ${said(failedStep)}`,
    nextStep: () =>
      'Check the image (coldiron assets verify) and its sha256 in the profile; if they agree, test the disk and the memory.',
  },
  {
    id: 'step-failed',
    fits: ({ failedStep }) => failed(failedStep, /./),
    reason: ({ failedStep }) => `${text(failedStep?.data, 'step')} failed: ${said(failedStep)}`,
    nextStep: ({ hostname }) =>
      `Read its log (coldiron trail ${hostname} --json), remove the cause, and ask for it again.`,
  },
  {
    id: 'restarted',
    fits: ({ lifecycle }) =>
      lifecycle.failure && /^restarted before/.test(lifecycle.failure.reason) ? [lifecycle.failure.reason] : null,
    reason: ({ hostname, lifecycle }) => `${hostname} ${lifecycle.failure?.reason}`,
    nextStep: ({ hostname, lifecycle }) =>
      `Find out who restarted it, or whether it lost power (coldiron sel ${hostname}); then: coldiron ${again(lifecycle.failure?.step)} ${hostname}`,
  },
  {
    id: 'session-silent',
    fits: ({ session, now }) => {
      if (!session || session.openedAt === null || session.ended) return null;
      const heard = session.heardAt ?? session.openedAt;
      return now - heard >= SILENT_SESSION ? [`it was last heard of at ${instantText(heard)}`] : null;
    },
    reason: ({ hostname, session }) =>
      `the service OS of ${hostname} came up and then fell silent${session?.last ? ` at ${session.last.step}` : ''}`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}), and at the cable of the card that it booted from.`,
  },
  {
    id: 'session-refused',
    fits: ({ refused, session }) =>
      refused && !session?.openedAt ? seen(refused, `a session was refused: ${text(refused.data, 'reason')}`) : null,
    reason: ({ refused }) => `whoever came with its ticket was refused: ${text(refused?.data, 'reason')}`,
    nextStep: ({ hostname }) =>
      `Compare MAC, UUID and address of ${hostname} with the inventory; find out who else is on this network.`,
  },
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
  {
    id: 'address-refused',
    fits: ({ nak, decline, ack }) => {
      const last = later(nak, decline) ? nak : decline;
      return last && !later(ack, last)
        ? seen(last, last.kind === 'dhcp.nak' ? 'it was refused an address' : 'it declined its address')
        : null;
    },
    reason: ({ hostname, nak }) =>
      nak
        ? `${hostname} asks for an address of another network: ${text(nak.data, 'because')}`
        : `another machine uses the address of ${hostname}`,
    nextStep: () => 'Look at who holds the address (coldiron leases list), and at the relay of this network.',
  },
  {
    id: 'no-request',
    fits: (signs) =>
      signs.offer && !later(signs.request, signs.offer) && stuck(signs, signs.offer, PATIENCE.request)
        ? seen(signs.offer, `it was offered ${text(signs.offer.data, 'address')}`)
        : null,
    reason: ({ hostname }) => `${hostname} asks for an address, is offered one, and does not take it`,
    nextStep: () =>
      'Look for another DHCP server on this network, and whether our answers reach the machine: relay, VLAN, firewall.',
  },
  {
    id: 'pool-exhausted',
    fits: ({ silent, offer }) =>
      silent?.data.because === 'pool-exhausted' && !later(offer, silent) ? seen(silent, 'it got no answer') : null,
    reason: ({ hostname, silent }) =>
      `${hostname} asks for an address and gets none: the pool of network ${text(silent?.data, 'network')} is exhausted`,
    nextStep: ({ hostname, silent }) =>
      `Look at who holds its addresses (coldiron leases list); give network ${text(silent?.data, 'network')} a larger pool, or ${hostname} an address of its own.`,
  },
  {
    id: 'no-answer-by-policy',
    fits: ({ silent, offer }) => (silent && !later(offer, silent) ? seen(silent, 'it got no answer') : null),
    reason: ({ silent }) => `it asks for an address and gets none: ${text(silent?.data, 'words')}`,
    nextStep: ({ hostname }) => `Read what it would get, and why: coldiron explain ${hostname}`,
  },
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

/** Null: nothing is wrong with it, or nobody has asked anything of it. */
export function diagnose(subject: Case): Diagnosis | null {
  const signs = signsOf(subject);
  for (const { id, fits, reason, nextStep } of RULES) {
    const evidence = fits(signs);
    if (evidence) return { id, reason: reason(signs), nextStep: nextStep(signs), evidence };
  }
  return null;
}

const enrolling = ({ lifecycle }: Signs): boolean => awaitsEnrollment(lifecycle);

const later = (one: Seen | null, other: Seen | null): boolean => one !== null && (other === null || one.at >= other.at);
/** In a state that has ended by itself nothing more will come. */
const stuck = ({ lifecycle, now }: Signs, last: Seen | null, patience: Instant): boolean =>
  last !== null && (lifecycle.state === 'failed' || (runsSession(lifecycle.state) && now - last.at >= patience));
const anyBoot = ({ firmwareAsks, loader, loaderRuns, script, session }: Signs): boolean =>
  [firmwareAsks, loader, loaderRuns, script].some((one) => one !== null) || session?.openedAt != null;

const seen = (one: Seen | null, words: string): readonly string[] | null =>
  one === null ? null : [`${instantText(one.at)}: ${words}`];
const failed = (one: Seen | null, step: RegExp): readonly string[] | null =>
  one !== null && step.test(text(one.data, 'step'))
    ? seen(one, `${text(one.data, 'step')} failed: ${said(one)}`)
    : null;
const said = (one: Seen | null): string =>
  typeof one?.data.message === 'string' ? one.data.message : 'it gave no reason';
function trouble(one: Seen): string {
  const { why, reason, bytes, of } = one.data;
  if (one.kind === 'http.served') return `${fileOf(one)} was broken off over HTTP after ${bytes} of ${of} bytes`;
  return `${one.kind.replace('.', ' ')}, ${fileOf(one)}${why || reason ? `: ${why ?? reason}` : ''}`;
}
/** HTTP notes the name in the library, TFTP the name that was asked for. */
const fileOf = (one: Seen | null): string =>
  typeof one?.data.asset === 'string' ? one.data.asset : text(one?.data, 'file');
const isGrub = (one: Seen | null): boolean => one?.kind.startsWith('tftp.') === true && !/\.ipxe$/.test(fileOf(one));
function runsInWords(one: Seen): string {
  if (one.kind === 'dhcp.discover') return 'iPXE asked for an address';
  return one.kind === 'http.entry' ? 'iPXE fetched the script that all get' : `it asked for ${fileOf(one)}`;
}
const minutes = (time: Instant): string => `${Math.max(0, Math.round(time / MINUTE))} min`;

function text(data: Data | undefined, key: string): string {
  const value = data?.[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown';
}

const AGAIN: Readonly<Record<FailedStep, string>> = {
  commission: 'commission',
  deploy: 'deploy',
  enroll: 'token reissue',
  drain: 'drain',
  release: 'release',
};
const again = (step: FailedStep | undefined): string => (step ? AGAIN[step] : 'commission');
