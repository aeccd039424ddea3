// The verbs of a virtual rack and what they take. Their work is loaded only when one runs.

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
    .summary('a virtual rack: QEMU machines with real BMCs')
    .description('A virtual rack on this machine: servers with BMCs, in a network of their own. Needs root.');
  addUp(placed(rack.command('up')));
  placed(rack.command('down'))
    .description('Takes the rack down, also one whose keeper was killed. Disks stay for the next time.')
    .option('--erase', 'remove disks, settings and credentials as well')
    .action(async (options) => (await verbs()).takeDown(options));
  placed(rack.command('status'))
    .description('Shows the machines: power, BMC, boot flag, console.')
    .action(async (options) => (await verbs()).showStatus(options));
  placed(rack.command('press'))
    .description("Presses a machine's own button, past its BMC.")
    .argument('<machine>')
    .addArgument(new Argument('<button>').choices(BUTTONS))
    .action(async (machine, button, options) => (await verbs()).press(machine, button, options));
  addFault(placed(rack.command('fault')));
  placed(rack.command('keep', { hidden: true }))
    .description('Keeps a rack until it is told to take it down. `rack up` starts it.')
    .action(async (options) => (await verbs()).keep(options));
}

function addUp(command: Command): void {
  command
    .description('Brings a rack up and writes the inventory that describes it.')
    .option('--rack <file>', 'what stands in it (YAML); otherwise so many like machines')
    .option('--machines <n>', 'how many', '3')
    .addOption(new Option('--firmware <kind>', 'of like machines').choices(FIRMWARE_KINDS).default('uefi-pxe'))
    .addOption(new Option('--bmc-mode <mode>', 'instead of what the file says').choices(BMC_MODES))
    .option('--install', 'install the Debian packages that are missing')
    .addHelpText(
      'after',
      '\nIn recorder mode BMCs answer and what they are told is written to recorded.jsonl; no machine runs. In disabled\n' +
        'mode there are no BMCs; `rack press` switches machines.\n\nExample:\n  coldiron rack up --machines 2 --firmware bios-ipxe-rom',
    )
    .action(async (options) => (await verbs()).bringUp(options));
}

function addFault(command: Command): void {
  const kinds = FAULT_KINDS.map((kind) => `  ${kind.padEnd(18)} ${faultHelp(kind)}`).join('\n');
  command
    .description('Makes something go wrong, or right again.')
    .argument('<target>', `a machine, or ${WHOLE_NETWORK}`)
    .addArgument(new Argument('<kind>', 'what goes wrong').choices(FAULT_KINDS))
    .addArgument(new Argument('[switch]', 'begin it or end it').choices(['on', 'off']).default('on'))
    .option('--value <value>', 'how much, or the text that a power cut waits for')
    .option('--in <file>', 'power-cut: look for the text in this file instead of on the console')
    .addHelpText('after', `\nKinds:\n${kinds}\n\nExample:\n  coldiron rack fault node01 loss --value 30`)
    .action(async (target, kind, position, options) => (await verbs()).makeFault(target, kind, position, options));
}

function faultHelp(kind: FaultKind): string {
  const { means, takes } = FAULTS[kind];
  if (takes === null) return means;
  if (takes === 'pattern') return `${means} (a regular expression)`;
  return `${means} (${takes.name} in ${takes.unit}, ${takes.default} by default)`;
}
