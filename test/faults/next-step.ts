// Carries out a next step as it is printed: runs its commands in their order. Alternatives ("If …", "To …") are left to people.

import type { OnboardingRig } from '../onboarding/rig.ts';

/** The words of each command, without `coldiron`. */
export function commandsOf(nextStep: string): readonly (readonly string[])[] {
  return nextStep
    .split(/(?<=\.) (?=[A-Z])/)
    .filter((sentence) => !/^(?:If|To) /.test(sentence))
    .flatMap((sentence) => sentence.split(/\bcoldiron /).slice(1))
    .map(wordsOf)
    .filter(isComplete);
}

const ARGUMENT = /^(?:--[a-z-]+|(?:node|unknown-)[\da-f]+|on|off|cycle|status|pxe|disk|setup|[\w-]*[./][\w./-]*)$/;
const OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set(['--state', '--profile', '--username', '--note']);
const GROUPS: ReadonlySet<string> = new Set(['assets', 'nodes', 'token', 'bmc', 'leases']);

/** Up to a bracket, a comma or the end of the sentence, or to a word that goes on in English. */
function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  for (const token of text.split(' ')) {
    const word = token.replace(/[),;:.]+$/, '');
    const isVerb = words.length === 0 || (words.length === 1 && GROUPS.has(words[0] ?? ''));
    if (!isVerb && !ARGUMENT.test(word) && !OPTIONS_WITH_VALUE.has(words.at(-1) ?? '')) break;
    words.push(word);
    if (word !== token) break;
  }
  return words;
}

/** Without a value that a person fills in, and without a terminal. */
const isComplete = (words: readonly string[]): boolean =>
  words.length > 0 &&
  !words.some((word) => /^[A-Z]+$/.test(word)) &&
  !(words[0] === 'console' && !words.includes('--last'));

/** Verbs that start the work of a machine, or the machine. */
const STARTS: ReadonlySet<string> = new Set(['commission', 'deploy', 'release', 'rescue']);
const CHANGES: ReadonlySet<string> = new Set([
  ...STARTS,
  'cancel',
  'end-rescue',
  'clear-quarantine',
  'power',
  'bootdev',
]);
const CONFIRMED: ReadonlySet<string> = new Set(['token reissue', 'nodes rebind']);

export interface CarriedOut {
  /** The work was started again, or the machine was switched on. */
  readonly started: boolean;
  /** A command that failed, with what it printed. */
  readonly problem: string | null;
}

export async function carryOut(rig: OnboardingRig, nextStep: string): Promise<CarriedOut> {
  let started = false;
  for (const words of commandsOf(nextStep)) {
    const [verb = '', second = ''] = words;
    const isConfirmed = (CHANGES.has(verb) && !words.includes('status')) || CONFIRMED.has(`${verb} ${second}`);
    const { status, stderr } = await rig.run(...withoutState(words), ...(isConfirmed ? ['--yes'] : []));
    if (status !== 0) return { started, problem: `coldiron ${words.join(' ')}: ${stderr.trim()}` };
    started ||= STARTS.has(verb) || (verb === 'power' && words.includes('on'));
  }
  return { started, problem: null };
}

/** The rig names its own state folder. */
const withoutState = (words: readonly string[]): readonly string[] =>
  words.filter((word, index) => word !== '--state' && words[index - 1] !== '--state');
