// Values that must not reach any machine, even if its installer can quote them: they mean something else on the machine than
// in the inventory. All problems are reported at once, each with its field.

import { ColdironError } from '../../domain/errors.ts';
import { parseDomainName, parseHostname } from '../../domain/names.ts';
import { type Parsed, shown } from '../../domain/parsed.ts';
import { parseSshKeyLine } from '../../domain/ssh-key.ts';
import { unicodeProblem } from '../formats/plain-text.ts';
import type { NodePlan } from '../node-plan.ts';
import type { BootPart, FirstBootExtras } from './first-boot.ts';
import { linkProblems } from './link-problems.ts';

/** Throws with all problems, including those of this installer only. */
export function refuseProblems(plan: NodePlan, installer: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new ColdironError('invalid_inventory', `${plan.hostname} cannot be rendered for ${installer}`, problems);
}

export const planProblems = (plan: NodePlan, extras: FirstBootExtras): string[] => [
  ...nameProblems(plan),
  ...valueProblems(plan),
  ...plan.accounts.flatMap((account, index) => accountProblems(account, `accounts[${index}]`)),
  ...repeated(plan.accounts.map((account) => account.name)).map((name) => `accounts: ${shown(name)} is named twice`),
  ...linkProblems(plan),
  ...extrasProblems(plan, extras),
];

function nameProblems(plan: NodePlan): string[] {
  const domains = (place: string, name: string): string[] => problem(place, parseDomainName(name));
  return [
    ...problem('hostname', parseHostname(plan.hostname)),
    ...domains('fqdn', plan.fqdn),
    ...(plan.domain === null ? [] : domains('domain', plan.domain)),
    ...plan.searchDomains.flatMap((name, index) => domains(`searchDomains[${index}]`, name)),
  ];
}

const problem = (place: string, read: Parsed<unknown>): string[] => (read.ok ? [] : [`${place}: ${read.reason}`]);

const PATTERNS = {
  timeZone: [/^[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*$/, 'a time zone like Europe/Berlin'],
  locale: [/^[A-Za-z][A-Za-z0-9_.@-]*$/, 'a locale like en_US.UTF-8'],
  keyboard: [/^[A-Za-z][A-Za-z0-9_-]*$/, 'a keyboard layout like us'],
  ntpServers: [/^[A-Za-z0-9][A-Za-z0-9.:-]*$/, 'a host name or an address'],
  packages: [/^[A-Za-z0-9][A-Za-z0-9+._:~=-]*$/, 'the name of a package'],
  kernelParameters: [/^[^\s"'\\$`]+$/, 'one kernel parameter without spaces and quotes'],
} as const;

function valueProblems(plan: NodePlan): string[] {
  return (Object.keys(PATTERNS) as (keyof typeof PATTERNS)[]).flatMap((field) => {
    const [pattern, expected] = PATTERNS[field];
    const value = plan[field];
    const list = typeof value === 'string' ? [value] : value;
    return list.flatMap((one, index) => {
      const place = typeof value === 'string' ? field : `${field}[${index}]`;
      return isPrintable(one) && pattern.test(one) ? [] : [`${place} is not ${expected}: ${shown(one)}`];
    });
  });
}

const isPrintable = (text: string): boolean => /^[\x20-\x7e]+$/.test(text);

const ACCOUNT = /^[a-z_][a-z0-9_-]{0,31}$/;

function accountProblems(account: NodePlan['accounts'][number], place: string): string[] {
  const name =
    account.name === 'root'
      ? [`${place}.name: logging in as root is not allowed; name another account and make it an admin`]
      : ACCOUNT.test(account.name)
        ? takenProblems(account.name, place, TAKEN)
        : [`${place}.name is not a valid account name: ${shown(account.name)}`];
  const keys = account.sshKeys.flatMap((key, index) => {
    const read = parseSshKeyLine(key);
    if (read.ok && read.value.line === key) return [];
    return [`${place}.sshKeys[${index}]: ${read.ok ? 'the key has spaces around it' : read.reason}`];
  });
  return [...name, ...keys];
}

function extrasProblems(plan: NodePlan, extras: FirstBootExtras): string[] {
  const { siteBootstrap } = plan;
  const names = extras.nodeParts.map((part) => part.name);
  return [
    ...(INSTANCE.test(extras.instanceId) ? [] : [`instanceId is not valid: ${shown(extras.instanceId)}`]),
    ...(siteBootstrap === null ? [] : partProblems(siteBootstrap, 'siteBootstrap')),
    ...extras.nodeParts.flatMap((part, index) => partProblems(part, `nodeParts[${index}]`)),
    ...repeated(names).map((name) => `nodeParts: ${shown(name)} is named twice`),
    ...(names.length > MOST_PARTS ? [`nodeParts: at most ${MOST_PARTS} are allowed`] : []),
    ...(names.length > 0 && plan.enrollment !== 'first-boot'
      ? ['nodeParts: the node does not enroll at its first boot, so its boot files must not contain its token']
      : []),
  ];
}

const INSTANCE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const PART_WORD = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/;
/** Part numbers have two digits, so that they sort. */
const MOST_PARTS = 50;

function partProblems(part: BootPart, place: string): string[] {
  const words = (['name', 'version'] as const).flatMap((field) =>
    PART_WORD.test(part[field])
      ? []
      : [`${place}.${field} may only have letters, digits and . _ + -: ${shown(part[field])}`],
  );
  const unicode = unicodeProblem(part.script);
  return [
    ...words,
    ...(part.script.startsWith('#!') ? [] : [`${place}.script does not start with #!`]),
    ...(unicode === null ? [] : [`${place}.script ${unicode}`]),
  ];
}

/** URLs are used in commands, in curl configuration files, and in one-line answers. */
export const urlProblems = (url: string, place: string): string[] =>
  /^https?:\/\/[A-Za-z0-9._~:/?#[\]@!&()*+,;=%-]+$/.test(url)
    ? []
    : [`${place} is not an http or https address without spaces and quotes`];

/** Accounts that every distribution has: a key would go to the system account, into its home directory. */
const TAKEN =
  'daemon bin sys sync games man lp mail news uucp proxy www-data backup list irc gnats nobody sshd messagebus adm halt shutdown ftp dbus chrony polkitd systemd-network systemd-resolve systemd-timesync'.split(
    ' ',
  );

/** RHEL's operator has root's home directory. */
const TAKEN_BY_RED_HAT = ['operator'];

export const redHatProblems = (plan: NodePlan): string[] =>
  plan.accounts.flatMap(({ name }, index) => takenProblems(name, `accounts[${index}]`, TAKEN_BY_RED_HAT));

const takenProblems = (name: string, place: string, taken: readonly string[]): string[] =>
  taken.includes(name) ? [`${place}.name: the system already has an account ${name}; use another name`] : [];

const repeated = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) < index)),
];
