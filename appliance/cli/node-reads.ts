// Verbs that read about one node. The code of a verb is loaded only when it runs.

import type { Command } from 'commander';

export function addNodeReads(program: Command, connected: (command: Command) => Command): void {
  connected(program.command('diagnose'))
    .summary('find out why a node is stuck or has failed')
    .description('Reads the events of a node, and names the most likely cause and the next step.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./diagnose.ts')).diagnose(node, options));
  connected(program.command('sessions'))
    .summary('list the service OS sessions of a node')
    .description(
      'Lists the service OS sessions of a node: when each started, its mode, its last step and how it ended.',
    )
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./sessions.ts')).listSessions(node, options));
}
