// The options with which every verb that takes nodes selects them.

import { type Command, Option } from 'commander';
import { LIFECYCLE_STATES } from '../domain/lifecycle.ts';

const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** `siteOption`: what the site is selected with where --site means something else. */
export const selecting = (command: Command, siteOption = '--site'): Command =>
  filtering(command.option('--all', 'every node'), siteOption)
    .option('-n, --dry-run', 'only show which nodes are selected')
    .option('-y, --yes', 'do not ask for confirmation');

/** The filters alone, for a verb that only lists. */
export const filtering = (command: Command, siteOption = '--site'): Command => {
  if (siteOption === '--site') command.option('--site <name>', 'nodes of this site');
  return command
    .option('--rack <name>', 'nodes with this value of the label rack')
    .option('--label <key=value>', 'nodes with this label (may be repeated; all must match)', collect)
    .option('--cluster <name>', 'nodes of this cluster')
    .addOption(new Option('--in <state>', 'nodes in this state').choices(LIFECYCLE_STATES))
    .option('--match <text>', 'nodes whose name, MAC, address, serial or UUID contains this');
};
