// The verbs of terminals on nodes.

import type { Command } from 'commander';

/** `connected`: adds the options that find the appliance. */
export function addTerminalCommands(program: Command, connected: (command: Command) => Command): void {
  connected(program.command('terminal'))
    .summary('open a shell on a node as the user of its allocation')
    .description(
      'Opens a shell on a node as the user of its allocation, over the connection that the node makes. At the beginning of\n' +
        'a line, ~. closes it and ~? lists the escapes. The exit status is that of the shell.',
    )
    .argument('<node>', 'host name, MAC address or id')
    .option('--allocation <id>', 'only if the node is held by this allocation')
    .addHelpText('after', '\nExamples:\n  coldiron terminal node01\n  echo id | coldiron terminal node01')
    .action(async (node, options) => (await import('./node-terminal.ts')).openTerminal(node, options));
  const terminals = program
    .command('terminals')
    .summary('list and close open terminals')
    .description('Lists and closes the terminals that are open on nodes.');
  connected(terminals.command('list'))
    .description('Lists the open terminals.')
    .option('--node <node>', 'only those on this node')
    .action(async (options) => (await import('./node-terminal.ts')).listTerminals(options));
  connected(terminals.command('close'))
    .description('Closes a terminal. Its user, whoever opened it, and admins may.')
    .argument('<terminal>', 'its id')
    .action(async (terminal, options) => (await import('./node-terminal.ts')).closeTerminal(terminal, options));
}
