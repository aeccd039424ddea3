// The class of a failure from what MAAS recorded: power events first, then how far the boot came, then the log of the installation.

import type { FailureClass } from '../../domain/onboarding.ts';
import type { ClassifiedFailure } from '../../onboarding/classify-failure.ts';
import type { Evidence, StoredMaasEvent, StoredResult } from './evidence.ts';
import { type MaasMachine, STATUS } from './maas-machine.ts';

const POWER =
  /unable to power control|failed to power (?:on|off|cycle)|check power credentials|power (?:on|off) (?:failed|timed out)/i;
const DATASOURCE = /no instance datasource|data ?source/i;
const TIMED_OUT = /timed out|time-?out|marking node failed/i;

/** Of the log of an installation, in order: the first that matches says what it is about. */
const LOG: readonly (readonly [FailureClass, RegExp])[] = [
  ['datasource', DATASOURCE],
  [
    'disk',
    /no space left|i\/o error|block-meta|block_meta|partition|wipefs|mkfs|sgdisk|sfdisk|mdadm|lvm|multipath|no such device|device or resource busy|disk/i,
  ],
  [
    'network',
    /temporary failure|could not (?:connect|resolve)|connection (?:timed out|refused|reset)|network is unreachable|unable to fetch|failed to fetch|urlopen|no route to host|\b50[234]\b/i,
  ],
  ['image', /squashfs|checksum|sha256|unsquash|tar: |gzip|xz:|not in gzip format|corrupt|grub-install|extract/i],
];

/** By the name of a script of MAAS. */
const SCRIPTS: readonly (readonly [FailureClass, RegExp])[] = [
  ['disk', /smart|badblocks|fio|disk|block|storage|7z/i],
  ['network', /internet|network|dns|gateway|link|lldp/i],
  ['bmc', /bmc|ipmi|redfish|power/i],
];

/** MAAS asks each BMC every few minutes: one that does not answer explains only what nothing else explains. */
const SILENT_BMC = /failed to query node's bmc/i;

/** Null: nothing says that it failed. */
export function classifiedByMaas(machine: MaasMachine, evidence: Evidence): ClassifiedFailure | null {
  const failure = classifiedByRecords(machine, evidence);
  if (failure?.class !== 'unknown' && failure?.class !== 'power') return failure;
  const silent = sinceStart(evidence.events).findLast(({ type }) => SILENT_BMC.test(type));
  return silent ? found('bmc', 'maas-bmc-silent', `MAAS: ${silent.type} - ${silent.description}`) : failure;
}

function classifiedByRecords(machine: MaasMachine, { events, results }: Evidence): ClassifiedFailure | null {
  const { status, statusName, statusMessage } = machine;
  const recent = sinceStart(events);
  const errors = recent.filter(({ level }) => /^(WARNING|ERROR|CRITICAL)$/i.test(level));
  const said = (one: StoredMaasEvent): string => [one.type, one.description].filter(Boolean).join(' - ');
  const power = recent.findLast((one) => POWER.test(said(one)));
  const reason = (words: string): string => `MAAS: ${words}`;
  if (power) return found('bmc', 'maas-power', reason(said(power)));
  if (POWER.test(statusMessage)) return found('bmc', 'maas-power', reason(statusMessage));
  const last = errors.at(-1);
  const words = last ? said(last) : statusMessage || statusName;
  if (status === STATUS.failedDiskErasing)
    return found('disk', 'maas-erase', reason(`the disks were not erased: ${words}`));
  if (status === STATUS.releasingFailed) return found('power', 'maas-release', reason(`it was not released: ${words}`));
  if (status === STATUS.failedCommissioning || status === STATUS.failedTesting) {
    return failedScripts(results, reason) ?? found(stoppedBoot(recent, 'unknown'), 'maas-commissioning', reason(words));
  }
  if (status === STATUS.failedDeployment) return failedDeployment(recent, results, words, reason);
  return null;
}

function failedDeployment(
  recent: readonly StoredMaasEvent[],
  results: readonly StoredResult[],
  words: string,
  reason: (words: string) => string,
): ClassifiedFailure {
  const log = results.findLast(({ set, script }) => set === 'installation' && /install/.test(script));
  const lines = log?.output.join('\n') ?? '';
  const isInstalled = (log !== undefined && !log.failed) || /curtin: Installation finished/.test(lines);
  const texts = recent.map(({ type, description }) => `${type} ${description}`);
  if (isInstalled || (log === undefined && texts.some((text) => /rebooting|disabled netboot/i.test(text)))) {
    const isLate = texts.some((text) => TIMED_OUT.test(text)) || TIMED_OUT.test(words);
    const how = isLate ? 'the installed system did not report in time' : words;
    return found(
      'datasource',
      'maas-no-report',
      reason(`it is installed, and ${how}: it found no data source, or does not reach MAAS from its network`),
    );
  }
  if (log?.failed) {
    const line = [...log.output].reverse().find((one) => /error|fail|unable|exception|cannot|could not/i.test(one));
    const about = LOG.find(([, pattern]) => pattern.test(lines))?.[0] ?? 'unknown';
    return found(about, 'maas-install-log', reason(`the installation failed: ${line ?? log.output.at(-1) ?? words}`));
  }
  if (texts.some((text) => DATASOURCE.test(text))) return found('datasource', 'maas-datasource', reason(words));
  return found(stoppedBoot(recent, 'image'), 'maas-deployment', reason(words));
}

/** A machine that never asked for an address is off or not cabled; one that stopped later did not get its files. */
function stoppedBoot(recent: readonly StoredMaasEvent[], later: FailureClass): FailureClass {
  const has = (pattern: RegExp): boolean => recent.some(({ type }) => pattern.test(type));
  if (!has(/pxe|tftp|http boot|loading ephemeral|gathering|installing|configuring|running/i)) return 'power';
  return has(/loading ephemeral|gathering|installing|configuring|running/i) ? later : 'network';
}

function failedScripts(results: readonly StoredResult[], reason: (words: string) => string): ClassifiedFailure | null {
  const failed = results.filter((one) => one.failed && one.set !== 'installation');
  const [first] = failed;
  if (first === undefined) return null;
  const about = SCRIPTS.find(([, pattern]) => failed.some(({ script }) => pattern.test(script)))?.[0] ?? 'unknown';
  const names = failed.map(({ script, status }) => `${script} (${status})`).join(', ');
  return found(about, 'maas-script', reason(`${names}${first.output.length > 0 ? `: ${first.output.at(-1)}` : ''}`));
}

/** The events of the newest work. */
function sinceStart(events: readonly StoredMaasEvent[]): readonly StoredMaasEvent[] {
  const start = events.findLastIndex(({ type }) => /^(commissioning|deploying)$/i.test(type));
  return start === -1 ? events : events.slice(start);
}

const found = (about: FailureClass, cause: string, reason: string): ClassifiedFailure => ({
  class: about,
  cause,
  reason,
});
