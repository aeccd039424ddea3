// A machine's events told as a story: one boot attempt after the other, each exchange in a line a person can read.

import type { Json } from '../domain/event.ts';
import { shown } from '../domain/parsed.ts';

export interface StoryEvent {
  /** ISO 8601. */
  readonly at: string;
  readonly kind: string;
  readonly actor: string;
  /** The boot attempt, or the request that caused it. */
  readonly attempt: string | null;
  readonly data: Json;
}

type Data = { readonly [key: string]: Json };

/** What each kind of event says. A kind that is not here is told with its bare data. */
const SENTENCES: Readonly<Record<string, (data: Data) => string>> = {
  'dhcp.discover': (data) => `asks for an address as ${told(data, 'program')}${architecture(data)}${via(data)}`,
  'dhcp.offer': (data) => `is offered ${told(data, 'address')}${file(data)}`,
  'dhcp.request': (data) => `takes the offer as ${told(data, 'program')}`,
  'dhcp.ack': (data) =>
    `gets ${told(data, 'address')}${file(data)}${data.seconds ? ` for ${told(data, 'seconds')} s` : ''}`,
  'dhcp.nak': (data) => `is refused its address: ${told(data, 'because')}`,
  'dhcp.silent': (data) => `gets no answer: ${told(data, 'words')}`,
  'dhcp.decline': () => 'says that somebody else uses the address',
  'dhcp.release': () => 'gives its address back',
  'dhcp.inform': () => 'asks for settings only',
  'dhcp.conflict': (data) => `does not get ${told(data, 'address')}: somebody else uses it`,
  'dhcp.loop': (data) => `loads ${told(data, 'file')} over and over, ${told(data, 'times')} times by now`,
  'dhcp.rogue': (data) => `another DHCP server answers on this network: ${told(data, 'server')}`,
  'tftp.completed': (data) =>
    `has fetched ${told(data, 'file')} over TFTP (${told(data, 'bytes')} bytes, ${told(data, 'ms')} ms, ${told(data, 'resent')} resent)`,
  'tftp.probe': (data) => `has asked for the size of ${told(data, 'file')}`,
  'tftp.begun': (data) => `fetches ${told(data, 'file')} over TFTP (${told(data, 'size')} bytes)`,
  'tftp.error': (data) => `did not get ${told(data, 'file')} over TFTP: ${told(data, 'reason')}`,
  'tftp.malformed': (data) => `sent a request over TFTP that cannot be read: ${told(data, 'why')}`,
  'tftp.aborted': (data) => `broke off ${told(data, 'file')}: ${told(data, 'reason')}`,
  'tftp.timeout': (data) => `fell silent during ${told(data, 'file')} after ${told(data, 'blocks')} blocks`,
  'tftp.not-found': (data) => `asked over TFTP for ${told(data, 'file')}: ${told(data, 'why')}`,
  'tftp.refused': (data) => `may not fetch ${told(data, 'file')}: ${told(data, 'why')}`,
  'tftp.ignored': (data) => `gets no answer for ${told(data, 'file')}: ${told(data, 'why')}`,
  'boot.decided': (data) => `gets its configuration of GRUB: ${told(data, 'outcome')}, because ${told(data, 'words')}`,
  'http.entry': () => 'has fetched the script that all machines get',
  'http.menu': () => 'has fetched the menu, for somebody at its console',
  'http.probe': (data) => `has asked over HTTP whether ${told(data, 'path')} is there`,
  'http.script': (data) => `gets its script: ${told(data, 'outcome')}, because ${told(data, 'words')}`,
  'http.served': (data) =>
    `has ${data.complete === true ? 'fetched' : 'broken off'} ${told(data, 'asset')} over HTTP (${told(data, 'bytes')} of ${told(data, 'of')} bytes)`,
  'http.refused': (data) => `asked for ${told(data, 'path')}: ${told(data, 'why')}`,
  'boot.reported': (data) => `reports from ${told(data, 'stage')}: ${told(data, 'platform')}, ${told(data, 'message')}`,
  'bmc.recorded': (data) => `its BMC would be told ${told(data, 'action')}, but its site only records`,
  'bmc.skipped': (data) => `its BMC is left alone: ${told(data, 'reason')}${toDo(data)}`,
  'bmc.absent': (data) => `has no BMC that we know of${toDo(data)}`,
  'bmc.done': (data) => `its BMC did what it was told: ${wish(data)}`,
  'bmc.failed': (data) => `its BMC did not do what it was told, ${wish(data)}: ${told(data, 'reason')}`,
  'bmc.console-closed': (data) => `its console was left: ${told(data, 'because')}`,
  'bmc.boot-asked': (data) => told(data, 'words'),
  'bmc.boot-obeyed': (data) => told(data, 'words'),
  'bmc.boot-ignored': (data) => told(data, 'words'),
  'bmc.boot-refused': (data) => `its BMC refused: ${told(data, 'words')}`,
  'bmc.boot-lasting': (data) => told(data, 'words'),
  'bmc.boot-no-time': (data) => told(data, 'words'),
  'bmc.boot-undone': (data) => told(data, 'words'),
  'bmc.boot-not-undone': (data) => told(data, 'words'),
  'bmc.broken-off': (data) => `is no longer made to boot from the network: ${told(data, 'reason')}`,
  'intent.armed': (data) => `${work(data)} is armed${data.profile ? ` with ${told(data, 'profile')}` : ''}`,
  'intent.consumed': () => 'has begun what was armed for it: it is used up',
  'intent.revoked': () => 'what was armed for it is taken back',
  'session.opened': (data) => `its service OS has come up to ${told(data, 'mode')}, from ${told(data, 'address')}`,
  'session.reopened': () => 'it asked for its session again: it had not heard the answer',
  'session.refused': (data) => `somebody with its ticket or key was refused: ${told(data, 'reason')}`,
  'session.facts': (data) =>
    `has told what it consists of: ${told(data, 'product')}, ${told(data, 'threads')} threads, ${told(data, 'disks')} disks, ${told(data, 'nics')} cards`,
  'session.contradicted': (data) => `is not what was declared: ${contradicted(data)}`,
  'session.step': (data) =>
    `${told(data, 'step')} ${stepStatus(data)}${data.message ? `: ${told(data, 'message')}` : ''}`,
  'session.ended': (data) =>
    data.ok === true
      ? `its service OS is done: ${told(data, 'mode')}`
      : `its service OS has ended: ${told(data, 'mode')}, ${told(data, 'reason')}`,
  'node.discovered': (data) => `showed up by itself on ${told(data, 'network')}`,
  'rendering.delivered': (data) =>
    `was handed ${told(data, 'files')} rendered files, of revision ${told(data, 'inventory_revision')} of the inventory`,
  'enrollment.bundle_handed_over': (data) => `its bootstrap bundle was handed to ${told(data, 'handed_to')}`,
  'enrollment.enrolled': (data) => `is enrolled, with a certificate until ${told(data, 'not_after')}`,
  'enrollment.recovered': (data) => `is enrolled again, with a certificate until ${told(data, 'not_after')}`,
  'enrollment.renewed': (data) => `has renewed its certificate, until ${told(data, 'not_after')}`,
  'task.created': (data) => `task ${told(data, 'kind')} waits for it`,
  'task.begun': (data) => `has begun task ${told(data, 'kind')}`,
  'task.succeeded': (data) => `has done its task: ${shown(told(data, 'output'))}`,
  'task.failed': (data) => `has failed at its task: ${shown(told(data, 'output'))}`,
  'health.online': () => 'is heard from',
  'health.silent': () => 'has fallen silent',
  'trail.flood': (data) =>
    `went on: ${told(data, 'of')} another ${told(data, 'count')} times in ${told(data, 'seconds')} s, not told one by one`,
  'trail.gap': (data) =>
    `${told(data, 'lost')} notes${data.of ? ` about ${told(data, 'of')}` : ''} were not written down`,
  'boot.failed': (data) => `reports that its boot failed at ${told(data, 'stage')}, iPXE error ${told(data, 'errno')}`,
};

export function tellStory(events: readonly StoryEvent[]): string[] {
  const lines: string[] = [];
  let attempt: string | null | undefined;
  for (const event of events) {
    const boots = event.actor.startsWith('mac:');
    if (boots && event.attempt !== attempt) {
      lines.push(`${lines.length === 0 ? '' : '\n'}boot attempt ${event.attempt?.slice(0, 8) ?? 'unknown'}`);
      attempt = event.attempt;
    }
    lines.push(`  ${event.at.slice(0, 23).replace('T', ' ')}  ${event.kind.padEnd(18)}  ${sentence(event, boots)}`);
  }
  return lines.flatMap((line) => line.split('\n'));
}

/** One event in words, without when it was. */
export const tellEvent = (event: StoryEvent): string => sentence(event, event.actor.startsWith('mac:'));

function sentence({ kind, actor, data }: StoryEvent, boots: boolean): string {
  const known = SENTENCES[kind];
  const object: Data = isData(data) ? data : { data };
  if (known) return known(object);
  if (kind.startsWith('lifecycle.') && object.event !== undefined) return lifeSentence(kind, actor, object);
  return `${boots ? '' : `by ${actor}: `}${JSON.stringify(data)}`;
}

/** Who moved it, where to, and why it failed if it did. */
function lifeSentence(kind: string, actor: string, { event, after, reason }: Data): string {
  if (kind === 'lifecycle.unexpected') return `${event} by ${actor} is refused: ${reason}`;
  const failure = isData(after) && isData(after.failure) ? after.failure : null;
  const why = kind === 'lifecycle.failed' && failure ? `: ${told(failure, 'step')}, ${told(failure, 'reason')}` : '';
  return `is ${kind.slice('lifecycle.'.length)} now (${event} by ${actor})${why}`;
}

const isData = (value: Json | undefined): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function told(data: Data, key: string): string {
  const value = data[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : 'unknown';
}

const work = ({ kind }: Data): string => (kind === 'erase' ? 'its erasure' : 'its installation');

const stepStatus = ({ status, percent }: Data): string =>
  status === 'progress' && typeof percent === 'number'
    ? `${Math.floor(percent)} %`
    : told({ status: status ?? null }, 'status');

function contradicted({ contradictions }: Data): string {
  const each = Array.isArray(contradictions) ? (contradictions as readonly Data[]) : [];
  return each
    .map((one) => `${told(one, 'field')} is ${told(one, 'found')} instead of ${told(one, 'declared')}`)
    .join('; ');
}

/** What a BMC was told, by an effect of the machine's life or by a person. */
const wish = ({ effect, what, ...details }: Data): string =>
  typeof effect === 'string'
    ? effect
    : [what, ...WISH_DETAILS.flatMap((key) => (details[key] ? [details[key] === true ? key : details[key]] : []))].join(
        ' ',
      );
const WISH_DETAILS = ['action', 'device', 'firmware', 'persistent', 'light', 'steal'] as const;
const toDo = (data: Data): string => (typeof data.to_do === 'string' ? `; to do: ${data.to_do}` : '');

const architecture = (data: Data): string =>
  typeof data.architecture === 'number' ? `, architecture ${data.architecture}` : '';
const via = (data: Data): string => (typeof data.relay === 'string' ? `, through relay ${data.relay}` : '');
const file = (data: Data): string => (typeof data.file === 'string' ? ` and ${data.file}` : '');
