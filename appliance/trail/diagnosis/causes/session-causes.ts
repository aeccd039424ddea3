// Causes around the service OS: a failure that it reported, or reports that stopped.

import { instantText } from '../../../domain/instant.ts';
import type { Seen } from '../boot-events.ts';
import { type Cause, durationText, fact, found, isIn, seen, stepMessage } from '../cause.ts';
import type { Signs } from '../signs.ts';
import { STAGES } from '../stages.ts';

export const SESSION_CAUSES: readonly Cause[] = [
  {
    id: 'disk-not-found',
    stages: ['work'],
    specificity: 3,
    looksFor: 'a failed `choose-disk` step',
    assess: (signs) => failedStep(signs, /^choose-disk/),
    reason: 'no disk of {node} matches the storage selector: {message}',
    nextStep:
      'Compare its disks (coldiron nodes show {node}) with `storage` of its profile; select the disk by its id. If a disk was changed, record it first: coldiron commission {node}. Then run: {again}',
  },
  {
    id: 'disk-too-small',
    stages: ['work'],
    specificity: 3,
    looksFor: 'a failed `write-image` step that reports a full device',
    assess: (signs) => failedStep(signs, /^write-image/, /No space left on device|is smaller than/i),
    reason: 'the disk of {node} is smaller than the image: {message}',
    nextStep:
      'Compare the sizes of its disks (coldiron nodes show {node}) with the image; choose another disk in `storage` of its profile, or a smaller image. If a disk was changed, record it first: coldiron commission {node}. Then run: {again}',
  },
  {
    id: 'call-home-failed',
    stages: ['work'],
    specificity: 3,
    looksFor: 'a failed `rehearse` step: the final network configuration was tried before anything was written',
    assess: (signs) => failedStep(signs, /^rehearse/),
    reason: 'with its final network configuration {node} cannot reach the appliance: {message}',
    nextStep:
      'Check the addresses, VLANs and routes of its links in the inventory, and its switch ports. Then run: {again}',
  },
  {
    id: 'image-hash-wrong',
    stages: ['work'],
    specificity: 3,
    looksFor: 'a failed `check-image-sum` or `verify-image` step',
    assess: (signs) => failedStep(signs, /^(?:check-image-sum|verify-image)$/),
    reason: 'the image differs from the one in the profile: {message}',
    nextStep:
      'Verify the image (coldiron assets verify) and its sha256 in the profile. If they match, test the disk and the memory. Then run: {again}',
  },
  {
    id: 'step-failed',
    stages: ['work'],
    specificity: 2,
    looksFor: 'any other failed step of the service OS',
    assess: (signs) => failedStep(signs, /./),
    reason: '{step} failed: {message}',
    nextStep: 'Read its log (coldiron trail {node} --json), fix the cause, then run: {again}',
  },
  {
    id: 'restarted',
    stages: 'any',
    specificity: 2,
    looksFor: 'a machine that booted again before its work was done',
    assess: (signs) => {
      const { lifecycle, restarted } = signs;
      return lifecycle.failure && restarted
        ? found('certain', seen(restarted, `it restarted: ${lifecycle.failure.reason}`), {
            because: lifecycle.failure.reason,
          })
        : null;
    },
    reason: '{node} restarted before its work was done: {because}',
    nextStep: 'Find out who restarted it, or whether it lost power (coldiron sel {node}). Then run: {again}',
  },
  {
    id: 'connection-lost',
    stages: ['work'],
    specificity: 2,
    looksFor: 'a line on the serial console, after the last report, that the appliance cannot be reached',
    assess: (signs) => {
      const { session, seen: events } = signs;
      if (!session || session.openedAt === null || session.ended || !isIn(signs, 'work')) return null;
      const lastReport = session.heardAt ?? session.openedAt;
      const line = events.findLast(
        (one): one is Seen<'console.matched'> =>
          one.kind === 'console.matched' && one.at > lastReport && UNREACHED.has(one.data.signature),
      );
      return line === undefined
        ? null
        : found(
            'likely',
            [...seen(line, line.data.line, 'console'), fact('machine', 'until then its reports arrived', lastReport)],
            { where: session.last ? ` at step ${session.last.step}` : '' },
          );
    },
    reason: 'the service OS of {node} runs, and lost its connection to the appliance{where}',
    nextStep:
      'Check the cable and the switch port of the network card that it booted from; then firewall and routes to the address in the line. The whole screen: coldiron console {node} --last',
    verify: 'coldiron sessions {node} shows a new report.',
  },
  {
    id: 'session-silent',
    stages: ['work'],
    specificity: 1,
    looksFor: 'a session without a report for two minutes',
    assess: (signs) => {
      const { session, now, bmc, lifecycle } = signs;
      if (!session || session.openedAt === null || !isIn(signs, 'work')) return null;
      if (session.ended && lifecycle.state !== 'failed') return null;
      const lastReport = session.heardAt ?? session.openedAt;
      if (now - lastReport < STAGES.work.allowed) return null;
      return found(
        'likely',
        [
          fact('machine', `its last report came at ${instantText(lastReport)}, ${durationText(now - lastReport)} ago`),
          ...(bmc?.power === 'on' ? [fact('bmc', 'its BMC reports that the power is on')] : []),
        ],
        { where: session.last ? ` at step ${session.last.step}` : '' },
        session.ended ? [fact('appliance', 'its session has ended', session.ended.at)] : [],
      );
    },
    reason:
      'the service OS of {node} started and then stopped reporting{where}: it hangs, or it lost its network connection',
    nextStep:
      'Look at its screen (coldiron console {node} --last), and check the cable of the network card that it booted from.',
    verify: 'coldiron sessions {node} shows a new report.',
  },
  {
    id: 'progress-stalled',
    stages: ['work'],
    specificity: 2,
    looksFor:
      'a step that stands still although reports arrive: the session says so, or its progress does not change for three minutes',
    assess: (signs) => {
      const { current, timeline, session, stalled, now } = signs;
      const last = timeline.steps.at(-1);
      if (!isIn(signs, 'work') || !current?.overdue || !session?.heardAt) return null;
      if (now - session.heardAt >= STAGES.work.allowed) return null;
      const step = stalled === null ? last : { step: stalled.data.step, moved: stalled.data.since, ended: null };
      if (step === undefined || step.ended !== null) return null;
      const percent = session.last?.percent;
      return found(
        'likely',
        [
          fact(
            'machine',
            `step ${step.step} has not moved since ${instantText(step.moved)}${percent == null ? '' : ` (${Math.floor(percent)} %)`}`,
            step.moved,
          ),
          fact('machine', 'the service OS still reports: it runs and has a network connection', session.heardAt),
        ],
        {
          step: step.step,
          time: durationText(now - step.moved),
          what: /image|erase|disk|verify|write/.test(step.step)
            ? 'the disk hangs or is very slow, or the transfer of its data stopped'
            : 'the step hangs',
        },
      );
    },
    reason: 'step {step} of {node} has made no progress for {time}: {what}',
    nextStep:
      'Look for disk errors and hung tasks on its screen: coldiron console {node} --last. To give up: coldiron cancel {node}',
    verify: 'coldiron sessions {node} shows another percentage.',
  },
  {
    id: 'session-refused',
    stages: ['start', 'work'],
    specificity: 2,
    looksFor: 'a ticket that was presented and rejected',
    assess: ({ refused, session }) =>
      refused && !session?.openedAt
        ? found('certain', seen(refused, `a session was rejected: ${refused.data.reason}`, 'appliance'), {
            because: refused.data.reason,
          })
        : null,
    reason: 'a client presented the ticket of {node} and was rejected: {because}',
    nextStep:
      'Compare the MAC, UUID and address of {node} with the inventory (coldiron nodes show {node}); look for other machines on this network that use its ticket.',
  },
];

/** What the service OS prints when it cannot reach the appliance. */
const UNREACHED: ReadonlySet<string> = new Set(['no-appliance', 'curl-connect']);

function failedStep(signs: Signs, step: RegExp, message: RegExp = /(?:)/) {
  const one: Seen<'session.step'> | null = signs.failedStep;
  if (one === null || !step.test(one.data.step) || !message.test(stepMessage(one))) return null;
  return found('certain', seen(one, `${one.data.step} failed: ${stepMessage(one)}`), {
    step: one.data.step,
    message: stepMessage(one),
  });
}
