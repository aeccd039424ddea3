// The verbs of node agents: recovery, settings, updates and logs. The code of a verb is loaded only when it runs.

import { type Command, Option } from 'commander';
import { ERROR_CLASSES, LOG_ACTIONS } from '../domain/agent-log.ts';
import { NODES, selecting, selectingToRead } from './selection-options.ts';

export function addAgentCommands(program: Command, connected: (command: Command) => Command): void {
  const agent = program
    .command('agent')
    .summary('recover, configure and update the agents of nodes, and read their logs')
    .description('The agents of enrolled nodes. See also: coldiron diagnose');

  selecting(connected(agent.command('recover')))
    .description(
      'Issues a new token with one command for the node: it repairs the files of the agent and restarts it. For a node that lost its\n' +
        'env file, its certificate or its key, or that knows a wrong URL or authority. The previous token is revoked.',
    )
    .argument(...NODES)
    .option(
      '-o, --output <file>',
      'the file to write (default: ./restart-node-agent-<node>.sh); for several nodes, their folder',
    )
    .option('--show', 'print the command with its token instead of writing a file')
    .addHelpText(
      'after',
      '\nExample:\n  coldiron agent recover node01 && ssh root@node01 sh <restart-node-agent-node01.sh',
    )
    .action(async (nodes, options) => (await import('./agent-recovery.ts')).recoverAgents(nodes, 'command', options));

  selecting(connected(agent.command('script')))
    .description('Issues a new token with a script that installs the agent again. The previous token is revoked.')
    .argument(...NODES)
    .option(
      '-o, --output <file>',
      'the file to write (default: ./install-node-agent-<node>.sh); for several nodes, their folder',
    )
    .option('--show', 'print the script with its token instead of writing a file')
    .action(async (nodes, options) => (await import('./agent-recovery.ts')).recoverAgents(nodes, 'script', options));

  selectingToRead(connected(agent.command('show')))
    .description('Shows the version and the settings that agents use, and those that they should use.')
    .argument(...NODES)
    .action(async (nodes, options) => (await import('./agent-state.ts')).showAgents(nodes, options));

  selecting(connected(agent.command('reconcile')))
    .description(
      'Asks agents to apply their current settings now: the URL of the node API, the authorities, the task-signing keys.\n' +
        'Waits until each uses them, and says which do not.',
    )
    .argument(...NODES)
    .option('--timeout <seconds>', 'how long to wait for each', '120')
    .action(async (nodes, options) => (await import('./agent-state.ts')).reconcileAgents(nodes, options));

  selecting(connected(agent.command('update')))
    .description(
      'Replaces agents by the one of this appliance, in stages: one node first, then several at a time. It stops at the first that fails.\n' +
        'A new agent that sends no heartbeat is replaced by the previous one.',
    )
    .argument(...NODES)
    .option('--at-a-time <n>', 'nodes in each stage after the first', '5')
    .option('--wait-seconds <n>', 'restore the previous agent when the new one is silent for so long', '120')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron agent update node01\n  coldiron agent update --rack r7 --at-a-time 2',
    )
    .action(async (nodes, options) => (await import('./agent-update.ts')).updateAgents(nodes, options));

  selectingToRead(connected(agent.command('logs')))
    .description('Shows the log lines that agents sent, newest last.')
    .argument(...NODES)
    .addOption(new Option('--action <action>', 'only lines about this').choices(LOG_ACTIONS))
    .addOption(new Option('--error-class <class>', 'only errors of this class').choices(ERROR_CLASSES))
    .option('--errors', 'only errors')
    .option('--contains <text>', 'only lines that contain this')
    .option('--since <time>', 'only lines since then, like 2026-01-31T08:00:00Z')
    .option('--limit <n>', 'show at most this many of the newest lines of each node', '100')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron agent logs node01 --errors\n  coldiron agent logs --rack r7 --action renew',
    )
    .action(async (nodes, options) => (await import('./agent-logs.ts')).showAgentLogs(nodes, options));
}
