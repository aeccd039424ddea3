import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../appliance/cli/program.ts';
import { SECOND } from '../../appliance/domain/instant.ts';
import { CAUSES, diagnose } from '../../appliance/trail/diagnose.ts';
import { FALLBACK_CAUSES } from '../../appliance/trail/diagnosis/causes/power-causes.ts';
import { type DiagnosedMachine, siteProblems } from '../../appliance/trail/diagnosis/site.ts';
import { eventsOf, inputOf, type Observed, type Subject, sessionWith, T0 } from './observed.ts';

const BOOTED: readonly Observed[] = [
  [0, 'lifecycle.commissioning'],
  [5, 'dhcp.discover', { program: 'firmware-pxe', network: 'boot' }],
  [5, 'dhcp.offer', { address: '10.0.100.50' }],
];

const causesOf = (observed: readonly Observed[], subject: Subject) =>
  diagnose(inputOf(eventsOf(observed), { state: 'commissioning', ...subject })).causes;

describe('the ranking of causes', () => {
  it('puts the cause that names the thing at fault before the symptom, and keeps the symptom as an alternative', () => {
    const bmc = { power: 'off' as const, problem: null, log: [] };
    const session = sessionWith({ mode: 'erase', openedAt: T0 + 30 * SECOND, heardAt: T0 + 40 * SECOND });
    const ids = causesOf([[0, 'lifecycle.commissioning']], { minutes: 6, session, facts: { bmc } }).map(({ id }) => id);
    expect(ids).toEqual(['powered-off', 'session-silent']);
  });

  it('puts a cause that does not explain the stage last, and says so', () => {
    const bmc = { power: 'unknown' as const, problem: 'no answer', log: [] };
    const causes = causesOf(BOOTED, { minutes: 2, facts: { bmc } });
    expect(causes.map(({ id, explains }) => [id, explains])).toEqual([
      ['no-request', true],
      ['bmc-unreachable', false],
    ]);
  });

  it('never blames Secure Boot for a loader that was not fetched completely', () => {
    const broken: readonly Observed[] = [
      ...BOOTED,
      [6, 'dhcp.request', { program: 'firmware-pxe' }],
      [6, 'dhcp.ack', { address: '10.0.100.50' }],
      [30, 'http.served', { asset: 'loader/snponly.efi', bytes: 78_585, of: 173_792, complete: false }],
    ];
    const ids = causesOf(broken, { minutes: 2 }).map(({ id }) => id);
    expect(ids).toContain('loader-not-fetched');
    expect(ids).not.toContain('loader-rejected');
  });
});

describe('every cause', () => {
  it.each([...CAUSES, ...FALLBACK_CAUSES])('$id has its own id, evidence in words and one sentence each', (cause) => {
    expect(cause.id).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(cause.looksFor).toMatch(/^[^.]+$/);
    expect([...CAUSES, ...FALLBACK_CAUSES].filter(({ id }) => id === cause.id)).toHaveLength(1);
    expect(cause.nextStep).toMatch(/[.}]$|(?:coldiron|journalctl) [A-Za-z{} -]+$/);
  });
});

/** `coldiron VERB [SUBCOMMAND] … [--option]`, as a template names it. */
const commandsIn = (text: string) =>
  [...text.matchAll(/coldiron ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?([^:;,.()]*)/g)].map(([whole, verb, second, rest]) => ({
    whole,
    verb,
    second,
    options: [...(rest ?? '').matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option),
  }));

describe('the commands in next steps and verifications', () => {
  const program = buildProgram();
  const mentions = [...CAUSES, ...FALLBACK_CAUSES].flatMap(({ id, nextStep, verify = '' }) =>
    commandsIn(`${nextStep} ${verify}`).map((command) => ({ id, ...command })),
  );

  it('exist, with their options', () => {
    const unknown = mentions.filter(({ verb, second, options }) => {
      const command = program.commands.find((one) => one.name() === verb);
      const below = command?.commands.length ? command.commands.find((one) => one.name() === second) : command;
      return !below || options.some((option) => !below.options.some(({ long }) => long === option));
    });
    expect(unknown.map(({ id, whole }) => `${id}: ${whole}`)).toEqual([]);
    expect(mentions.length).toBeGreaterThan(50);
  });

  it('name the node wherever the verb is about one', () => {
    const NODE_VERBS = new Set(['trail', 'explain', 'sel', 'console', 'power', 'sessions', 'commission', 'cancel']);
    const nameless = mentions.filter(
      ({ verb, whole }) => NODE_VERBS.has(verb ?? '') && !/\{node\}|\{other\}/.test(whole),
    );
    expect(nameless.map(({ id, whole }) => `${id}: ${whole}`)).toEqual([]);
  });
});

describe('the problems of a site', () => {
  const machine = (name: string, traits: readonly string[], observed = BOOTED): DiagnosedMachine => ({
    name,
    traits,
    since: T0,
    diagnosis: diagnose({ ...inputOf(eventsOf(observed), { state: 'commissioning', minutes: 2 }), hostname: name }),
  });

  it('are grouped by cause, most affected first, with what only the affected machines have in common', () => {
    const rack = ['rack R12', 'network boot', 'switch sw3'];
    const fine = machine('node09', ['rack R13', 'network boot', 'switch sw4'], [[100, 'lifecycle.commissioning']]);
    const problems = siteProblems([
      machine('node05', ['rack R13', 'network boot', 'switch sw4'], [...BOOTED, [7, 'dhcp.decline']]),
      ...['node01', 'node02', 'node03'].map((name) => machine(name, rack)),
      fine,
    ]);
    expect(problems.map(({ id, nodes }) => [id, nodes])).toEqual([
      ['no-request', ['node01', 'node02', 'node03']],
      ['address-in-use', ['node05']],
    ]);
    expect(problems[0]?.common).toEqual(['rack R12', 'switch sw3', 'network boot']);
    expect(problems[0]?.summary).toBe(
      '3 machines in rack R12 wait for an address by DHCP; common to all: switch sw3, network boot. For example: node01 sends DHCP requests that arrive here, but our offers do not reach it, or it takes another one',
    );
    expect(problems[1]?.summary).toBe('another machine uses the address of node05');
  });
});
