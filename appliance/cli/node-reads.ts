// Verbs that read about nodes. The code of a verb is loaded only when it runs.

import type { Command } from 'commander';
import { NODES, selectingToRead } from './selection-options.ts';

export function addNodeReads(program: Command, connected: (command: Command) => Command): void {
  selectingToRead(connected(program.command('diagnose')))
    .summary('find out why nodes are stuck or have failed')
    .description('Reads the events of nodes, and names the most likely cause and the next step.')
    .argument(...NODES)
    .addHelpText('after', '\nExamples:\n  coldiron diagnose node01\n  coldiron diagnose --in failed')
    .action(async (nodes, options) => (await import('./diagnose.ts')).diagnose(nodes, options));
  selectingToRead(connected(program.command('cabling')))
    .summary('compare the declared switch ports of nodes with what they heard')
    .description(
      'Lists each cable of nodes: the declared switch port, the port that announced itself by LLDP, and whose port that is.',
    )
    .argument(...NODES)
    .addHelpText('after', '\nExamples:\n  coldiron cabling node01\n  coldiron cabling --rack r7')
    .action(async (nodes, options) => (await import('./cabling.ts')).showCabling(nodes, options));
  selectingToRead(connected(program.command('sessions')))
    .summary('list the service OS sessions of nodes')
    .description('Lists the service OS sessions of nodes: when each started, its mode, its last step and how it ended.')
    .argument(...NODES)
    .action(async (nodes, options) => (await import('./sessions.ts')).listSessions(nodes, options));
  selectingToRead(connected(program.command('trail')))
    .summary('show the events of nodes, boot by boot')
    .description('Shows the requests of nodes and the answers they got, grouped by boot attempt.')
    .argument(...NODES)
    .option('--limit <n>', 'show at most this many of the newest events of each node', '200')
    .addHelpText('after', '\nExamples:\n  coldiron trail node01\n  coldiron trail --rack r7 --limit 20')
    .action(async (nodes, options) => (await import('./trail.ts')).trail(nodes, options));
}
