// The verbs that go to a node's BMC, and what they take. Their work is loaded only when one runs.

import type { Command } from 'commander';
import { BOOT_WORDS } from './boot-words.ts';
import { selecting } from './selection-options.ts';

const NODE = ['<node>', 'host name, MAC address or id'] as const;

/** `connected`: adds the options that find the appliance. */
export function addBmcCommands(program: Command, connected: (command: Command) => Command): void {
  addPower(selecting(connected(program.command('power'))));
  addBootdev(selecting(connected(program.command('bootdev'))));
  connected(program.command('console'))
    .summary("a node's serial console in this terminal")
    .description(
      "Opens a node's serial console in this terminal. At the beginning of a line, ~. leaves it and ~? helps.",
    )
    .argument(...NODE)
    .option('--steal', 'end the console of whoever has it')
    .action(async (node, options) => (await import('./console.ts')).openConsole(node, options));
  connected(program.command('sensors'))
    .summary('temperatures, fans, voltages, power supplies')
    .description('Shows the sensors that the BMC tells of.')
    .argument(...NODE)
    .action(async (node, options) => (await import('./sensors.ts')).sensors(node, options));
  connected(program.command('sel'))
    .summary("the BMC's own event log")
    .description("Shows the BMC's own event log, the oldest entry first; with --clear it is empty afterwards.")
    .argument(...NODE)
    .option('--clear', 'empty it after it was shown')
    .option('--yes', 'do not ask for the name to be typed out')
    .action(async (node, options) => (await import('./sel.ts')).sel(node, options));
  selecting(connected(program.command('identify')))
    .summary('the light that shows which one it is')
    .description(
      'Switches the light on or off that shows which machine of a rack it is. The last word is on (if left out),\noff, or for so many seconds.',
    )
    .argument('[words...]', 'nodes by host name, MAC address or id, then on, off or seconds')
    .addHelpText('after', '\nExamples:\n  coldiron identify node01 60\n  coldiron identify --rack r7 off')
    .action(async (words, options) => (await import('./identify.ts')).identify(words, options));
  addBmc(program, connected);
}

function addPower(command: Command): void {
  command
    .summary('switch nodes on and off')
    .description(
      'Switches nodes on and off through their BMCs. The last word says what to do: on, off, cycle, reset, soft or status.\n' +
        'off, cycle and reset do not ask the operating system; soft asks it to shut down.',
    )
    .argument('<words...>', 'nodes by host name, MAC address or id, then what to do')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron power node01 status\n  coldiron power node01 node02 on\n  coldiron power --rack r7 soft',
    )
    .action(async (words, options) => (await import('./power.ts')).power(words, options));
}

function addBootdev(command: Command): void {
  command
    .summary('what nodes start from the next time')
    .description(
      'Sets in the BMC what nodes start from, and reads it back. Power is not touched. The last word is the device:\n' +
        `${Object.keys(BOOT_WORDS).join(', ')} (bios: its setup; none: its own order).`,
    )
    .argument('<words...>', 'nodes by host name, MAC address or id, then the device')
    .option('--once', 'the next start only (this is the rule)')
    .option('--persistent', 'every start from now on')
    .option('--efi', 'as a UEFI start')
    .option('--legacy', 'as a BIOS start')
    .addHelpText('after', '\nExamples:\n  coldiron bootdev node01 pxe --once --efi\n  coldiron bootdev --rack r7 pxe')
    .action(async (words, options) => (await import('./bootdev.ts')).bootdev(words, options));
}

function addBmc(program: Command, connected: (command: Command) => Command): void {
  const bmc = program
    .command('bmc')
    .summary('credentials, search and quirks of BMCs')
    .description('BMCs themselves: how to log in, where they are, what they obey.');
  connected(bmc.command('set-credentials'))
    .description('Puts the login of a BMC into the vault. It comes before what the inventory says.')
    .argument(...NODE)
    .requiredOption('--username <name>')
    .option('--password-file <file>', 'a file that holds the password (otherwise: standard input)')
    .option('--key-file <file>', 'a file that holds the BMC key (Kg) of IPMI')
    .option('--no-check', 'keep it without trying it')
    .action(async (node, options) => (await import('./bmc.ts')).setCredentials(node, options));
  connected(bmc.command('rotate'))
    .description('Gives our user of a BMC a new random password, which only the vault knows.')
    .argument(...NODE)
    .action(async (node, options) => (await import('./bmc.ts')).rotate(node, options));
  connected(bmc.command('forget-certificate'))
    .description('Trusts the next certificate that a BMC shows, after it was replaced on purpose.')
    .argument(...NODE)
    .action(async (node, options) => (await import('./bmc.ts')).forgetCertificate(node, options));
  connected(bmc.command('quirks'))
    .description('Lists which ways to boot from the network were obeyed and ignored, by kind of BMC.')
    .action(async (options) => (await import('./bmc.ts')).listQuirks(options));
  connected(bmc.command('scan'))
    .description('Looks for BMCs in networks that the site file allows (bmc.scan). Nobody is logged in to.')
    .argument('<network...>', 'like 10.0.10.0/24')
    .action(async (networks, options) => (await import('./bmc.ts')).scan(networks, options));
}
