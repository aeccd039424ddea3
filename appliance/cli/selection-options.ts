// The options that select nodes, for every verb that takes nodes.

import { type Command, Option } from 'commander';
import { LIFECYCLE_STATES } from '../domain/lifecycle.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** `siteOption`: the option that selects a site, for verbs where --site has another meaning. */
export const selecting = (command: Command, siteOption = '--site'): Command =>
  selectingToRead(command, siteOption).option('-y, --yes', 'do not ask for confirmation');

/** For a verb that only reads. */
export const selectingToRead = (command: Command, siteOption = '--site'): Command =>
  filtering(command.option('--all', 'every node'), siteOption).option(
    '-n, --dry-run',
    'only show which nodes are selected',
  );

/** The nodes of a verb, when nothing else is named before or after them. */
export const NODES = ['[node...]', 'host names, MAC addresses or ids; or select nodes with the options below'] as const;

/** Only the filters, for a verb that lists. */
export const filtering = (command: Command, siteOption = '--site'): Command => {
  if (siteOption === '--site') command.option('--site <name>', 'nodes of this site');
  return command
    .option('--rack <name>', 'nodes with this value of the label rack')
    .option('--label <key=value>', 'nodes with this label (may be repeated; all must match)', collect)
    .option('--cluster <name>', 'nodes of this cluster')
    .addOption(new Option('--in <state>', 'nodes in this state').choices(LIFECYCLE_STATES))
    .option('--match <text>', 'nodes whose name, MAC, address, serial or UUID contains this');
};
