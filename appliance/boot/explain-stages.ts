// The stages of a boot from the firmware to the first boot: what is asked at each, what it gets, and why. A stage that
// this boot never comes to is told too, with the reason.

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

/** Everything the stages tell of. */
interface Telling {
  readonly mac: Mac;
  readonly machine: Machine | null;
  readonly architecture: ClientArchitecture;
  readonly profile: Profile | null;
  readonly server: BootServer | null;
  /** The decision at each stage that asks: its firmware and the iPXE we sent it by DHCP, then its script or configuration. */
  readonly atFirmware: BootDecision;
  readonly atIpxe: BootDecision;
  readonly atScript: BootDecision;
}

export function explainStages(telling: Telling): ExplainedStage[] {
  const { nextStage } = telling.atFirmware;
  if (nextStage.kind === 'nothing') {
    return [firmware(telling), ...LATER_STAGES.map((stage) => notReached(stage, nextStage.because))];
  }
  return [firmware(telling), loader(telling), ipxe(telling), script(telling), ...afterScript(telling)];
}

const LATER_STAGES = ['loader', 'ipxe', 'script', 'kernel', 'service-os', 'first-boot'] as const;

const notReached = (stage: ExplainedStage['stage'], reason: Because): ExplainedStage => ({
  stage,
  reached: false,
  asks: 'nothing',
  answer: `not reached: ${reason.words}`,
  because: reason,
});

const url = (telling: Telling, path: string): string =>
  telling.server === null ? path : bootUrl(telling.server, path);

function firmware(telling: Telling): ExplainedStage {
  const { nextStage } = telling.atFirmware;
  const { code, name, transport } = telling.architecture;
  const vendorClass = transport === 'http' ? 'HTTPClient' : 'PXEClient';
  const stage = 'firmware';
  const asks = `DHCP DISCOVER as ${vendorClass}, option 93 = ${code} (${name})`;
  const said = { stage, reached: true, asks, because: nextStage.because } as const;
  if (nextStage.kind !== 'loader') return { ...said, answer: 'no boot file' };
  const { file } = nextStage;
  if (nextStage.transport === 'tftp') return { ...said, answer: `boot file ${file} over TFTP`, file };
  return { ...said, answer: `boot file ${file} over HTTP`, file, url: url(telling, loaderPath(file)) };
}

function loader(telling: Telling): ExplainedStage {
  const { nextStage } = telling.atFirmware;
  if (nextStage.kind !== 'loader') return notReached('loader', nextStage.because);
  const { file, because } = nextStage;
  const said = { stage: 'loader', reached: true, answer: `${file}, from the manifest`, file, because } as const;
  if (nextStage.transport === 'tftp') return { ...said, asks: `TFTP read request for ${file}` };
  return { ...said, asks: `HTTP GET ${loaderPath(file)}`, url: url(telling, loaderPath(file)) };
}

const startsGrub = ({ atFirmware: { nextStage } }: Telling): boolean =>
  nextStage.kind === 'loader' && nextStage.starts === 'grub';

function ipxe(telling: Telling): ExplainedStage {
  const { nextStage } = telling.atIpxe;
  if (startsGrub(telling) || nextStage.kind !== 'script') {
    return notReached('ipxe', telling.atFirmware.nextStage.because);
  }
  return {
    stage: 'ipxe',
    reached: true,
    asks: 'DHCP again, now as iPXE (option 175, user class iPXE)',
    answer: 'the URL of the script',
    url: url(telling, nextStage.path),
    because: nextStage.because,
  };
}

function script(telling: Telling): ExplainedStage {
  const { outcome, because } = telling.atScript;
  const path = machineScriptPath(telling.mac);
  const said = { stage: 'script', reached: true, answer: scriptAnswer(outcome), because } as const;
  if (startsGrub(telling)) return { ...said, asks: 'GRUB reads its configuration' };
  return { ...said, asks: `HTTP GET ${path} with UUID, serial and architecture`, url: url(telling, path) };
}

function scriptAnswer(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'silent':
      return 'nothing';
    case 'local-disk':
      return 'instructions to go on to the local disk';
    case 'hold':
      return `503 with Retry-After until somebody accepts it: ${outcome.whatToDo}`;
    case 'refusal':
      return `a refusal on its screen, with what to do: ${outcome.whatToDo}`;
    case 'service-os':
      return `instructions to start the service OS (${outcome.mode})`;
    case 'installer':
      return `instructions to start the installer of profile ${outcome.profile}`;
  }
}

function afterScript(telling: Telling): ExplainedStage[] {
  const { outcome, because } = telling.atScript;
  if (outcome.kind === 'service-os' || outcome.kind === 'installer') {
    const after = outcome.kind === 'installer' ? firstBoot(because) : notReached('first-boot', because);
    return [kernel(telling, outcome), session(outcome, because), after];
  }
  const enrollment = telling.machine === null ? 'none' : STATES[telling.machine.lifecycle.state].enrollment;
  const enrolls = outcome.kind === 'local-disk' && (enrollment === 'awaited' || enrollment === 'done');
  return [
    notReached('kernel', because),
    notReached('service-os', because),
    enrolls ? firstBoot(because) : notReached('first-boot', because),
  ];
}

type RunsOurCode = Extract<Outcome, { kind: 'service-os' | 'installer' }>;

function kernel(telling: Telling, outcome: RunsOurCode): ExplainedStage {
  const { machine, architecture, profile, atScript } = telling;
  const said = { stage: 'kernel', reached: true, because: atScript.because } as const;
  const cpu = machine?.spec.architecture ?? architecture.cpu ?? 'its architecture';
  if (outcome.kind === 'service-os') {
    return { ...said, asks: 'kernel and initrd', answer: `those of the service OS for ${cpu}` };
  }
  if (profile?.kind !== 'nixos') {
    return { ...said, asks: 'kernel and initrd', answer: `those that install ${outcome.profile} on ${cpu}` };
  }
  const path = `/boot/nixos/${outcome.profile}/bzImage`;
  return { ...said, asks: `HTTP GET ${path}`, answer: 'bzImage, then initrd beside it', url: url(telling, path) };
}

const SESSION_ANSWER = {
  inspect: 'it reports its hardware; nothing is changed',
  commission: 'it reports its hardware and is tested',
  rescue: 'it opens SSH for the operator; nothing is changed',
} as const;

function session(outcome: RunsOurCode, because: Because): ExplainedStage {
  const said = { stage: 'service-os', reached: true, asks: 'its session, with a one-time token', because } as const;
  if (outcome.kind === 'installer') {
    return { ...said, answer: `it writes ${outcome.profile} to its disk, once, on intent ${outcome.intent}` };
  }
  if (outcome.mode === 'erase') return { ...said, answer: `it erases its disks, once, on intent ${outcome.intent}` };
  return { ...said, answer: SESSION_ANSWER[outcome.mode] };
}

const firstBoot = (because: Because): ExplainedStage => ({
  stage: 'first-boot',
  reached: true,
  asks: 'the installed system calls the node API',
  answer: 'its certificate and its tasks',
  because,
});
