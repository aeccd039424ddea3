// GRUB configurations, for machines under Secure Boot: the same decision as the iPXE scripts. All files come by TFTP,
// because Debian's signed GRUB has no http module.

import { type ChassisUuid, parseChassisUuid } from '../../domain/chassis.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import type { Templates } from '../../render/templates.ts';
import type { BootServer } from '../boot-paths.ts';
import { type BootSubject, HOLD_SECONDS, READING_SECONDS, type ScriptLanguage, startedImage } from './boot-subject.ts';

/** A configuration that GRUB requests: the one for all machines, or that of one machine. */
export type GrubConfigName =
  | { readonly kind: 'entry' }
  | { readonly kind: 'machine'; readonly mac: Mac; readonly uuid: ChassisUuid | null };

/** What GRUB searches by itself: the file beside it, or one named after its MAC address, which some builds try first. */
const ENTRY = /^(?:grub\/)?grub\.cfg(?:-01-[0-9a-f]{2}(?:-[0-9a-f]{2}){5})?$/i;
/** What our entry chains to. GRUB inserts an empty string where it cannot read the UUID. */
const OF_ONE_MACHINE = /^grub\/machine\/([0-9a-f:]{17})_([0-9a-f-]*)\.cfg$/i;

/**
 * grub/grub.cfg, grub.cfg-01-52-54-00-12-34-56, grub/machine/52:54:00:12:34:56_<uuid>.cfg. GRUB's search opens each file once to
 * test that it exists, and sends no chassis UUID: it never gets anything that is issued once.
 */
export function parseGrubConfigName(name: string): GrubConfigName | null {
  const path = name.replaceAll('\\', '/').replace(/^\/+/, '');
  if (ENTRY.test(path)) return { kind: 'entry' };
  const [, card = '', chassis = ''] = OF_ONE_MACHINE.exec(path) ?? [];
  const mac = parseMac(card);
  if (!mac.ok) return null;
  const uuid = parseChassisUuid(chassis);
  return { kind: 'machine', mac: mac.value, uuid: uuid.ok ? uuid.value : null };
}

export const renderGrubEntry = (templates: Templates, server: BootServer): string =>
  templates.render('grub/grub', { root: root(server), remedy: remedyFor(server) });

function renderGrubConfig(templates: Templates, subject: BootSubject): string | null {
  const { outcome, because } = subject.decision;
  const shared = { who: whoIs(subject), why: because.words };
  switch (outcome.kind) {
    case 'silent':
      return null;
    case 'local-disk':
      return templates.render('grub/local-disk', shared);
    case 'refusal':
      return templates.render('grub/refusal', {
        ...shared,
        state: subject.machine?.lifecycle.state ?? 'not registered',
        whatToDo: outcome.whatToDo,
        code: because.id,
        seconds: READING_SECONDS,
      });
    case 'hold':
      return renderGrubHold(templates, subject, `${because.words}. ${outcome.whatToDo}`);
    case 'service-os':
      return start(templates, subject, { ...shared, what: `the service OS to ${outcome.mode}` });
    case 'installer':
      return start(templates, subject, { ...shared, what: `the installer of ${outcome.profile}` });
  }
}

const renderGrubHold = (templates: Templates, subject: BootSubject, why: string): string =>
  templates.render('grub/hold', { who: whoIs(subject), why, seconds: HOLD_SECONDS });

export const GRUB_CONFIGS: ScriptLanguage = { boot: renderGrubConfig, hold: renderGrubHold };

const whoIs = ({ machine, mac }: BootSubject): string =>
  [machine?.spec.hostname ?? null, mac].filter((name) => name !== null).join(' ');

const start = (templates: Templates, subject: BootSubject, values: object): string =>
  templates.render('grub/start', {
    ...values,
    remedy: `${remedyFor(subject.server)}, and the boot files with coldiron assets verify`,
    ...startedImage(subject, (path) => `${root(subject.server)}${path}`),
  });

/** What a person at the screen can do when a file does not arrive. */
const remedyFor = ({ address }: BootServer): string =>
  `check that TFTP passes between this network and ${address}: UDP port 69, and answers from other ports (VLAN, firewall, MTU)`;

const root = (server: BootServer): string => `(tftp,${server.address})`;
