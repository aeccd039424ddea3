// The operation table against the CLI and against itself.

import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { buildProgram } from '../../appliance/cli/program.ts';
import { NODE_COMMANDS } from '../../appliance/contract/commands.ts';
import { errorsOf, pathsOf, takesNode, verbOf } from '../../appliance/contract/operation.ts';
import { OPERATION_IDS, OPERATIONS } from '../../appliance/contract/operations.ts';
import { WIRE, type Wire } from '../../appliance/contract/wire.ts';

const commands = (command: Command, path: string[] = []): [string, Command][] =>
  command.commands.length === 0
    ? [[path.join(' '), command]]
    : command.commands.flatMap((sub) => commands(sub, [...path, sub.name()]));
const program = new Map(commands(buildProgram()));
const optionsOf = (verb: string): string[] => (program.get(verb)?.options ?? []).map(({ long }) => long ?? '');

/** Verbs that work without an appliance, on this machine or on files. */
const LOCAL = /^(serve|check|completion|replay|assets .*|rack .*)$/;
const SELECTORS = ['--all', '--site', '--rack', '--label', '--cluster', '--in', '--match', '--dry-run', '--yes'];

describe('the operation table', () => {
  it('names existing CLI verbs, and covers every verb that connects to an appliance', () => {
    const named = new Set(OPERATION_IDS.flatMap((id) => verbOf(OPERATIONS[id]) ?? []));
    expect([...named].filter((verb) => !program.has(verb))).toEqual([]);
    const others = [...program.keys()].filter((verb) => !named.has(verb) && !LOCAL.test(verb));
    // `mcp` passes messages to tools, which are operations: test/mcp.
    expect(others).toEqual(['trail', 'token reissue', 'mcp']);
  });

  it('has a unique method and path for every operation', () => {
    const routes = OPERATION_IDS.flatMap((id) =>
      pathsOf(OPERATIONS[id]).map((path) => `${OPERATIONS[id].method} ${path}`),
    );
    expect(new Set(routes).size).toBe(routes.length);
  });

  it.each(OPERATION_IDS)(
    '%s writes if and only if its method is not GET, and declares the parameters of its path',
    (id) => {
      const { method, path, write } = OPERATIONS[id];
      expect(write !== null).toBe(method !== 'GET');
      const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
      const { params }: Wire = WIRE[id];
      expect(Object.keys((params as { properties?: object } | undefined)?.properties ?? {})).toEqual(names);
    },
  );

  it.each(OPERATION_IDS.filter((id) => OPERATIONS[id].write !== null))(
    '%s takes If-Match when it writes to a node, and confirm when it is destructive',
    (id) => {
      const { write } = OPERATIONS[id];
      expect(write?.precondition === 'node').toBe(takesNode(OPERATIONS[id]));
      const { body }: Wire = WIRE[id];
      const required = (body as { required?: string[] } | undefined)?.required ?? [];
      expect(required.includes('confirm')).toBe(write?.destroys !== null);
      expect(errorsOf(OPERATIONS[id])).toContain('outcome_unknown');
    },
  );

  it('stores no answer that contains a secret', () => {
    const secret = OPERATION_IDS.filter((id) => OPERATIONS[id].write?.secretAnswer);
    expect(secret.toSorted()).toEqual([
      'createRendering',
      'createSignInCode',
      'createToken',
      'issueBootstrapScript',
      'issueEnrollmentBundle',
      'reissueEnrollment',
      'signIn',
    ]);
  });
});

describe('verbs that take nodes', () => {
  const generated = Object.values(NODE_COMMANDS).map(({ cli }) => cli.verb);
  it.each([...generated, 'power', 'bootdev', 'identify', 'task run'])('%s takes every selector', (verb) => {
    expect(optionsOf(verb)).toEqual(expect.arrayContaining(SELECTORS));
  });

  it('render takes every selector too, with --at for the site', () => {
    const selectors = SELECTORS.filter((option) => option !== '--site');
    expect(optionsOf('render')).toEqual(expect.arrayContaining([...selectors, '--at']));
  });
});
