// The verbs of enrollment: bundles, authorities, tasks.

import type { Command } from 'commander';
import { OPERATOR_TASK_KINDS } from '../domain/task.ts';
import { ROLES } from '../domain/token.ts';
import { NODES, selecting, selectingToRead } from './selection-options.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

export function addEnrollmentCommands(program: Command, connected: (command: Command) => Command): void {
  const token = program
    .command('token')
    .summary('issue the bootstrap bundles of nodes')
    .description(
      'The bundle that a node enrolls with. It contains a token for that node, which works once and expires after a day.',
    );
  for (const [verb, means] of [
    ['issue', 'Issues the bundle of a node, once.'],
    ['reissue', 'Revokes the bundle that was issued before, and issues a new one.'],
  ] as const) {
    selecting(connected(token.command(verb)))
      .description(`${means} It is written to a file that only you can read.`)
      .argument(...NODES)
      .option(
        '-o, --output <file>',
        'the file to write (default: ./install-node-agent-<node>.sh); for several nodes, their folder',
      )
      .option('--format <format>', 'script, env or json', 'script')
      .option('--show', 'print the bundle with its token instead of writing a file')
      .addHelpText(
        'after',
        `\nExample:\n  coldiron token ${verb} node01 && scp install-node-agent-node01.sh root@node01:`,
      )
      .action(async (nodes, options) => (await import('./token.ts')).issueBundles(nodes, verb === 'reissue', options));
  }

  const apiToken = program
    .command('api-token')
    .summary('tokens of people and programs that call the API')
    .description('Tokens of the management API. For the bundle that a node enrolls with, see: coldiron token');
  connected(apiToken.command('list'))
    .description('Lists tokens, without their secrets.')
    .action(async (options) => (await import('./api-token.ts')).listApiTokens(options));
  connected(apiToken.command('create'))
    .description('Creates a token and prints its secret once; --output writes it to a file that only you can read.')
    .argument('<name>', 'the name of its holder in the audit log')
    .requiredOption('--role <role>', ROLES.join(', '))
    .option('--expires-in-hours <n>', 'when it expires (default: never)')
    .option('-o, --output <file>', 'the file to write')
    .action(async (name, options) => (await import('./api-token.ts')).createApiToken(name, options));
  connected(apiToken.command('revoke'))
    .description('Revokes a token, at once and permanently.')
    .argument('<token>', 'its id or name')
    .action(async (token, options) => (await import('./api-token.ts')).revokeApiToken(token, options));

  const ca = program
    .command('ca')
    .summary('the certificate authority of this appliance')
    .description('The certificate authority (CA) that nodes and the node API trust, and its rotation.');
  connected(ca.command('show'))
    .description(
      'Shows the authorities, who still holds a certificate of the outgoing one, and which certificates expire soon.',
    )
    .option(
      '--pem',
      'print the certificates of all trusted authorities, as a file for programs that verify the appliance',
    )
    .action(async (options) => (await import('./ca.ts')).showAuthorities(options));
  connected(ca.command('rotate'))
    .description(
      'Lets a new authority sign. The previous one stays trusted until `ca retire`, so no node loses access.',
    )
    .option('--stage-only', 'only publish it to the nodes; the next `ca rotate` lets it sign')
    .action(async (options) => (await import('./ca.ts')).rotateAuthority(options));
  connected(ca.command('retire'))
    .description(
      'Stops trusting the previous authority. Refused while a node would lose access; the error names those nodes.',
    )
    .option('--force', 'retire it although nodes lose access: for a compromised key')
    .option('--yes', 'with --force: do not ask for the fingerprint to be typed out')
    .action(async (options) => (await import('./ca.ts')).retireAuthority(options));
  connected(ca.command('rotate-task-key'))
    .description('Stages the next signing key of tasks; run it again a minute later to let the key sign.')
    .action(async (options) => (await import('./ca.ts')).rotateTaskKey(options));

  const task = program
    .command('task')
    .summary('run a task on enrolled nodes')
    .description('Tasks are signed; their kinds are a fixed list.');
  selecting(connected(task.command('run')))
    .description(`Gives nodes a task. The last word is its kind:\n${OPERATOR_TASK_KINDS.join(', ')}.`)
    .argument('<words...>', 'nodes by host name, MAC address or id, then the kind of task')
    .option('--set <name=value>', 'a parameter (may be repeated)', collect)
    .option('--wait', 'wait until the task is done, and show the result')
    .addHelpText('after', '\nExample:\n  coldiron task run node01 run-diagnostics --set level=full --wait')
    .action(async (words, options) => (await import('./task.ts')).runTask(words, options));
  for (const [verb, means] of [
    ['resume', 'Runs a task again whose result was never reported. Only you can know that this is safe.'],
    ['abandon', 'Gives up a task that runs, or whose result was never reported.'],
  ] as const) {
    connected(task.command(verb))
      .description(means)
      .argument('<node>', 'host name, MAC address or id')
      .argument('<task>', 'its id, as `task list --json` shows it')
      .requiredOption('--reason <text>', 'why, for the audit log')
      .action(async (node, id, options) => (await import('./task.ts')).closeTask(verb, node, id, options));
  }
  selectingToRead(connected(task.command('list')))
    .description('Lists the tasks of nodes, the newest first.')
    .argument(...NODES)
    .action(async (nodes, options) => (await import('./task.ts')).listTasks(nodes, options));
}
