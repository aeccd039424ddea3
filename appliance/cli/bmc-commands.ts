// The verbs that use a node's BMC, with their arguments and options. The code of a verb is loaded only when it runs.

import type { Command } from 'commander';
import { BOOT_WORDS } from './boot-words.ts';
import { NODES, selecting, selectingToRead } from './selection-options.ts';

/** `connected`: adds the options that find the appliance. */
export function addBmcCommands(program: Command, connected: (command: Command) => Command): void {
  addPower(selecting(connected(program.command('power'))));
  addBootdev(selecting(connected(program.command('bootdev'))));
  connected(program.command('console'))
    .summary("open a node's serial console in this terminal, or show what it said")
    .description(
      "Opens a node's serial console in this terminal. At the beginning of a line, ~. closes it and ~? lists the escapes.\n" +
        'One user types at a time; others can read. --last shows what was captured while the node was worked on.',
    )
    .argument('<node>', 'host name, MAC address or id')
    .option('--read-only', 'read beside the user who types')
    .option('--steal', 'take the typing over from the user who types')
    .option('--last', 'show what the machine said, and do not open the console')
    .option('--previous', 'with --last: the boot before the current one')
    .option('--lines <n>', 'with --last: at most this many of the newest lines (default: 200)')
    .addHelpText('after', '\nExamples:\n  coldiron console node01\n  coldiron console node01 --last --lines 50')
    .action(async (node, options) => (await import('./console.ts')).showConsole(node, options));
  selectingToRead(connected(program.command('sensors')))
    .summary('show temperatures, fans, voltages, power supplies')
    .description('Shows the sensors that BMCs report.')
    .argument(...NODES)
    .addHelpText('after', '\nExamples:\n  coldiron sensors node01\n  coldiron sensors --rack r7')
    .action(async (nodes, options) => (await import('./sensors.ts')).sensors(nodes, options));
  selecting(connected(program.command('sel')))
    .summary('show the event logs of BMCs')
    .description(
      'Shows the system event logs of BMCs, oldest entry first. --clear deletes the entries after they are shown.',
    )
    .argument(...NODES)
    .option('--clear', 'delete the entries after they are shown')
    .addHelpText('after', '\nExamples:\n  coldiron sel node01\n  coldiron sel --rack r7 --clear')
    .action(async (nodes, options) => (await import('./sel.ts')).sel(nodes, options));
  selecting(connected(program.command('identify')))
    .summary('switch the identify LED of nodes')
    .description(
      'Switches the identify LED of nodes, which shows where a machine is in its rack. The last word is on (the default),\noff, or a number of seconds.',
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
      'Switches nodes on and off through their BMCs. The last word is the action: on, off, cycle, reset, soft or status.\n' +
        'off, cycle and reset act at once, without a shutdown; soft asks the operating system to shut down.',
    )
    .argument('<words...>', 'nodes by host name, MAC address or id, then the action')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron power node01 status\n  coldiron power node01 node02 on\n  coldiron power --rack r7 soft',
    )
    .action(async (words, options) => (await import('./power.ts')).power(words, options));
}

function addBootdev(command: Command): void {
  command
    .summary('set the device that nodes boot from next')
    .description(
      'Sets the boot device in the BMC and reads it back. The power state does not change. The last word is the device:\n' +
        `${Object.keys(BOOT_WORDS).join(', ')} (bios: the firmware setup; none: no override).`,
    )
    .argument('<words...>', 'nodes by host name, MAC address or id, then the device')
    .option('--once', 'only the next boot (default)')
    .option('--persistent', 'every boot from now on')
    .option('--efi', 'boot in UEFI mode')
    .option('--legacy', 'boot in BIOS mode')
    .addHelpText('after', '\nExamples:\n  coldiron bootdev node01 pxe --once --efi\n  coldiron bootdev --rack r7 pxe')
    .action(async (words, options) => (await import('./bootdev.ts')).bootdev(words, options));
}

function addBmc(program: Command, connected: (command: Command) => Command): void {
  const bmc = program
    .command('bmc')
    .summary('manage BMC credentials and certificates, scan for BMCs')
    .description('Manages BMC credentials and certificates, finds BMCs, and lists which boot methods they honour.');
  selecting(connected(bmc.command('set-credentials')))
    .description('Stores the credentials of BMCs in the vault. They take precedence over those in the inventory.')
    .argument(...NODES)
    .requiredOption('--username <name>')
    .option('--password-file <file>', 'a file that contains the password (default: standard input)')
    .option('--key-file <file>', 'a file that contains the IPMI BMC key (Kg)')
    .option('--no-check', 'store the credentials without testing them')
    .addHelpText(
      'after',
      '\nExample:\n  coldiron bmc set-credentials --rack r7 --username admin --password-file rack7 --yes',
    )
    .action(async (nodes, options) => (await import('./bmc-access.ts')).setCredentials(nodes, options));
  selecting(connected(bmc.command('rotate')))
    .description('Sets a new random password for the configured BMC user of each node. Only the vault stores it.')
    .argument(...NODES)
    .addHelpText('after', '\nExamples:\n  coldiron bmc rotate node01\n  coldiron bmc rotate --rack r7 --dry-run')
    .action(async (nodes, options) => (await import('./bmc-access.ts')).rotate(nodes, options));
  selecting(connected(bmc.command('forget-certificate')))
    .description(
      'Trusts the next certificate that a BMC presents. Use it after the BMC or its certificate was replaced on purpose.',
    )
    .argument(...NODES)
    .action(async (nodes, options) => (await import('./bmc-access.ts')).forgetCertificate(nodes, options));
  connected(bmc.command('quirks'))
    .description('Lists which network-boot methods BMCs honoured and ignored, by BMC model.')
    .action(async (options) => (await import('./bmc.ts')).listQuirks(options));
  connected(bmc.command('scan'))
    .description('Looks for BMCs in networks that the site file allows (bmc.scan). It does not log in to them.')
    .argument('<network...>', 'like 10.0.10.0/24')
    .action(async (networks, options) => (await import('./bmc.ts')).scan(networks, options));
}
