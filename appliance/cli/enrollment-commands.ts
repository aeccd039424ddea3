// The verbs of enrollment: bundles, authorities, tasks.

import type { Command } from 'commander';
import { TASK_KIND_NAMES } from '../domain/task.ts';
import { ROLES } from '../domain/token.ts';
import { selecting } from './selection-options.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

export function addEnrollmentCommands(program: Command, connected: (command: Command) => Command): void {
  const token = program
    .command('token')
    .summary('hand over the bootstrap bundle of a node')
    .description('The bundle that a node enrolls with. It holds a token that works once, for that node, for a day.');
  for (const [verb, means] of [
    ['issue', 'Hands over the bundle of a node, once.'],
    ['reissue', 'Takes back the bundle that was handed over before, and hands over another.'],
  ] as const) {
    connected(token.command(verb))
      .description(`${means} It is written to a file that only you can read.`)
      .argument('<node>', 'host name, MAC address or id')
      .option('-o, --output <file>', 'where to (default: ./install-node-agent-<node>.sh)')
      .option('--format <format>', 'script, env or json', 'script')
      .option('--show', 'print it instead, token and all')
      .addHelpText(
        'after',
        `\nExample:\n  coldiron token ${verb} node01 && scp install-node-agent-node01.sh root@node01:`,
      )
      .action(async (node, options) => (await import('./token.ts')).handOver(node, verb === 'reissue', options));
  }

  const apiToken = program
    .command('api-token')
    .summary('tokens of people and programs that call the API')
    .description('Tokens of the management API. For the bundle that a node enrolls with, see: coldiron token');
  connected(apiToken.command('list'))
    .description('Lists tokens, without their secrets.')
    .action(async (options) => (await import('./api-token.ts')).listApiTokens(options));
  connected(apiToken.command('create'))
    .description(
      'Makes a token and prints its text once; with --output it is written to a file that only you can read.',
    )
    .argument('<name>', 'what the audit calls its holder')
    .requiredOption('--role <role>', ROLES.join(', '))
    .option('--expires-in-hours <n>', 'how long it works (default: for ever)')
    .option('-o, --output <file>', 'where to write it')
    .action(async (name, options) => (await import('./api-token.ts')).createApiToken(name, options));
  connected(apiToken.command('revoke'))
    .description('Revokes a token, at once and permanently.')
    .argument('<token>', 'its id or name')
    .action(async (token, options) => (await import('./api-token.ts')).revokeApiToken(token, options));

  const ca = program
    .command('ca')
    .summary('the certificate authority of this appliance')
    .description('The authority that nodes and the node API trust, and how one takes the place of another.');
  connected(ca.command('show'))
    .description('Shows the authorities, who still holds a certificate of the one that goes out, and what ends soon.')
    .action(async (options) => (await import('./ca.ts')).showAuthorities(options));
  connected(ca.command('rotate'))
    .description('Lets a new authority sign. The one before stays trusted until `ca retire`: nobody is cut off.')
    .option('--stage-only', 'only let nodes hear of it; the next `ca rotate` lets it sign')
    .action(async (options) => (await import('./ca.ts')).rotateAuthority(options));
  connected(ca.command('retire'))
    .description('Trusts the authority before no longer. Refused while a node would be cut off; they are named.')
    .option('--force', 'cut them off: for a key that somebody else may have')
    .option('--yes', 'with --force: do not ask for the fingerprint to be typed out')
    .action(async (options) => (await import('./ca.ts')).retireAuthority(options));
  connected(ca.command('rotate-task-key'))
    .description('Stages the next key that tasks are signed with; once more, a minute later, lets it sign.')
    .action(async (options) => (await import('./ca.ts')).rotateTaskKey(options));

  const task = program
    .command('task')
    .summary('tell an enrolled node to do something')
    .description('Tasks are signed, and come from a closed list.');
  selecting(connected(task.command('run')))
    .description(`Gives nodes a task. The last word is its kind:\n${TASK_KIND_NAMES.join(', ')}.`)
    .argument('<words...>', 'nodes by host name, MAC address or id, then the kind of task')
    .option('--set <name=value>', 'a parameter (may be repeated)', collect)
    .option('--wait', 'until it is over, and tell what came of it')
    .addHelpText('after', '\nExample:\n  coldiron task run node01 run-diagnostics --set level=full --wait')
    .action(async (words, options) => (await import('./task.ts')).runTask(words, options));
  connected(task.command('list'))
    .description('Lists the tasks of a node, the newest first.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./task.ts')).listTasks(node, options));
}
