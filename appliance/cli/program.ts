// The verbs with their arguments and options. The code of a verb is in its own file and loaded only when it runs.

import { readFileSync } from 'node:fs';
import { Argument, Command, Option } from 'commander';
import { LIFECYCLE_STATES } from '../domain/lifecycle.ts';
import { BMC_DRIVERS } from '../domain/machine.ts';
import { addAccessCommands } from './access-commands.ts';
import { addAgentCommands } from './agent-commands.ts';
import { addBmcCommands } from './bmc-commands.ts';
import { SHELLS } from './completion.ts';
import { addEnrollmentCommands } from './enrollment-commands.ts';
import { addExportCommands } from './export-commands.ts';
import { addNodeCommands } from './node-commands.ts';
import { addNodeReads } from './node-reads.ts';
import { addOnboardingCommands } from './onboarding-commands.ts';
import { addProposalCommands } from './proposal-commands.ts';
import { addRackCommands } from './rack.ts';
import { filtering, NODES, selecting, selectingToRead } from './selection-options.ts';
import { addTerminalCommands } from './terminal-commands.ts';

const version: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;

const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** Options of every verb that connects to an appliance. */
const connected = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'the site file, to find the state folder (default: ./coldiron.yaml if there is one)')
    .option('--state <dir>', 'the state folder of an appliance on this machine')
    .option('--server <url>', 'the URL of a remote appliance (default: $COLDIRON_SERVER); needs a token')
    .option('--token-file <file>', 'a file that contains the token (default: the token in $COLDIRON_TOKEN)')
    .option('--ca-file <file>', 'a PEM file with the CA that signed the certificate of --server')
    .option('--json', 'print one JSON value');

/** Options of the verbs that read the state folder directly. */
const onThisMachine = (command: Command): Command =>
  command
    .option('-c, --config <file>', 'the site file, to find the state folder (default: ./coldiron.yaml if there is one)')
    .option('--state <dir>', 'the state folder')
    .option('--json', 'print one JSON value');

const offline = (command: Command): Command =>
  command.option('-i, --inventory <file>', 'use only this file, without an appliance (may be repeated)', collect);

export function buildProgram(): Command {
  const program = new Command('coldiron')
    .description('Provisions bare-metal servers, from first power-on to enrolled node.')
    .version(version, '-V, --version')
    .showHelpAfterError('(add --help for usage)')
    .exitOverride()
    .addHelpText(
      'after',
      `
First steps:
  coldiron check --inventory inventory/example.yaml        is this inventory valid?
  coldiron explain node01 --inventory inventory/example.yaml   what would this machine boot, and why?
  coldiron serve                                           serve the site that ./coldiron.yaml describes
  coldiron apply inventory/*.yaml --dry-run                what would these files change?

Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 invalid config or inventory, 4 not found, 5 refused,
6 not permitted, 7 not reachable, 8 the audit log was tampered with, 9 the node failed.`,
    );

  program
    .command('serve')
    .summary('start the appliance')
    .description('Starts the listeners and services that the site file declares, and no others.')
    .option('-c, --config <file>', 'the site file (default: ./coldiron.yaml)')
    .option('--state <dir>', 'keep state in this folder instead of the one in the site file')
    .addHelpText('after', '\nStop it with Ctrl-C or SIGTERM. It logs to standard error as JSON, one line per request.')
    .action(async (options) => (await import('./serve.ts')).serve(options));

  connected(program.command('ui'))
    .summary('print a link that opens the web page')
    .description(
      'Prints a link that signs a browser in with your rights: once, within 5 minutes. Over the socket of the appliance these are\n' +
        'the rights of an administrator.',
    )
    .option('--url <url>', 'how the browser reaches the appliance (default: the address on which it listens)')
    .addHelpText('after', '\nExample:\n  coldiron ui --url https://coldiron.example:8443')
    .action(async (options) => (await import('./ui.ts')).printSignInLink(options));

  offline(connected(program.command('check')))
    .summary('check the site file, the inventory and the running appliance')
    .description(
      'Checks the site file and the inventory, and lists all problems with file, field and reason. Without a site file,\n' +
        'and with --state or --server: what is wrong with the running appliance.',
    )
    .option('--templates <dir>', 'render these templates for every node, instead of those in the site file')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron check --inventory inventory/example.yaml\n  coldiron check --state /var/lib/coldiron',
    )
    .action(async (options) => (await import('./check.ts')).check(options));

  connected(program.command('apply'))
    .summary('apply inventory files')
    .description(
      'Applies inventory files to the store, all or nothing. Each file owns what it declares: an object that is no longer\n' +
        'in its file is removed. Objects of other files do not change.',
    )
    .argument('<file...>', 'inventory files (YAML or JSON)')
    .option('-n, --dry-run', 'change nothing; show what would change, also in rendered files')
    .option('--diff', 'with --dry-run: show the changed lines of rendered files')
    .addHelpText('after', '\nExample:\n  coldiron apply inventory/*.yaml --dry-run')
    .action(async (files, options) => (await import('./apply.ts')).apply(files, options));

  const nodes = program
    .command('nodes')
    .summary('list, show, add, accept and import nodes')
    .description('Manages the nodes of the inventory.');
  filtering(connected(nodes.command('list')))
    .description('Lists nodes with state, address and profile.')
    .action(async (options) => (await import('./nodes.ts')).listNodes(options));
  selectingToRead(connected(nodes.command('show')))
    .description('Shows nodes: their declaration, their state, and what they wait for.')
    .argument(...NODES)
    .action(async (nodes, options) => (await import('./nodes.ts')).showNodes(nodes, options));
  connected(nodes.command('add'))
    .description('Adds one node. It belongs to no inventory file, so apply never removes it.')
    .argument('<name>', 'host name')
    .requiredOption('--mac <mac>', 'MAC address of its boot interface')
    .requiredOption('--network <name>', 'the network of that interface')
    .requiredOption('--sku <name>', 'an active SKU of the catalogue')
    .option('--profile <name>', 'the profile to install')
    .option('--address <ip>', 'its reserved address on that network')
    .option('--interface <name>', 'the name of that interface', 'eth0')
    .option('--switch <name>', 'the switch that its cable belongs in')
    .option('--switch-port <port>', 'the port of that switch, like Ethernet1/12')
    .option('--uuid <uuid>', 'SMBIOS UUID: binds the node to its chassis')
    .option('--bmc <ip>', 'address of its BMC')
    .addOption(new Option('--bmc-driver <driver>', 'the protocol of the BMC').choices(BMC_DRIVERS).default('ipmi'))
    .option('--bmc-username <name>')
    .option('--bmc-password-file <file>', 'a file on the appliance that contains the BMC password')
    .addHelpText(
      'after',
      '\nExample:\n  coldiron nodes add node09 --mac 52:54:00:12:34:99 --network provisioning --sku gp1',
    )
    .action(async (name, options) => (await import('./nodes.ts')).addNode(name, options));
  connected(nodes.command('import'))
    .description('Adds or changes nodes from a CSV file, all or nothing.')
    .argument('<csv>', 'the file; its first line names the columns')
    .option('-n, --dry-run', 'change nothing; show what would change')
    .addHelpText(
      'after',
      '\nColumns: name, mac, network, sku (required); address, interface, profile, cluster, uuid, serial, bmc_address,\n' +
        'bmc_driver, bmc_username, bmc_password_file (optional).\n\nExample:\n  coldiron nodes import rack7.csv --dry-run',
    )
    .action(async (file, options) => (await import('./import-nodes.ts')).importNodes(file, options));

  selectingToRead(offline(connected(program.command('explain'))))
    .summary('explain what machines would boot, stage by stage')
    .description(
      'Shows the answer that machines would get at each stage, from power-on to first boot, with the reason.',
    )
    .argument('[machine...]', 'MAC addresses or host names; or select nodes with the options below')
    .option(
      '--arch <code>',
      'client architecture as in DHCP option 93: 0 BIOS, 7 UEFI x86-64, 11 UEFI arm64, 16 UEFI HTTP boot …',
    )
    .option('--via <relay>', 'assume that the request came through this DHCP relay')
    .addOption(
      new Option('--as <state>', 'assume this state, and an armed intent if the state needs one').choices(
        LIFECYCLE_STATES,
      ),
    )
    .option('--armed', 'assume that its deployment (state deploying) or erasure (releasing) is armed')
    .addOption(new Option('--not-armed', 'assume that nothing is armed').implies({ armed: false }))
    .addHelpText(
      'after',
      '\nExample:\n  coldiron explain 52:54:00:12:34:56 --arch 7 --inventory inventory/example.yaml',
    )
    .action(async (machines, options) => (await import('./explain.ts')).explain(machines, options));

  selecting(offline(connected(program.command('render'))), '--at')
    .summary('render the installation files of a node or a site')
    .description(
      'Renders the files that a node is installed from: its NixOS flake, its cloud-init seed or its installer answers.\n' +
        'Writes them to the folder, all or nothing; without a folder it prints them. Other files in the folder\n' +
        'do not change.',
    )
    .argument('[node-or-folder]', 'host name, MAC address or id; with --site or a selector: the folder')
    .argument('[folder]', 'the folder to write; with a selector, each node gets its own subfolder')
    .option('--site', 'render a whole site: one flake for all nodes, DNS zones, hosts, firewalls, Ansible, Prometheus')
    .option('--at <site>', 'the site, if there are several; with a selector: nodes of this site')
    .option('--diff', 'show the changes since the node last received its files')
    .option('--force', 'overwrite files that Coldiron did not write or that were edited')
    .option('--no-secrets', 'leave out keys; creates and stores nothing')
    .option('--templates <dir>', 'offline: use these templates instead of the built-in ones')
    .addHelpText(
      'after',
      '\nExamples:\n  coldiron render node01 ./node01 --inventory inventory/example.yaml\n' +
        '  coldiron render --site ./site\n  coldiron render node01 --diff\n  coldiron render --rack r7 ./rack7\n' +
        '  coldiron render --rack r7 --diff',
    )
    .action(async (first, second, options) => (await import('./render.ts')).render(first, second, options));

  const assets = program
    .command('assets')
    .summary('build, fetch, verify and list boot files')
    .description('Manages the boot files of the appliance on this machine: loaders, kernels, images.');
  onThisMachine(assets.command('build'))
    .description(
      'Builds loaders and the service OS from Debian packages, which it downloads if needed; it installs nothing on this machine. ' +
        'A Debian image for virtual machines is built only when it is named (debian-12; needs root).',
    )
    .argument('[name...]', 'build only these: a loader, images/service-os-x86_64, images/debian-12, …')
    .addHelpText('after', '\nExamples:\n  coldiron assets build\n  coldiron assets build debian-12')
    .action(async (names, options) => (await import('./assets.ts')).buildBootFiles(names, options));
  onThisMachine(assets.command('fetch'))
    .description(
      'Downloads the files that <state>/assets/extra.yaml declares with a URL, and verifies their checksums.',
    )
    .argument('[name...]', 'fetch only these')
    .action(async (names, options) => (await import('./assets.ts')).fetchBootFiles(names, options));
  onThisMachine(assets.command('import-nixos'))
    .description('Imports a built NixOS network installer for the machines of one profile.')
    .argument('<profile>', 'the profile whose machines boot it')
    .argument('<folder>', 'with bzImage, initrd and netboot.ipxe: result, after nix build .#netboot-installer')
    .option('--arch <name>', 'require a kernel for this architecture: x86_64 or arm64')
    .action(async (profile, folder, options) =>
      (await import('./assets.ts')).importNixosInstaller(profile, folder, options),
    );
  onThisMachine(assets.command('verify'))
    .description('Verifies every boot file, and lists which machines would get no loader or a wrong one.')
    .action(async (options) => (await import('./assets.ts')).verifyBootFiles(options));
  onThisMachine(assets.command('list'))
    .description('Lists the boot files that the appliance serves.')
    .action(async (options) => (await import('./assets.ts')).listBootFiles(options));

  addNodeCommands(program, connected);
  addOnboardingCommands(program, connected);
  addNodeReads(program, connected);
  addBmcCommands(program, connected);
  addEnrollmentCommands(program, connected);
  addAgentCommands(program, connected);
  addExportCommands(program, connected);

  const skus = program
    .command('skus')
    .summary('list the SKU catalogue, and roll a change back')
    .description('SKUs: kinds of hardware that nodes refer to. They are declared in inventory files.');
  connected(skus.command('list'))
    .description('Lists SKUs with owner, regions and the hardware that their machines have at least.')
    .action(async (options) => (await import('./skus.ts')).listSkus(options));
  connected(skus.command('rollback'))
    .description('Proposes to restore the version that a SKU had before its last approved change.')
    .argument('<sku>', 'its name')
    .action(async (sku, options) => (await import('./proposals.ts')).rollBackSku(sku, options));
  addProposalCommands(program, connected);
  addAccessCommands(program, connected);
  addTerminalCommands(program, connected);

  const leases = program.command('leases').summary('list DHCP leases').description('Lists DHCP leases.');
  connected(leases.command('list'))
    .description('Lists leases by address, with holder and expiry.')
    .option('--network <name>', 'only leases of this network')
    .action(async (options) => (await import('./trail.ts')).listLeases(options));

  const audit = program
    .command('audit')
    .summary('list and verify the audit log')
    .description('The audit log: every change, who made it, and the values before and after.');
  connected(audit.command('list'))
    .description('Lists audit entries, newest last.')
    .option('--limit <n>', 'show at most this many', '50')
    .option('--correlation-id <id>', 'only what one request did: the X-Correlation-Id of its answer')
    .action(async (options) => (await import('./audit.ts')).listAudit(options));
  connected(audit.command('verify'))
    .description('Verifies the hash chain from the first entry to the last. Works also while no appliance is running.')
    .action(async (options) => (await import('./audit.ts')).verifyAudit(options));

  addRackCommands(program, onThisMachine);

  program
    .command('completion')
    .summary('print a completion script for your shell')
    .description('Prints a completion script: source it, or install it in the completion folder of your shell.')
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
