// Rules about the service OS: a failure that it reported, or reports that stopped.

import { instantText } from '../../domain/instant.ts';
import { again, failed, type Rule, SESSION_TIMEOUT, seen, stepMessage, text } from './rule.ts';

export const SESSION_RULES: readonly Rule[] = [
  {
    id: 'disk-not-found',
    matches: ({ failedStep }) => failed(failedStep, /^choose-disk/),
    reason: ({ hostname, failedStep }) =>
      `no disk of ${hostname} matches the storage selector: ${stepMessage(failedStep)}`,
    nextStep: ({ hostname }) =>
      `Compare its disks (coldiron nodes show ${hostname}) with \`storage\` of its profile; select the disk by its id.`,
  },
  {
    id: 'call-home-failed',
    matches: ({ failedStep }) => failed(failedStep, /^rehearse/),
    reason: ({ hostname, failedStep }) =>
      `with its final network configuration ${hostname} cannot reach the appliance: ${stepMessage(failedStep)}`,
    nextStep: () => 'Check the addresses, VLANs and routes of its links in the inventory, and its switch ports.',
  },
  {
    id: 'image-hash-wrong',
    matches: ({ failedStep }) => failed(failedStep, /^(?:check-image-sum|verify-image)$/),
    reason: ({ failedStep }) => `the image differs from the one in the profile: ${stepMessage(failedStep)}`,
    nextStep: () =>
      'Verify the image (coldiron assets verify) and its sha256 in the profile. If they match, test the disk and the memory.',
  },
  {
    id: 'step-failed',
    matches: ({ failedStep }) => failed(failedStep, /./),
    reason: ({ failedStep }) => `${text(failedStep?.data.step)} failed: ${stepMessage(failedStep)}`,
    nextStep: ({ hostname }) => `Read its log (coldiron trail ${hostname} --json), fix the cause, and repeat the step.`,
  },
  {
    id: 'restarted',
    matches: ({ lifecycle, restarted }) =>
      lifecycle.failure ? seen(restarted, `it restarted: ${lifecycle.failure.reason}`) : null,
    reason: ({ hostname, lifecycle }) => `${hostname} restarted before its work was done: ${lifecycle.failure?.reason}`,
    nextStep: ({ hostname, lifecycle }) =>
      `Find out who restarted it, or whether it lost power (coldiron sel ${hostname}). Then run: coldiron ${again(lifecycle.failure?.step)} ${hostname}`,
  },
  {
    id: 'session-silent',
    matches: ({ session, now }) => {
      if (!session || session.openedAt === null || session.ended) return null;
      const lastReport = session.heardAt ?? session.openedAt;
      return now - lastReport >= SESSION_TIMEOUT ? [`its last report came at ${instantText(lastReport)}`] : null;
    },
    reason: ({ hostname, session }) =>
      `the service OS of ${hostname} started and then stopped reporting${session?.last ? ` at step ${session.last.step}` : ''}`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}), and check the cable of the network card that it booted from.`,
  },
  {
    id: 'session-refused',
    matches: ({ refused, session }) =>
      refused && !session?.openedAt ? seen(refused, `a session was rejected: ${refused.data.reason}`) : null,
    reason: ({ refused }) => `a client presented its ticket and was rejected: ${text(refused?.data.reason)}`,
    nextStep: ({ hostname }) =>
      `Compare the MAC, UUID and address of ${hostname} with the inventory; look for other machines on this network that use its ticket.`,
  },
];
