// Verbs that read about nodes. The code of a verb is loaded only when it runs.

import type { Command } from 'commander';
import { NODES, selectingToRead } from './selection-options.ts';

export function addNodeReads(program: Command, connected: (command: Command) => Command): void {
  selectingToRead(connected(program.command('diagnose')))
    .summary('find out why nodes are stuck or have failed')
    .description(
      'Weighs all evidence about nodes: their requests, screens, BMCs and reports, and what this appliance knows of itself.\n' +
        'Names the most likely cause with its evidence, the next step, and how to verify it. Without a node: what is wrong with\n' +
        'the site right now.',
    )
    .argument(...NODES)
    .option('--watch', 'ask again every few seconds, until interrupted')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron diagnose\n  coldiron diagnose node01\n  coldiron diagnose --in failed',
    )
    .action(async (nodes, options) => (await import('./diagnose.ts')).diagnose(nodes, options));
  selectingToRead(connected(program.command('cabling')))
    .summary('compare the declared switch ports of nodes with what they heard')
    .description(
      'Lists each cable of nodes: the declared switch port, the port that announced itself by LLDP, and whose port that is.',
    )
    .argument(...NODES)
    .addHelpText('after', '\nExamples:\n  coldiron cabling node01\n  coldiron cabling --rack r7')
    .action(async (nodes, options) => (await import('./cabling.ts')).showCabling(nodes, options));
  selectingToRead(connected(program.command('timeline')))
    .summary('show how long each boot stage took')
    .description('Shows the stages of the current or last boot of nodes, compared with similar machines.')
    .argument(...NODES)
    .action(async (nodes, options) => (await import('./timeline.ts')).timeline(nodes, options));
  connected(program.command('record'))
    .summary('save the evidence about a node in a file')
    .description('Saves everything that a diagnosis of this node uses, without secrets, for a bug report or a test.')
    .argument('<node>', 'host name, MAC address or id')
    .argument('<file>', 'a new file')
    .action(async (node, file, options) => (await import('./record.ts')).record(node, file, options));
  program
    .command('replay')
    .summary('diagnose a recording, without an appliance')
    .description('Runs the boot decision and the diagnosis of this version on a recording.')
    .argument('<file>', 'a file that `record` wrote')
    .option('--json', 'print one JSON value')
    .action(async (file, options) => (await import('./record.ts')).replay(file, options));
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
  connected(program.command('events'))
    .summary('show the newest events, and follow them')
    .description(
      'Shows the newest events of the appliance and all its nodes. With --follow, each following one as it happens, also\n' +
        'after a lost connection, until Ctrl-C.',
    )
    .option('-f, --follow', 'go on with each event as it happens; with --json, one JSON value per line')
    .option('--node <node>', 'only events of this node: host name, MAC address or id')
    .option('--kind <kind>', 'only events of this kind and its subkinds, such as lifecycle')
    .option('--correlation-id <id>', 'only what one request did, with all work that it started; not with --follow')
    .option('--after <number>', 'begin after the event with this number')
    .option('--limit <n>', 'show at most this many that have happened already', '20')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron events --follow\n  coldiron events --follow --node node01 --kind session --json\n  coldiron events --correlation-id 8f14e45f-ceea-467f-a83c-0d5e6f2f3c11',
    )
    .action(async (options) => (await import('./events.ts')).showEvents(options));
}
