// The verbs of a virtual rack with their arguments and options. The code of a verb is loaded only when it runs.

import { Argument, type Command, Option } from 'commander';
import { BMC_MODES } from '../domain/network.ts';
import { BUTTONS } from '../lab/rack/buttons.ts';
import { FAULT_KINDS, FAULTS, type FaultKind, WHOLE_NETWORK } from '../lab/rack/faults.ts';
import { FIRMWARE_KINDS } from '../lab/rack/firmware.ts';

const verbs = () => import('./rack-verbs.ts');

/** `placed`: adds the options that find the state folder. */
export function addRackCommands(program: Command, placed: (command: Command) => Command): void {
  const rack = program
    .command('rack')
    .summary('run a virtual rack: QEMU machines with BMCs')
    .description('Runs a virtual rack on this machine: servers with BMCs in a separate network. Needs root.');
  addUp(placed(rack.command('up')));
  placed(rack.command('down'))
    .description('Stops the rack, also one whose keeper process was killed. Disks are kept for the next start.')
    .option('--erase', 'delete disks, settings and credentials too')
    .action(async (options) => (await verbs()).takeDown(options));
  placed(rack.command('status'))
    .description('Shows the machines: power, BMC, boot flag, console.')
    .action(async (options) => (await verbs()).showStatus(options));
  placed(rack.command('press'))
    .description('Presses a button on the machine itself, without its BMC.')
    .argument('<machine>')
    .addArgument(new Argument('<button>').choices(BUTTONS))
    .action(async (machine, button, options) => (await verbs()).press(machine, button, options));
  addFault(placed(rack.command('fault')));
  placed(rack.command('keep', { hidden: true }))
    .description('Runs a rack until `rack down`. Started by `rack up`.')
    .action(async (options) => (await verbs()).keep(options));
}

function addUp(command: Command): void {
  command
    .description('Starts a rack and writes the inventory that describes it.')
    .option('--rack <file>', 'a YAML file that describes the machines (default: identical machines)')
    .option('--machines <n>', 'number of identical machines', '3')
    .addOption(
      new Option('--firmware <kind>', 'firmware of identical machines').choices(FIRMWARE_KINDS).default('uefi-pxe'),
    )
    .option('--tpm', 'give identical machines a TPM 2.0')
    .addOption(new Option('--bmc-mode <mode>', 'override the mode of the file').choices(BMC_MODES))
    .option('--install', 'install the Debian packages that are missing')
    .addHelpText(
      'after',
      '\nIn recorder mode BMCs answer and record every command in recorded.jsonl; no machine runs. In disabled\n' +
        'mode there are no BMCs; `rack press` switches machines.\n\nExample:\n  coldiron rack up --machines 2 --firmware bios-ipxe-rom',
    )
    .action(async (options) => (await verbs()).bringUp(options));
}

function addFault(command: Command): void {
  const kinds = FAULT_KINDS.map((kind) => `  ${kind.padEnd(19)} ${faultHelp(kind)}`).join('\n');
  command
    .description('Injects a fault, or removes it.')
    .argument('<target>', `a machine, or ${WHOLE_NETWORK}`)
    .addArgument(new Argument('<kind>', 'the fault').choices(FAULT_KINDS))
    .addArgument(new Argument('[switch]', 'inject it or remove it').choices(['on', 'off']).default('on'))
    .option('--value <value>', 'the amount, or the text that triggers a power cut')
    .option('--in <file>', 'power-cut: search the text in this file instead of the console output')
    .addHelpText('after', `\nKinds:\n${kinds}\n\nExample:\n  coldiron rack fault node01 loss --value 30`)
    .action(async (target, kind, position, options) => (await verbs()).makeFault(target, kind, position, options));
}

function faultHelp(kind: FaultKind): string {
  const { means, takes } = FAULTS[kind];
  if (takes === null) return means;
  if (takes === 'pattern') return `${means} (a regular expression)`;
  return `${means} (${takes.name} in ${takes.unit}, ${takes.default} by default)`;
}
