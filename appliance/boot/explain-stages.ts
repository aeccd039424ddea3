// The stages of a boot from the firmware to the first boot: the request at each, the reply, and why. A stage that
// this boot does not reach is listed too, with the reason.

import type { ClientArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import type { Mac } from '../domain/mac.ts';
import type { Machine } from '../domain/machine.ts';
import { STATES } from '../domain/states.ts';
import type { Because } from './because.ts';
import { type BootServer, bootUrl, loaderPath, machineScriptPath } from './boot-paths.ts';
import type { BootDecision, Outcome } from './decide-boot.ts';

export interface ExplainedStage {
  readonly stage: 'firmware' | 'loader' | 'ipxe' | 'script' | 'kernel' | 'service-os' | 'first-boot';
  readonly reached: boolean;
  readonly asks: string;
  readonly answer: string;
  readonly file?: string;
  readonly url?: string;
  readonly because: Because;
}

/** The input of every stage. */
interface StageInput {
  readonly mac: Mac;
  readonly machine: Machine | null;
  readonly architecture: ClientArchitecture;
  readonly profile: Profile | null;
  readonly server: BootServer | null;
  /** The decision at each requesting stage: firmware and our iPXE by DHCP, then the script or configuration. */
  readonly atFirmware: BootDecision;
  readonly atIpxe: BootDecision;
  readonly atScript: BootDecision;
}

export function explainStages(input: StageInput): ExplainedStage[] {
  const { nextStage } = input.atFirmware;
  if (nextStage.kind === 'nothing') {
    return [firmware(input), ...LATER_STAGES.map((stage) => notReached(stage, nextStage.because))];
  }
  return [firmware(input), loader(input), ipxe(input), script(input), ...afterScript(input)];
}

const LATER_STAGES = ['loader', 'ipxe', 'script', 'kernel', 'service-os', 'first-boot'] as const;

const notReached = (stage: ExplainedStage['stage'], reason: Because): ExplainedStage => ({
  stage,
  reached: false,
  asks: 'nothing',
  answer: `not reached: ${reason.words}`,
  because: reason,
});

const url = (input: StageInput, path: string): string => (input.server === null ? path : bootUrl(input.server, path));

function firmware(input: StageInput): ExplainedStage {
  const { nextStage } = input.atFirmware;
  const { code, name, transport } = input.architecture;
  const vendorClass = transport === 'http' ? 'HTTPClient' : 'PXEClient';
  const stage = 'firmware';
  const asks = `DHCP DISCOVER as ${vendorClass}, option 93 = ${code} (${name})`;
  const common = { stage, reached: true, asks, because: nextStage.because } as const;
  if (nextStage.kind !== 'loader') return { ...common, answer: 'no boot file' };
  const { file } = nextStage;
  if (nextStage.transport === 'tftp') return { ...common, answer: `boot file ${file} over TFTP`, file };
  return { ...common, answer: `boot file ${file} over HTTP`, file, url: url(input, loaderPath(file)) };
}

function loader(input: StageInput): ExplainedStage {
  const { nextStage } = input.atFirmware;
  if (nextStage.kind !== 'loader') return notReached('loader', nextStage.because);
  const { file, because } = nextStage;
  const common = { stage: 'loader', reached: true, answer: `${file}, from the manifest`, file, because } as const;
  if (nextStage.transport === 'tftp') return { ...common, asks: `TFTP read request for ${file}` };
  return { ...common, asks: `HTTP GET ${loaderPath(file)}`, url: url(input, loaderPath(file)) };
}

const startsGrub = ({ atFirmware: { nextStage } }: StageInput): boolean =>
  nextStage.kind === 'loader' && nextStage.starts === 'grub';

function ipxe(input: StageInput): ExplainedStage {
  const { nextStage } = input.atIpxe;
  if (startsGrub(input) || nextStage.kind !== 'script') {
    return notReached('ipxe', input.atFirmware.nextStage.because);
  }
  return {
    stage: 'ipxe',
    reached: true,
    asks: 'DHCP again, now as iPXE (option 175, user class iPXE)',
    answer: 'the URL of the script',
    url: url(input, nextStage.path),
    because: nextStage.because,
  };
}

function script(input: StageInput): ExplainedStage {
  const { outcome, because } = input.atScript;
  const path = machineScriptPath(input.mac);
  const common = { stage: 'script', reached: true, answer: scriptAnswer(outcome), because } as const;
  if (startsGrub(input)) return { ...common, asks: 'GRUB reads its configuration' };
  return { ...common, asks: `HTTP GET ${path} with UUID, serial and architecture`, url: url(input, path) };
}

function scriptAnswer(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'silent':
      return 'nothing';
    case 'local-disk':
      return 'instructions to boot from the local disk';
    case 'hold':
      return `503 with Retry-After until an operator accepts it: ${outcome.whatToDo}`;
    case 'refusal':
      return `a refusal on its screen, with what to do: ${outcome.whatToDo}`;
    case 'service-os':
      return `instructions to start the service OS (${outcome.mode})`;
    case 'installer':
      return `instructions to start the installer of profile ${outcome.profile}`;
  }
}

function afterScript(input: StageInput): ExplainedStage[] {
  const { outcome, because } = input.atScript;
  if (outcome.kind === 'service-os' || outcome.kind === 'installer') {
    const after = outcome.kind === 'installer' ? firstBoot(because) : notReached('first-boot', because);
    return [kernel(input, outcome), session(outcome, because), after];
  }
  const enrollment = input.machine === null ? 'none' : STATES[input.machine.lifecycle.state].enrollment;
  const enrolls = outcome.kind === 'local-disk' && (enrollment === 'awaited' || enrollment === 'done');
  return [
    notReached('kernel', because),
    notReached('service-os', because),
    enrolls ? firstBoot(because) : notReached('first-boot', because),
  ];
}

type RunsOurCode = Extract<Outcome, { kind: 'service-os' | 'installer' }>;

function kernel(input: StageInput, outcome: RunsOurCode): ExplainedStage {
  const { machine, architecture, profile, atScript } = input;
  const common = { stage: 'kernel', reached: true, because: atScript.because } as const;
  const cpu = machine?.spec.architecture ?? architecture.cpu ?? 'its architecture';
  if (outcome.kind === 'service-os') {
    return { ...common, asks: 'kernel and initrd', answer: `those of the service OS for ${cpu}` };
  }
  if (profile?.kind !== 'nixos') {
    return { ...common, asks: 'kernel and initrd', answer: `those that install ${outcome.profile} on ${cpu}` };
  }
  const path = `/boot/nixos/${outcome.profile}/bzImage`;
  return { ...common, asks: `HTTP GET ${path}`, answer: 'bzImage, then initrd beside it', url: url(input, path) };
}

const SESSION_ANSWER = {
  inspect: 'it reports its hardware; nothing is changed',
  commission: 'it reports its hardware and is tested',
  rescue: 'it opens SSH for the operator; nothing is changed',
} as const;

function session(outcome: RunsOurCode, because: Because): ExplainedStage {
  const common = { stage: 'service-os', reached: true, asks: 'its session, with a one-time token', because } as const;
  if (outcome.kind === 'installer') {
    return { ...common, answer: `it writes ${outcome.profile} to its disk, once, on intent ${outcome.intent}` };
  }
  if (outcome.mode === 'erase') return { ...common, answer: `it erases its disks, once, on intent ${outcome.intent}` };
  return { ...common, answer: SESSION_ANSWER[outcome.mode] };
}

const firstBoot = (because: Because): ExplainedStage => ({
  stage: 'first-boot',
  reached: true,
  asks: 'the installed system connects to the node API',
  answer: 'its certificate and its tasks',
  because,
});
