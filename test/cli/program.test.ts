import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../appliance/cli/program.ts';
import { takesNode, verbOf } from '../../appliance/contract/operation.ts';
import { OPERATION_IDS, OPERATIONS } from '../../appliance/contract/operations.ts';

/** A screen shows one console or one terminal, a recording is one file, and a task belongs to one node. */
const ONE_NODE = ['console', 'terminal', 'record', 'task resume', 'task abandon'];

const verbs = [
  ...new Set(
    OPERATION_IDS.map((id) => OPERATIONS[id])
      .filter(takesNode)
      .map(verbOf),
  ),
].filter((verb): verb is string => verb !== null && !ONE_NODE.includes(verb));

const commandOf = (verb: string): Command =>
  verb
    .split(' ')
    .reduce<Command>(
      (parent, name) => parent.commands.find((each) => each.name() === name) ?? expect.fail(`no verb ${verb}`),
      buildProgram(),
    );

describe('a verb that takes nodes', () => {
  it.each([...verbs, 'trail'])('%s takes several, by name or selector', (verb) => {
    const command = commandOf(verb);
    const options = command.options.map(({ long }) => long);
    expect(options).toEqual(
      expect.arrayContaining(['--all', '--site', '--rack', '--label', '--cluster', '--in', '--match', '--dry-run']),
    );
    // `render` takes a node and its folder.
    if (verb !== 'render') expect(command.registeredArguments.at(-1)?.variadic).toBe(true);
  });
});
