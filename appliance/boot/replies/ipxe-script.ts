// The scripts that iPXE runs, rendered from the decision. None has a secret: every host on the network can fetch them.

import type { Profile } from '../../domain/catalogue.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Templates } from '../../render/templates.ts';
import {
  type BootServer,
  bootUrl,
  ENTRY_SCRIPT_PATH,
  MENU_SCRIPT_PATH,
  machineScriptPath,
  REPORT_PATH,
} from '../boot-paths.ts';
import { type BootSubject, HOLD_SECONDS, READING_SECONDS, type ScriptLanguage, startedImage } from './boot-subject.ts';

const MENU_SECONDS = 60;
/** More would not fit on a screen of 25 lines. */
const MENU_PROFILES = 12;

export function renderBootScript(templates: Templates, subject: BootSubject): string | null {
  const { decision, server } = subject;
  const { outcome, because } = decision;
  const boot = subject.session?.id ?? null;
  const name = subject.machine?.spec.hostname ?? null;
  const shared = { ...sharedValues(server, outcome.kind, name, boot), who: whoIs(subject), why: because.words };
  switch (outcome.kind) {
    case 'silent':
      return null;
    case 'local-disk':
      return templates.render('ipxe/local-disk', { ...shared, sanboot: startsDiskItself(subject.machine) });
    case 'refusal':
      return templates.render('ipxe/refusal', {
        ...shared,
        state: subject.machine?.lifecycle.state ?? 'not registered',
        whatToDo: outcome.whatToDo,
        code: because.id,
        menu: menuUrl(server, subject.mac),
        seconds: READING_SECONDS,
        milliseconds: READING_SECONDS * 1000,
      });
    case 'hold':
      return templates.render('ipxe/wait', { ...shared, whatToDo: outcome.whatToDo, own: ownScript(subject) });
    case 'service-os':
      return templates.render('ipxe/service-os', {
        ...shared,
        ...startedImage(subject, (path) => bootUrl(server, path)),
        mode: outcome.mode,
      });
    case 'installer':
      return templates.render('ipxe/installer', {
        ...shared,
        ...startedImage(subject, (path) => bootUrl(server, path)),
        profile: outcome.profile,
      });
  }
}

/** The same for every machine: it reads the machine's identity and requests its own script. */
export const renderEntryScript = (templates: Templates, server: BootServer): string =>
  templates.render('ipxe/boot', sharedValues(server, 'entry'));

const renderHoldScript = (templates: Templates, subject: BootSubject, why: string): string =>
  templates.render('ipxe/hold', {
    ...sharedValues(subject.server, 'hold'),
    who: whoIs(subject),
    why,
    entry: bootUrl(subject.server, ENTRY_SCRIPT_PATH),
    seconds: HOLD_SECONDS,
  });

export const IPXE_SCRIPTS: ScriptLanguage = { boot: renderBootScript, hold: renderHoldScript };

/** For an operator at the console. Nothing in it installs or erases: that needs an armed intent. */
export function renderMenuScript(
  templates: Templates,
  subject: Pick<BootSubject, 'machine' | 'mac' | 'server'>,
  profiles: readonly Pick<Profile, 'name' | 'description'>[],
): string {
  const { server, machine } = subject;
  return templates.render('ipxe/menu', {
    ...sharedValues(server, 'menu'),
    who: whoIs(subject),
    entry: bootUrl(server, ENTRY_SCRIPT_PATH),
    milliseconds: MENU_SECONDS * 1000,
    profiles: profiles.slice(0, MENU_PROFILES).map(({ name, description }) => ({
      name,
      line: description === '' ? name : `${name}: ${description}`,
      command: installCommand(machine, name),
    })),
  });
}

function installCommand(machine: Machine | null, profile: string): string {
  if (machine === null) return 'register the machine first';
  const { hostname } = machine.spec;
  if (machine.lifecycle.state === 'removed') return `${hostname} was removed: declare the machine again first`;
  return `coldiron deploy ${hostname} --profile ${profile}`;
}

const ownScript = ({ server, mac }: BootSubject): string =>
  bootUrl(server, mac === null ? ENTRY_SCRIPT_PATH : machineScriptPath(mac));

const sharedValues = (server: BootServer, stage: string, node: string | null = null, boot: string | null = null) => ({
  base: bootUrl(server, ''),
  report: bootUrl(server, REPORT_PATH),
  stage,
  boot,
  remedy: remedyFor(server, node, boot !== null),
});

/** What a person at the screen can do when a script fails. */
function remedyFor({ address, bootPort }: BootServer, node: string | null, startsImage: boolean): string {
  const reach = `check that TCP port ${bootPort} of ${address} is reachable from this network (VLAN, firewall, MTU)`;
  const files = startsImage ? ', and the boot files with coldiron assets verify' : '';
  const why = node === null ? '' : `; coldiron diagnose ${node} says more`;
  return `${reach}${files}${why}`;
}

function whoIs({ machine, mac }: Pick<BootSubject, 'machine' | 'mac'>): string {
  const card = mac ?? 'a machine without a known MAC address';
  return machine === null ? card : `${machine.spec.hostname} (${card})`;
}

const menuUrl = (server: BootServer, mac: Mac | null): string =>
  bootUrl(server, mac === null ? MENU_SCRIPT_PATH : `${MENU_SCRIPT_PATH}?mac=${mac}`);

/** Some BIOSes stop after a boot ROM that exits; with the label `local-boot: sanboot` iPXE starts the first disk. */
const startsDiskItself = (machine: Machine | null): boolean => machine?.spec.labels['local-boot'] === 'sanboot';
