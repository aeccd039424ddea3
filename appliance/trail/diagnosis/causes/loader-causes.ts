// Causes around the boot loader: from the address to the script.

import { fileOf, isOf, type Seen } from '../boot-events.ts';
import {
  type Cause,
  type Finding,
  found,
  isGrub,
  isIn,
  later,
  loaderRunsText,
  seen,
  stoppedIn,
  transferFailure,
} from '../cause.ts';
import type { Signs } from '../signs.ts';

export const LOADER_CAUSES: readonly Cause[] = [
  {
    id: 'boot-loop',
    stages: 'any',
    specificity: 2,
    looksFor: 'the same loader several times in a row, and never a script',
    assess: ({ loop, script }) =>
      loop && !later(script, loop)
        ? found(
            'certain',
            seen(loop, `it was sent to ${fileOf(loop)} ${loop.data.times} times in a row`, 'appliance'),
            {
              file: fileOf(loop),
            },
          )
        : null,
    reason: '{node} is in a boot loop: it loads {file} repeatedly and never fetches its script',
    nextStep:
      'Look at its screen (coldiron console {node}). Check that its iPXE reaches the boot port over HTTP. Verify the boot files: coldiron assets verify',
  },
  {
    id: 'large-packets-lost',
    stages: ['loader', 'images'],
    specificity: 3,
    looksFor: 'transfers that begin and never get beyond the first packets, while small exchanges succeed',
    assess: (signs) => {
      if (!isIn(signs, 'loader', 'images')) return null;
      const broken = signs.seen.filter(isBrokenTransfer).filter(({ at }) => at >= (signs.ack?.at ?? 0));
      const http = broken.some((one) => one.kind === 'http.served');
      const tftp = broken.some(
        (one) => one.kind !== 'http.served' && one.data.blocks <= 1 && one.data.blockSize > 1024,
      );
      if (!tftp && !(http && broken.length > 1)) return null;
      // A transfer that stalls for some seconds may still go on.
      if (broken.every(({ kind }) => kind === 'tftp.stalled') && !signs.current?.overdue) return null;
      const last = broken.at(-1);
      if (last === undefined || later(signs.kernel, last) || later(signs.loaderRuns, last)) return null;
      return found(tftp ? 'likely' : 'possible', [
        ...broken.slice(-3).map((one) => ({ at: one.at, source: 'machine' as const, words: transferFailure(one) })),
        ...seen(signs.ack, 'small packets arrive: DHCP succeeded'),
      ]);
    },
    reason:
      '{node} gets small packets but not large ones: the MTU on the way is smaller than 1500, or a switch drops full-size frames',
    nextStep:
      'Compare the MTU of every port on the way, tunnels included, and raise it to 1500 at least; or set `mtu` of the network to the MTU of the way.',
    verify: 'coldiron trail {node} shows a complete transfer of the loader.',
  },
  {
    id: 'script-not-fetched',
    stages: ['script'],
    specificity: 2,
    looksFor: 'a running iPXE or GRUB that does not fetch its own script or configuration',
    assess: (signs) => {
      const { loaderRuns, script, kernel, imageInProgress, silent } = signs;
      if (!loaderRuns || imageInProgress || [script, kernel, silent].some((one) => later(one, loaderRuns))) return null;
      if (!stoppedIn(signs, 'script') || hasNoAddress(signs)) return null;
      return found('likely', seen(loaderRuns, loaderRunsText(loaderRuns)), {
        what: notFetched(loaderRuns),
        to_do: scriptStep(signs, loaderRuns),
      });
    },
    reason: '{what}',
    nextStep: '{to_do}',
  },
  {
    id: 'loader-rejected',
    stages: ['loader'],
    specificity: 2,
    looksFor: 'a loader that UEFI firmware fetched completely, and no sign that it runs',
    assess: (signs) => (isBios(signs) ? null : notRunning(signs)),
    reason:
      '{node} fetched {file} completely, but it does not run: Secure Boot rejects it, or it is built for another architecture',
    nextStep:
      'Look at its screen: coldiron console {node} --last. If it reports a security violation, declare secure_boot: true for {node}, so that it gets signed loaders.',
  },
  {
    id: 'loader-not-running',
    stages: ['loader'],
    specificity: 2,
    looksFor: 'a loader that BIOS firmware fetched completely, and no sign that it runs',
    assess: (signs) => (isBios(signs) ? notRunning(signs) : null),
    reason: '{node} fetched {file} completely, but it does not run, or does not get a network connection',
    nextStep:
      'Look at its screen: coldiron console {node} --last. If the loader stops there, verify it (coldiron assets verify), and try the firmware of the network card or another card.',
  },
  {
    id: 'loader-not-fetched',
    stages: ['loader'],
    specificity: 2,
    looksFor: 'an address without a complete transfer of the loader',
    assess: (signs) => {
      const { firmwareDiscover, ack, loader, loaderRuns, loaderBegun, loaderFailure, loaderProbe } = signs;
      if (!firmwareDiscover || !later(ack, firmwareDiscover) || later(loaderRuns, ack)) return null;
      // shim was fetched, and requests GRUB next to itself.
      const hasFirst = later(loader, ack);
      if (hasFirst && !later(loaderFailure, loader)) return null;
      if (!stoppedIn(signs, 'loader')) return null;
      return found(
        'likely',
        [
          ...seen(ack, 'it has an address'),
          ...(later(loaderProbe, ack) ? seen(loaderProbe, 'it requested the size of a file') : []),
          ...(later(loaderBegun, ack) ? seen(loaderBegun, `it requested ${fileOf(loaderBegun)} over TFTP`) : []),
          ...(hasFirst ? seen(loader, `it fetched ${fileOf(loader)}`) : []),
          ...(loaderFailure ? seen(loaderFailure, transferFailure(loaderFailure)) : []),
        ],
        { what: loaderMissing(signs, hasFirst), server: signs.endpoints.boot?.replace(/:\d+$/, '') ?? 'the appliance' },
      );
    },
    reason: '{node} has an address, but {what}',
    nextStep:
      'Check that UDP port 69 and the UDP ports above 1024 of {server} reach the machine: firewall, relay, VLAN. Verify the boot files: coldiron assets verify',
  },
];

function loaderMissing({ ack, loader, loaderBegun, loaderProbe, loaderFailure }: Signs, hasFirst: boolean): string {
  if (!loaderFailure && later(loaderBegun, ack))
    return `does not get its boot loader: it requested ${fileOf(loaderBegun)}, and the transfer has not ended`;
  if (!loaderFailure && later(loaderProbe, ack)) return 'requested only the size of its boot loader, and not the file';
  if (!loaderFailure) return 'does not fetch its boot loader: no request arrives here';
  return hasFirst
    ? `fetched ${fileOf(loader)} and not the file that it loads next: ${transferFailure(loaderFailure)}`
    : `cannot fetch its boot loader: ${transferFailure(loaderFailure)}`;
}

/** RFC 4578 §2.1: architecture 0 is BIOS, which has no Secure Boot. */
const isBios = ({ firmwareDiscover }: Signs): boolean => firmwareDiscover?.data.architecture === 0;

function notRunning(signs: Signs): Finding | null {
  const { loader, loaderRuns, loaderFailure, script } = signs;
  if (!loader || [loaderRuns, loaderFailure, script].some((one) => later(one, loader))) return null;
  return stoppedIn(signs, 'loader')
    ? found('likely', seen(loader, `it fetched ${fileOf(loader)} completely`), { file: fileOf(loader) })
    : null;
}

/** iPXE was offered an address and did not get it. */
const hasNoAddress = ({ loaderRuns, offer, ack }: Signs): boolean =>
  loaderRuns?.kind === 'dhcp.discover' && later(offer, loaderRuns) && !later(ack, loaderRuns);

function notFetched(loaderRuns: NonNullable<Signs['loaderRuns']>): string {
  if (loaderRuns.kind === 'http.entry')
    return 'iPXE runs on {node} and fetched the common script, but does not fetch its own over HTTP';
  return isGrub(loaderRuns)
    ? 'GRUB runs on {node}, but does not fetch its own configuration over TFTP'
    : 'iPXE runs on {node}, but does not fetch its script over HTTP';
}

const scriptStep = ({ endpoints }: Signs, loaderRuns: NonNullable<Signs['loaderRuns']>): string =>
  isGrub(loaderRuns)
    ? 'Look at its screen (coldiron console {node} --last) for a GRUB prompt, and check that TFTP (UDP 69 and above 1024) reaches it.'
    : `Check that machines on this network reach ${endpoints.boot === null ? 'the boot port' : `TCP ${endpoints.boot}`}: firewall, route, and \`server\` of the network.`;

type BrokenTransfer = Seen<'tftp.timeout' | 'tftp.stalled' | 'http.served'>;
/** The OACK is a small packet: where it stays unanswered, the ports of the transfer are blocked. */
const isBrokenTransfer = (one: Seen): one is BrokenTransfer =>
  (isOf(one, ['tftp.timeout', 'tftp.stalled']) && !/^no reply to the OACK/.test(one.data.reason ?? '')) ||
  (isOf(one, ['http.served']) && !one.data.complete && one.data.bytes < one.data.of);
