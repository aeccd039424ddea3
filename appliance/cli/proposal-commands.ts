// The verbs of proposals and of the MCP bridge.

import type { Command } from 'commander';

export function addProposalCommands(program: Command, connected: (command: Command) => Command): void {
  const proposals = program
    .command('proposals')
    .summary('list, approve and reject proposed changes')
    .description('Changes that wait for the approval of people: what agents want to do, and changes of SKUs in use.');
  connected(proposals.command('list'))
    .description('Lists proposals that wait, the newest first.')
    .option('--all', 'also those that are over')
    .action(async (options) => (await import('./proposals.ts')).listProposals(options));
  connected(proposals.command('show'))
    .description('Shows one proposal: what it does, what it affects, its hash and its approvals.')
    .argument('<proposal>', 'its id')
    .action(async (proposal, options) => (await import('./proposals.ts')).showProposal(proposal, options));
  connected(proposals.command('approve'))
    .description('Approves a proposal. The last approval that it needs carries it out.')
    .argument('<proposal>', 'its id')
    .option('--hash <hash>', 'approve only if this is its hash, without a question')
    .option('--note <text>', 'the reason, for the record')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      '\nExample:\n  coldiron proposals approve 7c9e6679-7425-40de-944b-e07fc1f90ae7 --note "agreed with ops"',
    )
    .action(async (proposal, options) => (await import('./proposals.ts')).approveProposal(proposal, options));
  connected(proposals.command('reject'))
    .description('Rejects a proposal.')
    .argument('<proposal>', 'its id')
    .requiredOption('--reason <text>', 'why; the proposer reads it')
    .action(async (proposal, options) => (await import('./proposals.ts')).rejectProposal(proposal, options));
  connected(program.command('mcp'))
    .summary('serve the tools of the appliance to an agent over standard input and output')
    .description(
      'A bridge for programs that start MCP servers as a child process: it passes messages of the Model Context Protocol between\n' +
        'standard input and output and the /mcp endpoint of the appliance. Give the agent a token of its own, with the role agent.',
    )
    .addHelpText('after', '\nExample:\n  coldiron mcp --server https://host:8443 --token-file agent.token')
    .action(async (options) => (await import('./mcp.ts')).bridge(options));
}
