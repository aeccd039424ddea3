// Cables: the switch port that an interface is declared at, the LLDP neighbour that its card heard, and whether they are the
// same. Switches name their ports in several ways: tolerant where only the notation differs, strict otherwise.

import type { Instant } from './instant.ts';
import type { Mac } from './mac.ts';

/** Declared: `name` is the switch's system name, or its chassis id where it has no name. */
export interface SwitchPort {
  readonly name: string;
  readonly port: string;
}

/** What a switch says of itself in an LLDP frame (IEEE 802.1AB). Anyone on the wire can send such a frame. */
export interface Neighbour {
  readonly chassis: string | null;
  readonly system: string | null;
  readonly port: string | null;
  readonly portDescription: string | null;
}

/** What a profile does about cables that are not as declared. */
export const CABLING_POLICIES = ['warn', 'require'] as const;
export type CablingPolicy = (typeof CABLING_POLICIES)[number];

export const CABLE_VERDICTS = ['as-declared', 'another-port', 'not-heard', 'not-declared'] as const;
export type CableVerdict = (typeof CABLE_VERDICTS)[number];

/** One interface of a node, as declared and as its machine reported it. */
export interface Cable {
  readonly name: string;
  readonly mac: Mac | null;
  readonly declared: SwitchPort | null;
  /** Null: no frame was heard. */
  readonly seen: Neighbour | null;
  readonly seenAt: Instant | null;
  /** Null: not reported. */
  readonly link: boolean | null;
}

/** Whose declaration names the port that another cable is plugged into. */
export interface PortOwner {
  readonly hostname: string;
  readonly name: string;
  /** Its own cable was last seen at the port that is declared for the other one. */
  readonly isSwapped: boolean;
}

export function cableVerdict({ declared, seen }: Pick<Cable, 'declared' | 'seen'>): CableVerdict {
  if (declared === null) return 'not-declared';
  if (seen === null) return 'not-heard';
  return isAt(seen, declared) ? 'as-declared' : 'another-port';
}

/** The neighbour is this port of this switch. */
export const isAt = (seen: Neighbour, { name, port }: SwitchPort): boolean =>
  isSwitch(seen, name) && isPort(seen, port);

/** Two declarations of one port, in any notation. */
export const isSamePort = (one: SwitchPort, other: SwitchPort): boolean =>
  sameSystem(one.name, other.name) && comparePorts(one.port, other.port) === 'same';

/** Ports that could be the same have the same key, and few others have it. */
export const portKey = ({ name, port }: SwitchPort): string =>
  `${firstLabel(plain(name))} ${portParts(port)?.numbers ?? plain(port)}`;

const isSwitch = ({ system, chassis }: Neighbour, declared: string): boolean =>
  (system !== null && sameSystem(system, declared)) || (chassis !== null && sameChassis(chassis, declared));

/** One of them may lack the domain: sw3 is sw3.dc1.example, but sw3.dc1.example is not sw3.dc2.example. */
function sameSystem(one: string, other: string): boolean {
  const [a, b] = [plain(one).replace(/\.$/, ''), plain(other).replace(/\.$/, '')];
  if (a === b) return a !== '';
  return (!a.includes('.') || !b.includes('.')) && firstLabel(a) === firstLabel(b);
}

/** Mostly a MAC address, with any separators. */
function sameChassis(one: string, other: string): boolean {
  const digits = (text: string): string => plain(text).replaceAll(/[:.-]/g, '');
  return plain(one) === plain(other) || (/^[0-9a-f]{12}$/.test(digits(one)) && digits(one) === digits(other));
}

/**
 * The port id decides where it is a name of the declared kind. Some switches send an index or a MAC address as the id, and the
 * name as the description. A description that an operator wrote does not count against the id.
 */
function isPort({ port, portDescription }: Neighbour, declared: string): boolean {
  const byId = port === null ? 'incomparable' : comparePorts(port, declared);
  if (byId !== 'incomparable') return byId === 'same';
  return portDescription !== null && comparePorts(portDescription, declared) === 'same';
}

type PortComparison = 'same' | 'another' | 'incomparable';

/** Eth1/12, eth 1/12 and Ethernet1/12 are one port. */
function comparePorts(one: string, other: string): PortComparison {
  if (plain(one) === plain(other)) return 'same';
  const [a, b] = [portParts(one), portParts(other)];
  if (a === null || b === null || !isAbbreviation(a.letters, b.letters)) return 'incomparable';
  if (a.numbers === b.numbers) return 'same';
  return a.numbers.split('/').length === b.numbers.split('/').length ? 'another' : 'incomparable';
}

const SHORTEST_ABBREVIATION = 2;

function isAbbreviation(one: string, other: string): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  return short === long || (short.length >= SHORTEST_ABBREVIATION && long.startsWith(short));
}

/** TenGigabitEthernet 1/0/12 → tengigabitethernet, 1/0/12. Null: a name of another form. */
function portParts(text: string): { readonly letters: string; readonly numbers: string } | null {
  const [, letters, numbers] = /^([a-z]+(?:-[a-z]+)*)?[ _-]*(\d+(?:[/.:]\d+)*)$/.exec(plain(text)) ?? [];
  return numbers === undefined ? null : { letters: (letters ?? '').replaceAll('-', ''), numbers };
}

const plain = (text: string): string => text.trim().toLowerCase();
const firstLabel = (text: string): string => text.split('.', 1)[0] ?? '';

export const portText = ({ name, port }: SwitchPort): string => `${name} ${port}`;

/** The names that a person finds on the switch. */
export function neighbourText({ system, chassis, port, portDescription }: Neighbour): string {
  const device = system ?? (chassis === null ? 'a switch without a name' : `chassis ${chassis}`);
  const described = portDescription !== null && portDescription !== port ? ` (${portDescription})` : '';
  return `${device} ${port ?? 'port without a name'}${described}`;
}

export const ownerText = ({ hostname, name, isSwapped }: PortOwner): string =>
  isSwapped ? `swapped with ${hostname} ${name}` : `the port of ${hostname} ${name}`;

/** The state of a cable, for people. */
export function cableText(cable: Cable, owner: PortOwner | null): string {
  const { seen } = cable;
  const whose = owner === null ? '' : `, ${ownerText(owner)}`;
  switch (cableVerdict(cable)) {
    case 'as-declared':
      return 'as declared';
    case 'another-port':
      return `at ${seen === null ? '?' : neighbourText(seen)}${whose}`;
    case 'not-declared':
      return seen === null ? 'no port is declared' : `no port is declared; at ${neighbourText(seen)}${whose}`;
    case 'not-heard':
      return notHeardText(cable);
  }
}

function notHeardText({ mac, link }: Cable): string {
  if (mac === null) return 'unknown: the interface has no MAC address';
  return link === false ? 'no link: check the cable' : 'no LLDP neighbour was heard';
}
