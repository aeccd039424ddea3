// The verbs of onboarding runs.

import { type Command, Option } from 'commander';
import { ONBOARDING_STATES } from '../domain/onboarding.ts';

export function addOnboardingCommands(program: Command, connected: (command: Command) => Command): void {
  connected(program.command('onboard'))
    .summary('take a host from its BMC address to an enrolled node')
    .description(
      'Finds or creates the node, commissions it, installs the profile and waits until it has enrolled. The data on its\n' +
        'disk is lost. Everything else, such as retries, is policy of the site and the profile.',
    )
    .argument('<hostname>', 'its host name')
    .requiredOption('--site <name>', 'its site')
    .requiredOption('--profile <name>', 'the profile to install')
    .requiredOption('--sku <name>', 'an active SKU of the catalogue')
    .requiredOption('--bmc <ip>', 'the address of its BMC')
    .option('--wait', 'wait until it is complete or has failed')
    .option(
      '--yes',
      'do not ask for the host name to be typed out; the first run of a site still waits for its confirmation',
    )
    .addHelpText(
      'after',
      '\nExample:\n  coldiron onboard node09 --site lab --profile debian-12 --sku gp1 --bmc 10.0.200.19 --wait',
    )
    .action(async (hostname, options) => (await import('./onboardings.ts')).onboard(hostname, options));

  const runs = program
    .command('onboardings')
    .summary('list, show, confirm, cancel and retry onboarding runs')
    .description('Onboarding runs: steps, deadlines, attempts and failures.');
  connected(runs.command('list'))
    .description('Lists runs, the newest first.')
    .addOption(new Option('--in <state>', 'only runs in this state').choices(ONBOARDING_STATES))
    .option('--limit <n>', 'show at most this many', '50')
    .action(async (options) => (await import('./onboardings.ts')).listOnboardings(options));
  connected(runs.command('show'))
    .description('Shows a run with all its steps.')
    .argument('<run>', 'its id')
    .action(async (run, options) => (await import('./onboardings.ts')).showOnboarding(run, options));
  connected(runs.command('confirm'))
    .description('Confirms the first run of a site, which begins then.')
    .argument('<run>', 'its id')
    .option('--yes', 'do not ask for the host name to be typed out')
    .action(async (run, options) => (await import('./onboardings.ts')).confirmOnboarding(run, options));
  connected(runs.command('cancel'))
    .description('Cancels a run and the work that it started.')
    .argument('<run>', 'its id')
    .option('--note <text>', 'why, for the trail')
    .action(async (run, options) => (await import('./onboardings.ts')).cancelOnboarding(run, options));
  connected(runs.command('retry'))
    .description('Tries a failed run again, from the step that failed.')
    .argument('<run>', 'its id')
    .option('--note <text>', 'why, for the audit log')
    .option('--wait', 'wait until it is complete or has failed')
    .action(async (run, options) => (await import('./onboardings.ts')).retryOnboarding(run, options));
}
