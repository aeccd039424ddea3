// The verbs of SSH keys, key sets and allocations.

import type { Command } from 'commander';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

export function addAccessCommands(program: Command, connected: (command: Command) => Command): void {
  const keys = program
    .command('keys')
    .summary('list, add and remove the SSH keys of people')
    .description('SSH public keys. Each belongs to a person, who may change it; admins may change all.');
  connected(keys.command('list'))
    .description('Lists keys with owner and fingerprint.')
    .option('--owner <name>', 'only keys of this person')
    .action(async (options) => (await import('./access-keys.ts')).listKeys(options));
  connected(keys.command('add'))
    .description('Adds a public key. Without --owner it belongs to you.')
    .argument('<file>', 'the .pub file')
    .option('--owner <name>', 'the person whom it belongs to')
    .addHelpText('after', '\nExample:\n  coldiron keys add ~/.ssh/id_ed25519.pub --owner alice')
    .action(async (file, options) => (await import('./access-keys.ts')).addKey(file, options));
  connected(keys.command('remove'))
    .description('Removes a key. Refused while a key set contains it.')
    .argument('<key>', 'its id or its fingerprint')
    .action(async (key, options) => (await import('./access-keys.ts')).removeKey(key, options));

  const allocations = program
    .command('allocations')
    .summary('give nodes to users, and take them back')
    .description('An allocation gives a user an account on a node, with SSH keys. While it lasts, the node is in use.');
  connected(allocations.command('list'))
    .description('Lists allocations that hold a node.')
    .option('--user <name>', 'only those of this user')
    .option('--node <node>', 'only those of this node')
    .option('--all', 'also those that are released')
    .action(async (options) => (await import('./allocations.ts')).listAllocations(options));
  connected(allocations.command('show'))
    .description('Shows one allocation.')
    .argument('<allocation>', 'its id')
    .action(async (allocation, options) => (await import('./allocations.ts')).showAllocation(allocation, options));
  connected(allocations.command('request'))
    .description('Allocates a node to a user.')
    .argument('<user>', 'the name of the account')
    .option('--node <node>', 'this node')
    .option('--sku <sku>', 'any free node of this SKU')
    .option('--key-set <name>', 'its SSH keys (default: the keys of the user and the default keys of the site)')
    .option('--sudo-policy <name>', 'a reviewed sudo policy (default: no root rights)')
    .option('--wait', 'wait until the user can log in')
    .addHelpText('after', '\nExample:\n  coldiron allocations request alice --sku gp1 --wait')
    .action(async (user, options) => (await import('./allocations.ts')).requestAllocation(user, options));
  connected(allocations.command('release'))
    .description('Releases an allocation: its account is removed with all files. Also repeats a release that failed.')
    .argument('<allocation>', 'its id')
    .option('--wait', 'wait until the node is free')
    .action(async (allocation, options) => (await import('./allocations.ts')).releaseAllocation(allocation, options));
  connected(allocations.command('clean-up'))
    .description(
      'Ends an allocation whose release failed. You vouch that nothing of the account is left; it is audited.',
    )
    .argument('<allocation>', 'its id')
    .requiredOption('--note <text>', 'how the node was cleaned')
    .action(async (allocation, options) => (await import('./allocations.ts')).cleanUpAllocation(allocation, options));
  connected(allocations.command('keys'))
    .description('Uses another key set for an allocation; the node gets its keys at once.')
    .argument('<allocation>', 'its id')
    .argument('[set]', 'the key set')
    .option('--default', 'the keys of the user and the default keys of the site')
    .action(async (allocation, set, options) =>
      (await import('./allocations.ts')).setAllocationKeys(allocation, set, options),
    );

  const sets = program
    .command('key-sets')
    .summary('key sets: which SSH keys open which accounts, their rotation and rollback')
    .description(
      'A key set is a list of SSH keys under one name. To replace a key: rotate adds the new key, validate asks a server whether\n' +
        'the new key opens a login, finish removes the old key. Until then both work, and rollback restores an earlier version.',
    );
  connected(sets.command('list'))
    .description('Lists key sets.')
    .action(async (options) => (await import('./access-keys.ts')).listSets(options));
  connected(sets.command('show'))
    .description('Shows a key set and its versions.')
    .argument('<set>', 'its name')
    .action(async (set, options) => (await import('./access-keys.ts')).showSet(set, options));
  connected(sets.command('set'))
    .description('Creates a key set, or sets its keys.')
    .argument('<set>', 'its name')
    .requiredOption('--key <key>', 'the id or fingerprint of a key (may be repeated)', collect)
    .option('--owner <name>', 'the person whom it belongs to')
    .action(async (set, options) => (await import('./access-keys.ts')).putSet(set, options));
  connected(sets.command('remove'))
    .description('Removes a key set. Refused while something uses it.')
    .argument('<set>', 'its name')
    .action(async (set, options) => (await import('./access-keys.ts')).changeSet('removeKeySet', set, options));
  connected(sets.command('rotate'))
    .description('Begins to replace a key: adds the new one, and keeps the old one.')
    .argument('<set>', 'its name')
    .requiredOption('--from <key>', 'the key that leaves')
    .requiredOption('--to <key>', 'the key that replaces it')
    .action(async (set, options) => (await import('./access-keys.ts')).rotateSet(set, options));
  connected(sets.command('validate'))
    .description('Asks an SSH server whether it lets a user in with the new key.')
    .argument('<set>', 'its name')
    .requiredOption('--host <host>', 'the server, seen from the appliance')
    .requiredOption('--user <name>', 'the user to log in as')
    .option('--port <port>', 'the port of the server', '22')
    .addHelpText('after', '\nExample:\n  coldiron key-sets validate ops --host node01 --user alice')
    .action(async (set, options) => (await import('./access-keys.ts')).validateSet(set, options));
  connected(sets.command('finish'))
    .description('Removes the old key. Refused before the new key was validated.')
    .argument('<set>', 'its name')
    .action(async (set, options) => (await import('./access-keys.ts')).changeSet('finishKeySetRotation', set, options));
  connected(sets.command('rollback'))
    .description('Restores an earlier version of a key set.')
    .argument('<set>', 'its name')
    .option('--to <version>', 'the version to restore (default: the one before)')
    .action(async (set, options) => (await import('./access-keys.ts')).rollBackSet(set, options));
  connected(sets.command('default'))
    .description('Shows the default key sets of all sites, or sets that of one.')
    .argument('[site]', 'the site')
    .argument('[set]', 'the key set')
    .option('--none', 'the site gets no default keys')
    .option('--rollback', 'restore the default that the site had before')
    .action(async (site, set, options) => (await import('./access-keys.ts')).siteDefault(site, set, options));

  const policies = program
    .command('sudo-policies')
    .summary('which commands users of allocations may run as root')
    .description('A sudo policy is an explicit list of commands. It can be used after an admin has reviewed it.');
  connected(policies.command('list'))
    .description('Lists policies with their commands, checksums and reviewers.')
    .action(async (options) => (await import('./sudo-policies.ts')).listPolicies(options));
  connected(policies.command('set'))
    .description('Creates a policy, or sets its commands; it must be reviewed again.')
    .argument('<policy>', 'its name')
    .requiredOption('--command <command>', 'an absolute path with exactly these arguments (may be repeated)', collect)
    .option('--owner <name>', 'the person whom it belongs to')
    .addHelpText(
      'after',
      '\nExample:\n  coldiron sudo-policies set web --command "/usr/bin/systemctl restart nginx.service"',
    )
    .action(async (policy, options) => (await import('./sudo-policies.ts')).putPolicy(policy, options));
  connected(policies.command('review'))
    .description('Records that you have reviewed the policy with this checksum.')
    .argument('<policy>', 'its name')
    .requiredOption('--checksum <sum>', 'of the version that you have read')
    .action(async (policy, options) => (await import('./sudo-policies.ts')).reviewPolicy(policy, options));
  connected(policies.command('remove'))
    .description('Removes a policy; allocations that have it keep it.')
    .argument('<policy>', 'its name')
    .action(async (policy, options) => (await import('./sudo-policies.ts')).removePolicy(policy, options));
}
