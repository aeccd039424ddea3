// The verbs and what they take. Each verb's work is in its own file and loaded only when it runs.

import { readFileSync } from 'node:fs';
import { Argument, Command, Option } from 'commander';
import { LIFECYCLE_STATES } from '../domain/lifecycle.ts';
import { BMC_DRIVERS } from '../domain/machine.ts';
import { addBmcCommands } from './bmc-commands.ts';
import { SHELLS } from './completion.ts';
import { addEnrollmentCommands } from './enrollment-commands.ts';
import { addNodeCommands } from './node-commands.ts';
import { addNodeReads } from './node-reads.ts';
import { addRackCommands } from './rack.ts';
import { filtering, selecting } from './selection-options.ts';

const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** Options of every verb that talks to an appliance. */
const connected = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'the site file, to find the state folder (default: ./coldiron.yaml if there is one)')
    .option('--state <dir>', 'the state folder of an appliance on this machine')
    .option('--server <url>', 'an appliance elsewhere (default: $COLDIRON_SERVER); it needs a token')
    .option('--token-file <file>', 'a file that holds the token (default: the token in $COLDIRON_TOKEN)')
    .option('--ca-file <file>', 'a PEM file with the authority that vouches for the certificate of --server')
    .option('--json', 'print one JSON value');

/** Options of the verbs that work on the state folder itself. */
const onThisMachine = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'the site file, to find the state folder (default: ./coldiron.yaml if there is one)')
    .option('--state <dir>', 'the state folder')
    .option('--json', 'print one JSON value');

const offline = (command: Command): Command =>
  command.option('-i, --inventory <file>', 'work on this file alone, without an appliance (may be repeated)', collect);

export function buildProgram(): Command {
  const program = new Command('coldiron')
    .description('From a cold, freshly racked server to an enrolled node.')
    .version(version, '-V, --version')
    .showHelpAfterError('(add --help to see what it takes)')
    .exitOverride()
    .addHelpText(
      'after',
      `
First steps:
  coldiron check --inventory inventory/example.yaml        is this inventory sound?
  coldiron explain node01 --inventory inventory/example.yaml   what would this machine get, and why?
  coldiron serve                                           bring up the site that ./coldiron.yaml describes
  coldiron apply inventory/*.yaml --dry-run                what would these files change?

Exit codes: 0 done, 1 our mistake, 2 wrong usage, 3 bad config or inventory, 4 not found, 5 refused,
6 not allowed, 7 not reachable, 8 the audit log was tampered with, 9 the node failed.`,
    );

  program
    .command('serve')
    .summary('start what the site file names')
    .description('Starts the appliance: the listeners and services that the site file names, and nothing else.')
    .option('-c, --config <file>', 'the site file (default: ./coldiron.yaml)')
    .option('--state <dir>', 'keep state in this folder instead of the one the file names')
    .addHelpText('after', '\nStop it with Ctrl-C or SIGTERM. Logs go to standard error as JSON, one line per exchange.')
    .action(async (options) => (await import('./serve.ts')).serve(options));

  offline(program.command('check'))
    .summary('is the config and inventory sound?')
    .description('Checks the site file and the inventory, and lists every problem at once with file, place and reason.')
    .option('-c, --config <file>', 'the site file (default: ./coldiron.yaml if there is one)')
    .option('--templates <dir>', 'try these templates on every node, in the place of those that the site file names')
    .option('--json', 'print one JSON value')
    .addHelpText('after', '\nExample:\n  coldiron check --inventory inventory/example.yaml')
    .action(async (options) => (await import('./check.ts')).check(options));

  connected(program.command('apply'))
    .summary('make the inventory what the files say')
    .description(
      'Reconciles inventory files into the store, as a whole or not at all. Each file owns what it declares: an object\n' +
        'that has left its file is removed; objects of files that are not named here are left alone.',
    )
    .argument('<file...>', 'inventory files (YAML or JSON)')
    .option('-n, --dry-run', 'change nothing; show what would change, also in what nodes are given')
    .option('--diff', 'with --dry-run: show the lines that would change in what nodes are given')
    .addHelpText('after', '\nExample:\n  coldiron apply inventory/*.yaml --dry-run')
    .action(async (files, options) => (await import('./apply.ts')).apply(files, options));

  const nodes = program
    .command('nodes')
    .summary('list, show, add, accept and import nodes')
    .description('The nodes of the inventory.');
  filtering(connected(nodes.command('list')))
    .description('Lists nodes with state, address and profile.')
    .action(async (options) => (await import('./nodes.ts')).listNodes(options));
  connected(nodes.command('show'))
    .description('Shows one node: what was declared, where it is in its life, and what it waits for.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./nodes.ts')).showNode(node, options));
  connected(nodes.command('add'))
    .description('Adds one node by hand. It belongs to no file: apply never removes it.')
    .argument('<name>', 'host name')
    .requiredOption('--mac <mac>', 'MAC address of the card it boots from')
    .requiredOption('--network <name>', 'the network that card is on')
    .requiredOption('--sku <name>', 'an active SKU of the catalogue')
    .option('--profile <name>', 'what it is to become')
    .option('--address <ip>', 'its reserved address on that network')
    .option('--interface <name>', "the card's name", 'eth0')
    .option('--uuid <uuid>', 'SMBIOS UUID: binds the node to its chassis')
    .option('--bmc <ip>', 'address of its BMC')
    .addOption(new Option('--bmc-driver <driver>', 'how the BMC is spoken to').choices(BMC_DRIVERS).default('ipmi'))
    .option('--bmc-username <name>')
    .option('--bmc-password-file <file>', 'a file on the appliance that holds the password')
    .addHelpText(
      'after',
      '\nExample:\n  coldiron nodes add node09 --mac 52:54:00:12:34:99 --network provisioning --sku gp1',
    )
    .action(async (name, options) => (await import('./nodes.ts')).addNode(name, options));
  connected(nodes.command('import'))
    .description('Adds or changes nodes from a CSV file, as a whole or not at all.')
    .argument('<csv>', 'the file; its first line names the columns')
    .option('-n, --dry-run', 'change nothing; show what would change')
    .addHelpText(
      'after',
      '\nColumns: name, mac, network, sku (needed); address, interface, profile, cluster, uuid, serial, bmc_address,\n' +
        'bmc_driver, bmc_username, bmc_password_file (optional).\n\nExample:\n  coldiron nodes import rack7.csv --dry-run',
    )
    .action(async (file, options) => (await import('./import-nodes.ts')).importNodes(file, options));

  offline(connected(program.command('explain')))
    .summary('what would this machine get, at every stage, and why?')
    .description(
      'Tells, stage by stage from power-on to first boot, what a machine would be answered and because of what.',
    )
    .argument('<machine>', 'MAC address or host name')
    .option(
      '--arch <code>',
      'client architecture as in DHCP option 93: 0 BIOS, 7 UEFI x86-64, 11 UEFI arm64, 16 UEFI HTTP boot …',
    )
    .option('--via <relay>', 'as if the request came through this DHCP relay')
    .addOption(
      new Option('--as <state>', 'what if it were in this state, and armed if that state needs it?').choices(
        LIFECYCLE_STATES,
      ),
    )
    .option('--armed', 'as if its deployment (state deploying) or erasure (releasing) were armed')
    .addOption(new Option('--not-armed', 'as if nothing were armed').implies({ armed: false }))
    .addHelpText(
      'after',
      '\nExample:\n  coldiron explain 52:54:00:12:34:56 --arch 7 --inventory inventory/example.yaml',
    )
    .action(async (machine, options) => (await import('./explain.ts')).explain(machine, options));

  selecting(offline(connected(program.command('render'))), '--at')
    .summary('write everything that a node, or a whole site, is installed from')
    .description(
      'Renders what the inventory says about a node: its NixOS flake, its cloud-init seed or the answers for its installer.\n' +
        'With a folder it is written there, as a whole or not at all; without one it is shown. What is in the folder and is\n' +
        'not ours stays.',
    )
    .argument('<node-or-folder>', 'host name, MAC address or id; with --site or a selector the folder')
    .argument('[folder]', 'where to write it; with a selector each node gets a folder of its own in it')
    .option('--site', 'a whole site: one flake for all nodes, DNS zones, hosts, firewalls, Ansible, Prometheus')
    .option('--at <site>', 'which site, where there are several; with a selector: nodes of this site')
    .option('--diff', 'show what has changed since the node was last given something')
    .option('--force', 'replace also files that somebody else wrote or changed')
    .option('--no-secrets', 'leave out keys; nothing is made or remembered')
    .option('--templates <dir>', 'offline: with these templates in the place of ours')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron render node01 ./node01 --inventory inventory/example.yaml\n' +
        '  coldiron render --site ./site\n  coldiron render node01 --diff\n  coldiron render --rack r7 ./rack7',
    )
    .action(async (first, second, options) => (await import('./render.ts')).render(first, second, options));

  const assets = program
    .command('assets')
    .summary('build, fetch, verify and list boot files')
    .description('The boot files of the appliance on this machine: loaders, kernels, images.');
  onThisMachine(assets.command('build'))
    .description(
      "Takes loaders and the service OS from Debian's packages, downloaded where need be; the machine itself is not changed. " +
        'A Debian image for virtual machines is built when it is named (debian-12; as root).',
    )
    .argument('[name...]', 'only these: a loader, images/service-os-x86_64, images/debian-12, …')
    .addHelpText('after', '\nExamples:\n  coldiron assets build\n  coldiron assets build debian-12')
    .action(async (names, options) => (await import('./assets.ts')).buildBootFiles(names, options));
  onThisMachine(assets.command('fetch'))
    .description('Fetches what <state>/assets/extra.yaml declares with a URL, and keeps it if the checksum is right.')
    .argument('[name...]', 'only these')
    .action(async (names, options) => (await import('./assets.ts')).fetchBootFiles(names, options));
  onThisMachine(assets.command('import-nixos'))
    .description('Takes a built network installer of NixOS into the library, for the machines of one profile.')
    .argument('<profile>', 'the profile whose machines start it')
    .argument('<folder>', 'with bzImage, initrd and netboot.ipxe: result, after nix build .#netboot-installer')
    .option('--arch <name>', 'what its kernel has to be for: x86_64 or arm64')
    .action(async (profile, folder, options) =>
      (await import('./assets.ts')).importNixosInstaller(profile, folder, options),
    );
  onThisMachine(assets.command('verify'))
    .description('Reads every boot file again, and tells which machines would get no loader, or a wrong one.')
    .action(async (options) => (await import('./assets.ts')).verifyBootFiles(options));
  onThisMachine(assets.command('list'))
    .description('Lists the boot files that machines can be sent.')
    .action(async (options) => (await import('./assets.ts')).listBootFiles(options));

  addNodeCommands(program, connected);
  addNodeReads(program, connected);
  addBmcCommands(program, connected);
  addEnrollmentCommands(program, connected);

  connected(program.command('trail'))
    .summary('what happened to this machine, boot by boot')
    .description('Tells what a machine asked for and got, one boot attempt after the other.')
    .argument('<node>', 'host name, MAC address or id')
    .option('--limit <n>', 'at most this many events, the newest', '200')
    .addHelpText('after', '\nExample:\n  coldiron trail node01')
    .action(async (node, options) => (await import('./trail.ts')).trail(node, options));

  const leases = program.command('leases').summary('addresses that machines hold').description('DHCP leases.');
  connected(leases.command('list'))
    .description('Lists leases by address: who holds it, and until when.')
    .option('--network <name>', 'only those of this network')
    .action(async (options) => (await import('./trail.ts')).listLeases(options));

  const audit = program
    .command('audit')
    .summary('who did what, and is the record whole?')
    .description('The audit log: every change, who made it, before and after.');
  connected(audit.command('list'))
    .description('Lists audit entries, the newest last.')
    .option('--limit <n>', 'at most this many', '50')
    .action(async (options) => (await import('./audit.ts')).listAudit(options));
  connected(audit.command('verify'))
    .description('Walks the hash chain from the first entry to the last. Works also while no appliance runs.')
    .action(async (options) => (await import('./audit.ts')).verifyAudit(options));

  addRackCommands(program, onThisMachine);

  program
    .command('completion')
    .summary('print a completion script for your shell')
    .description('Prints a completion script: source it, or put it where your shell looks for completions.')
    .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
    .addHelpText('after', '\nExample:\n  source <(coldiron completion bash)')
    .action(async (shell) => {
      const { completionScript } = await import('./completion.ts');
      process.stdout.write(completionScript(program, shell));
    });

  for (const command of everyCommand(program)) command.exitOverride();
  return program;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
