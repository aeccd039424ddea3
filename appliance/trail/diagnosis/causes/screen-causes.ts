// Causes that a machine states on its own screen: one for each signature of the console table.

import type { ConsoleSignature, ConsoleStage } from '../../../domain/console/signature.ts';
import { CONSOLE_SIGNATURES } from '../../../domain/console/signatures.ts';
import type { Seen } from '../boot-events.ts';
import { type Cause, found, seen } from '../cause.ts';
import type { Signs } from '../signs.ts';
import type { Stage } from '../stages.ts';

/** Where a machine stops that prints such a line. The installed system passes through all of them at its first boot. */
const STOPS: Readonly<Record<ConsoleStage, readonly Stage[]>> = {
  firmware: ['power', 'address', 'loader', 'first-boot'],
  loader: ['loader', 'script', 'images', 'first-boot'],
  kernel: ['start', 'work', 'first-boot'],
  initramfs: ['start', 'first-boot'],
  'service-os': ['start', 'work'],
  system: ['first-boot'],
};

/**
 * Lines that only say that something failed: what firmware, loaders and the service OS print after any fault of network, server or
 * files, and what the service OS reports anyway. A cause that names the fault comes before them.
 */
export const CONSEQUENCES: ReadonlySet<string> = new Set([
  'bios-nothing-to-boot',
  'efi-nothing-to-boot',
  'efi-http-boot-failed',
  'pxe-arp-timeout',
  'pxe-no-offer',
  'pxe-server-timeout',
  'pxe-tftp-error',
  'pxe-tftp-timeout',
  'pxe-tftp-read-timeout',
  'pxe-no-address',
  'pxe-no-file-name',
  'pxe-proxy-silent',
  'pxe-no-boot-server',
  'pxe-network-error',
  'pxe-other',
  'ipxe-no-address',
  'ipxe-error',
  'grub-network',
  'no-network',
  'no-appliance',
  'session-refused',
  'service-os-stopped',
  'step-failed',
  'curl-connect',
  'curl-other',
]);

const causeOf = ({ id, severity, stage, means, advice }: ConsoleSignature): Cause => ({
  id: `screen-${id}`,
  stages: STOPS[stage],
  specificity: CONSEQUENCES.has(id) ? 1 : 3,
  looksFor: `on the serial console: ${means}`,
  assess: (signs) => {
    const line = lastMatch(signs, id);
    if (line === null) return null;
    const stated = severity === 'error' ? 'certain' : 'likely';
    return found(CONSEQUENCES.has(id) ? 'possible' : stated, seen(line, line.data.line, 'console'));
  },
  reason: `{node} reports on its screen: ${means}`,
  nextStep: advised(advice),
  // The service OS repeats what failed; at the first boot nothing is started again from here.
  ...(stage === 'service-os' && { goesOn: true as const }),
});

/** The table names the node as NODE. */
function advised(advice: string): string {
  const step = advice.replace(/coldiron deploy NODE/g, '{install}').replace(/\bNODE\b/g, '{node}');
  return step.includes('coldiron') ? step : `${step} The whole screen: coldiron console {node} --last`;
}

/** Notes are part of ordinary boots. */
const STATED = CONSOLE_SIGNATURES.filter(({ severity }) => severity !== 'note');
/** Lines that name what is wrong. */
export const SCREEN_CAUSES: readonly Cause[] = STATED.filter(({ id }) => !CONSEQUENCES.has(id)).map(causeOf);
export const SCREEN_CONSEQUENCES: readonly Cause[] = STATED.filter(({ id }) => CONSEQUENCES.has(id)).map(causeOf);

/** Printed since the machine entered the stage that it is in. A line before that did not stop it. */
function lastMatch({ seen: events, current, timeline }: Signs, signature: string): Seen<'console.matched'> | null {
  if (current === null) return null;
  const since = timeline.visits.at(-1)?.began ?? current.began;
  return (
    events.findLast(
      (one): one is Seen<'console.matched'> =>
        one.kind === 'console.matched' && one.data.signature === signature && one.at >= since,
    ) ?? null
  );
}
