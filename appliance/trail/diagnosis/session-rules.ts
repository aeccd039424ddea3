// Rules about the service OS: what it reported, and that it stopped reporting.

import { instantText } from '../../domain/instant.ts';
import { again, failed, type Rule, SILENT_SESSION, said, seen, text } from './rule.ts';

export const SESSION_RULES: readonly Rule[] = [
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
    fits: ({ failedStep }) => failed(failedStep, /^(?:check-image-sum|verify-image)$/),
    reason: ({ failedStep }) => `the image differs from the one that the profile names: ${said(failedStep)}`,
    nextStep: () =>
      'Check the image (coldiron assets verify) and its sha256 in the profile. If they agree, test the disk and the memory.',
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
    fits: ({ lifecycle, restarted }) =>
      lifecycle.failure ? seen(restarted, `it restarted: ${lifecycle.failure.reason}`) : null,
    reason: ({ hostname, lifecycle }) => `${hostname} restarted before its work was done: ${lifecycle.failure?.reason}`,
    nextStep: ({ hostname, lifecycle }) =>
      `Find out who restarted it, or whether it lost power (coldiron sel ${hostname}). Then run: coldiron ${again(lifecycle.failure?.step)} ${hostname}`,
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
];
