// Verbs that read about one node. Their work is loaded only when one runs.

import type { Command } from 'commander';

export function addNodeReads(program: Command, connected: (command: Command) => Command): void {
  connected(program.command('diagnose'))
    .summary('why is this node not where it should be?')
    .description('Reads what happened to a node, and names the most likely reason and what to do next.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./diagnose.ts')).diagnose(node, options));
  connected(program.command('sessions'))
    .summary('sessions of the service OS of a node')
    .description('Lists when the service OS of a node came up, what for, how far it came and how it ended.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./sessions.ts')).listSessions(node, options));
}
