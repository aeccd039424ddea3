// Every command that a message tells an operator to run exists, with these options, and takes these arguments.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { BECAUSE } from '../../appliance/boot/because.ts';
import { buildProgram } from '../../appliance/cli/program.ts';
import { ERRORS } from '../../appliance/domain/errors.ts';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import { STATES } from '../../appliance/domain/states.ts';
import { leaveHint, verbThatEnds } from '../../appliance/machines/leave-hint.ts';
import { networkStart } from '../../appliance/machines/power-boot.ts';
import { CAUSES } from '../../appliance/trail/diagnose.ts';
import { FALLBACK_CAUSES } from '../../appliance/trail/diagnosis/causes/power-causes.ts';
import { aLife, aMachine, anIntent, T0 } from '../machines/machines.ts';

const APPLIANCE = join(import.meta.dirname, '../../appliance');

/** What is filled in where the text has a placeholder. */
const FILLED: Readonly<Record<string, string>> = {
  verb: 'deploy',
  machine: 'node01',
  node: 'node01',
  profile: 'worker',
  other: 'unknown-525400770099',
};
const filled = (text: string): string =>
  text
    .replace(/\{(\w+)\}/g, (_, name: string) => FILLED[name] ?? 'something')
    .replace(/\bROLE\b/g, 'viewer')
    .replace(/\b(?:NODE|NAME|FILE)\b/g, 'node01');

/** The verb that repeats the work is filled in by the finding: every one of them must work. */
const withAgain = (text: string): string =>
  text.includes('{verb}')
    ? [...REPEATED, ...(text.includes('{argument}') ? ['power'] : [])]
        .map((verb) => text.replaceAll('{verb}', verb).replaceAll('{argument}', verb === 'power' ? ' on' : ''))
        .join('\n')
    : text;
/** `coldiron check reports no problem`: the sentence goes on after the command. */
const commandAlone = (text: string): string =>
  text.replace(/ (?=(?:shows|says|reports|lists|answers|names|finds|no longer)\b)/g, ', ');
const REPEATED = ['commission', 'deploy', 'token reissue', 'drain', 'release'];

/** A command ends at a mark that no argument has: a quote, a comma, a bracket, the end of the sentence. */
const commandsIn = (text: string): string[][] =>
  [...filled(text).matchAll(/\bcoldiron ((?:[^`'",;:()…\n.]|\.(?=\S))+)/g)].map(([, words = '']) =>
    words.trim().split(/ +/),
  );

/** The real program, whose verbs do nothing but note that they were reached. */
function stubbed(): { program: Command; reached: () => Command | null } {
  const program = buildProgram();
  let last: Command | null = null;
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)];
  for (const command of every(program)) {
    command.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    if (command.commands.length === 0) {
      command.action(() => {
        last = command;
      });
    }
  }
  return { program, reached: () => last };
}

const TEXTS: readonly (readonly [where: string, text: string])[] = [
  ...LIFECYCLE_STATES.flatMap((state) => {
    const { nextStep, waitsFor, boots } = STATES[state];
    return [nextStep, waitsFor, 'hint' in boots ? boots.hint : ''].map((text) => [`state ${state}`, text] as const);
  }),
  ...LIFECYCLE_STATES.flatMap((state) => [
    ...(['retire', 'remove'] as const).map((event) => [`leave ${state}`, leaveHint(event, state, 'node01')] as const),
    [`cancel ${state}`, `coldiron ${verbThatEnds(state) ?? 'cancel'} node01`] as const,
    [
      `power ${state}`,
      networkStart(aMachine({ lifecycle: aLife(state), intent: anIntent({ consumedAt: T0 }) })) ?? '',
    ] as const,
  ]),
  ...Object.entries(BECAUSE).map(([id, { hint }]) => [`because ${id}`, hint] as const),
  ...Object.entries(ERRORS).map(([code, { hint }]) => [`error ${code}`, hint] as const),
  ...[...CAUSES, ...FALLBACK_CAUSES].flatMap(({ id, nextStep, verify = '' }) =>
    [withAgain(nextStep), commandAlone(verify)].map((text) => [`cause ${id}`, text] as const),
  ),
];
const HINTED = TEXTS.flatMap(([where, text]) =>
  commandsIn(text).map((words) => [where, words.join(' '), words] as const),
);

describe('a command in a hint', () => {
  it('is found in the texts', () => {
    expect(HINTED.length).toBeGreaterThan(40);
    expect(commandsIn('Read it (coldiron diagnose {node}), then `coldiron check` it.')).toEqual([
      ['diagnose', 'node01'],
      ['check'],
    ]);
  });

  it.each(HINTED)('of %s works as typed: coldiron %s', async (_, typed, words) => {
    const { program, reached } = stubbed();
    await expect(program.parseAsync(words, { from: 'user' }), typed).resolves.toBeDefined();
    const verb = reached();
    expect(verb, typed).not.toBeNull();
    const takesNodes = verb?.registeredArguments.some(({ variadic, required }) => variadic && !required);
    // Without a node, `diagnose` answers for the site.
    if (takesNodes && !words.includes('build') && typed !== 'diagnose')
      expect(verb?.args, `${typed} names a node`).not.toEqual([]);
  });
});

describe('a command in any text of the appliance', () => {
  const sources = readdirSync(APPLIANCE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  /** In a string or template, not in a comment: the verb, perhaps with its subcommand, and the options that follow. */
  const mentions = sources.flatMap((name) =>
    readFileSync(join(APPLIANCE, name), 'utf8')
      .split('\n')
      .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line) && /['"`]/.test(line))
      .flatMap((line) =>
        [...line.matchAll(/(?<![\w/.-])coldiron ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?([^'"`,;()]*)/g)].map(
          ([text, verb = '', second, rest = '']) => ({ name, text, verb, second, rest }),
        ),
      ),
  );
  const program = buildProgram();
  /** Salts of keys and marks in files; the examples of `token`, whose verb is filled in. The next steps of the diagnosis have their own tests. */
  const isProse = ({ name, text }: { name: string; text: string }): boolean =>
    /^coldiron (?:authority|boot|first|medium|session|vault)\b/.test(text) ||
    /^(?:lab|trail\/diagnosis)\//.test(name) ||
    name === 'cli/enrollment-commands.ts' ||
    // The subcommand is filled in.
    /^coldiron [a-z-]+ \$\{/.test(text);

  it('names a verb, a subcommand and options that exist', () => {
    const unknown = mentions.filter((mention) => {
      if (isProse(mention)) return false;
      const verb = program.commands.find((command) => command.name() === mention.verb);
      if (!verb) return true;
      const below =
        verb.commands.length === 0 ? verb : verb.commands.find((command) => command.name() === mention.second);
      if (!below) return true;
      const options = [...mention.rest.matchAll(/(?<= )--[a-z][a-z-]*/g)].map(([option]) => option);
      return options.some((option) => !below.options.some(({ long }) => long === option));
    });
    expect(unknown.map(({ name, text }) => `${name}: ${text}`)).toEqual([]);
    expect(mentions.length).toBeGreaterThan(60);
  });
});
