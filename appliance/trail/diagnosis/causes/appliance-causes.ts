// Causes on the appliance: its files, disk, store, listeners and clock.

import type { ApplianceProblem } from '../../../domain/appliance-problem.ts';
import { CLIENT_ARCHITECTURES } from '../../../domain/architecture.ts';
import { type Cause, type Confidence, type Finding, fact, found } from '../cause.ts';
import type { Signs } from '../signs.ts';
import type { Stage } from '../stages.ts';

export const APPLIANCE_CAUSES: readonly Cause[] = [
  {
    id: 'appliance-disk-full',
    stages: 'any',
    specificity: 3,
    looksFor: 'a full disk of the appliance, or a store that cannot be written',
    assess: (signs) => ownProblem(signs, ['disk-full', 'store-failing'], () => 'certain'),
    reason: 'the appliance cannot record anything: {words}',
    nextStep: 'Free space on the disk of the appliance, or repair its file system. What it holds: {to_do}',
    verify: 'coldiron check reports no problem, and {node} goes on by itself.',
  },
  {
    id: 'boot-file-damaged',
    stages: ['address', 'loader', 'script', 'images', 'start'],
    specificity: 3,
    looksFor:
      'a boot file that the appliance knows to be damaged or missing, of the kind that the machine needs in this stage or, of the service OS, later',
    assess: (signs) =>
      ownProblem(signs, ['boot-file-damaged', 'boot-file-missing'], (problem) => {
        if (isNeededNow(signs, problem)) return 'certain';
        return isNeededLater(signs, problem) ? 'likely' : null;
      }),
    reason: 'a boot file of this appliance is not usable: {words}',
    nextStep: '{to_do}',
    verify: 'coldiron assets verify reports no problem.',
  },
  {
    id: 'listener-missing',
    stages: ['power', 'address', 'loader', 'script', 'images', 'start', 'first-boot'],
    specificity: 3,
    looksFor: 'a DHCP, TFTP, HTTP or node API listener that is not there',
    assess: (signs) =>
      ownProblem(signs, ['listener-missing'], (problem) =>
        problem.id === 'listener-missing' &&
        LISTENS_FOR[problem.service].some((stage) => stage === signs.current?.stage)
          ? 'likely'
          : null,
      ),
    reason: 'the appliance does not answer where {node} asks: {words}',
    nextStep: '{to_do}',
    verify: 'coldiron check lists the listener as running.',
  },
  {
    id: 'appliance-clock-wrong',
    stages: ['start', 'first-boot'],
    specificity: 3,
    looksFor: 'a clock of the appliance that is wrong, or an expired certificate of the node API',
    assess: (signs) => ownProblem(signs, ['clock-wrong', 'certificate-expired'], () => 'likely'),
    reason: 'machines cannot verify this appliance: {words}',
    nextStep: '{to_do}',
    verify: 'coldiron check reports no problem.',
  },
];

const LISTENS_FOR: Readonly<Record<'dhcp' | 'tftp' | 'http' | 'node', readonly Stage[]>> = {
  dhcp: ['power', 'address'],
  tftp: ['loader', 'script'],
  http: ['loader', 'script', 'images', 'start'],
  node: ['start', 'first-boot'],
};

function ownProblem(
  { appliance, current }: Signs,
  ids: readonly ApplianceProblem['id'][],
  confidence: (problem: ApplianceProblem) => Confidence | null,
): Finding | null {
  if (current === null) return null;
  for (const problem of appliance) {
    if (!ids.includes(problem.id)) continue;
    const sure = confidence(problem);
    if (sure !== null)
      return found(sure, [fact('appliance', problem.words, problem.since)], {
        words: problem.words,
        to_do: problem.nextStep,
      });
  }
  return null;
}

/** The service OS and images are below two folders; loaders are elsewhere. */
function isNeededNow(signs: Signs, problem: ApplianceProblem): boolean {
  const { current, script } = signs;
  const { subject } = problem;
  const stage = current?.stage;
  if (stage === undefined || stage === 'power' || stage === 'first-boot') return false;
  const isSystem = /^(?:images|nixos)\//.test(subject);
  if (!isSystem)
    return (stage === 'address' || stage === 'loader' || stage === 'script') && isItsLoader(signs, problem);
  if (stage === 'address' || stage === 'loader') return false;
  const asset = script?.kind === 'http.script' ? script.data.asset : undefined;
  // The running service OS fetches only the image of the profile, which its own steps check.
  return stage !== 'work' && (asset === undefined || subject.split('/')[1] === asset.split('/')[1]);
}

/** The service OS for its processor: its boot cannot succeed, wherever it is now. */
function isNeededLater({ current, firmwareDiscover }: Signs, problem: ApplianceProblem): boolean {
  if (current?.stage !== 'address' && current?.stage !== 'loader') return false;
  const code = firmwareDiscover?.data.architecture;
  const cpu = code == null ? null : CLIENT_ARCHITECTURES.get(code)?.cpu;
  return cpu != null && problem.subject.startsWith(`images/service-os-${cpu}/`);
}

/** The loader that it was offered, or that shim loads next; without an offered file, any loader for its architecture. */
function isItsLoader({ offer, firmwareDiscover }: Signs, problem: ApplianceProblem): boolean {
  const offered = offer?.data.file;
  if (offered !== undefined && offered !== '') {
    const name = offered.replace(/^.*\//, '');
    return name === problem.subject || (name.startsWith('shim') && problem.subject.startsWith('grub'));
  }
  const architecture = firmwareDiscover?.data.architecture;
  if (architecture === undefined || architecture === null || !('architectures' in problem)) return true;
  return (
    problem.architectures.length === 0 ||
    problem.architectures.some((text) => text.split(' ')[0] === String(architecture))
  );
}
