// The verbs of the export of events.

import type { Command } from 'commander';

export function addExportCommands(program: Command, connected: (command: Command) => Command): void {
  const exports = program
    .command('exports')
    .summary('receivers of events: webhooks, Loki, syslog')
    .description('The receivers that the site file names under `export`, and the events that they refused.');
  connected(exports.command('list'))
    .description('Lists receivers: state, how many events wait, what was lost, and the last error.')
    .action(async (options) => (await import('./exports.ts')).listExports(options));
  connected(exports.command('dead-letters'))
    .description('Lists the events that a receiver refused, with its answer.')
    .argument('<receiver>', 'its name in the site file')
    .option('--limit <n>', 'show at most this many', '100')
    .action(async (receiver, options) => (await import('./exports.ts')).listDeadLetters(receiver, options));
  connected(exports.command('replay'))
    .description('Sends dead letters to their receiver again. An event that is refused again stays a dead letter.')
    .argument('<receiver>', 'its name in the site file')
    .argument('[event...]', 'numbers of events, as `exports dead-letters` lists them (default: all)')
    .addHelpText('after', '\nExample:\n  coldiron exports replay alerts 1042 1043')
    .action(async (receiver, events, options) => (await import('./exports.ts')).replay(receiver, events, options));
}
