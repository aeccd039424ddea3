import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BootContract, checkBootContract } from '../assets/boot-contract.ts';
import { AssetLibrary } from '../assets/library.ts';
import { type Config, loadConfig } from '../config.ts';
import { degrades, type FoundProblem } from '../domain/appliance-problem.ts';
import type { Profile } from '../domain/catalogue.ts';
import { ColdironError, ERRORS } from '../domain/errors.ts';
import type { DeclaredInventory, Inventory } from '../domain/inventory.ts';
import { declaredInventory } from '../inventory/declared-inventory.ts';
import { bootFileProblems } from '../self-check/boot-file-problems.ts';
import {
  type ApplianceState,
  applianceState,
  fromRunning,
  isSound,
  printState,
  requireSound,
  type ShownProblem,
} from './check-appliance.ts';
import { deployWarnings, missingBootFiles, passwordFileProblems } from './check-warnings.ts';
import { type ConnectionOptions, stateFolder } from './connection.ts';
import { sourcesWithWarnings } from './inventory-files.ts';
import { operate } from './operate.ts';
import { invalidTemplates, templateProblems, unrenderable, withStableIds } from './render-offline.ts';
import { printable, printJson, standardOutput } from './terminal.ts';

interface CheckOptions extends ConnectionOptions {
  readonly inventory?: string[];
  readonly templates?: string;
}

export async function check(options: CheckOptions): Promise<void> {
  const file = siteFileOf(options);
  if (file === undefined && options.inventory === undefined) return checkAppliance(options);
  const overrides = options.state === undefined ? {} : { state: options.state };
  const config = file === undefined ? null : await loadConfig(file, overrides);
  const files = [...(config?.inventoryFiles ?? []), ...(options.inventory ?? [])];
  const { sources, warnings: outdated } = await sourcesWithWarnings(files, config?.inline ? [config.inline] : []);

  const inventory = withStableIds(declaredInventory(sources, 0, randomUUID));
  const templates = options.templates ?? config?.templates ?? null;
  const broken = templates === null ? [] : [...(await templateProblems(templates, inventory))];
  // The appliance also renders them for nodes that these files do not declare.
  if (config?.templates && options.templates === undefined) broken.push(...(await refusedTemplates(config)));
  if (broken.length > 0) throw invalidTemplates([...new Set(broken)]);
  const notRenderable = await unrenderable(inventory);

  const library = config === null ? null : await AssetLibrary.open(join(config.state, 'assets'));
  const contract = config && library ? await bootContract(config, library, inventory.profiles) : null;
  const state = config && library ? await stateOf(config, library, inventory) : NOTHING_WRONG;
  const damaged = state.problems.filter(({ id }) => id === 'boot-file-damaged');
  const { problems = [] } = contract ?? {};
  if (problems.length > 0) {
    throw new ColdironError(
      'broken_boot_chain',
      'machines would be sent boot file names that the appliance does not serve:',
      [...problems, ...damaged.map(({ words }) => words)],
    );
  }

  const passwords = config === null ? null : { folder: config.bmcPasswordFolder, state: config.state };
  const passwordProblems = passwords === null ? new Map() : await passwordFileProblems(inventory, passwords);
  const warnings = [
    ...outdated,
    ...deployWarnings(sources, inventory, library && ((name) => library.find(name)), passwordProblems),
    ...(contract ? missingBootFiles(without(contract, damaged), inventory) : []),
  ];
  const counts = count(sources.map((source) => source.declared));
  const output = standardOutput();
  if (options.json) {
    const checked = [...(file === undefined ? [] : [file]), ...files];
    printJson(output, {
      ok: isSound(state),
      files: checked,
      declared: counts,
      warnings,
      not_renderable: notRenderable,
      ...(contract && { boot_chain: contract }),
      not_answering: state.silent,
      problems: state.problems,
    });
    return exitUnless(isSound(state));
  }
  const parts = Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([kind, n]) => `${n} ${kind}`);
  const open = warnings.length + notRenderable.length;
  const verdict = open === 0 ? 'Valid' : `No errors, ${open} ${open === 1 ? 'warning' : 'warnings'}`;
  output.write(`${verdict}: ${parts.join(', ') || 'nothing declared'}.\n`);
  for (const warning of warnings) output.write(`Warning: ${printable(warning)}\n`);
  for (const { node, reasons } of notRenderable) {
    output.write(`Not installable yet: ${node}: ${reasons.map(printable).join('; ')}\n`);
  }
  // The warnings above name the missing files.
  printState(output, { ...state, problems: state.problems.filter(({ id }) => id !== 'boot-file-missing') });
  requireSound(state);
}

/** A state folder on the command line selects the appliance, wherever the command is run. */
function siteFileOf({ config, state, server, inventory }: CheckOptions): string | undefined {
  if (config !== undefined) return config;
  const isAppliance = inventory !== undefined || state !== undefined || server !== undefined;
  return !isAppliance && existsSync('coldiron.yaml') ? 'coldiron.yaml' : undefined;
}

/** Without a site file: what the running appliance says about itself. */
async function checkAppliance(options: CheckOptions): Promise<void> {
  const found = await fromRunning(options, async (appliance) => ({
    contract: await operate(appliance, 'checkBootContract', {}),
    state: await applianceState(appliance),
  }));
  if (found === null) {
    const where = options.server ?? (await stateFolder(options));
    throw new ColdironError(
      'usage',
      `nothing to check: no appliance runs with ${where}, and there is no ./coldiron.yaml; name a file with --config or --inventory`,
    );
  }
  const { contract, state } = found;
  const output = standardOutput();
  if (options.json) {
    const ok = isSound(state) && contract.problems.length === 0;
    printJson(output, { ok, boot_chain: contract, not_answering: state.silent, problems: state.problems });
    return exitUnless(ok);
  }
  if (state.problems.length === 0) output.write('The running appliance has no problems.\n');
  printState(output, state);
  if (contract.problems.length > 0) {
    const words = 'machines would be sent boot file names that the appliance does not serve:';
    throw new ColdironError('broken_boot_chain', words, contract.problems);
  }
  requireSound(state);
}

/** With --json the answer itself is the output, and an error would be a second one. */
function exitUnless(ok: boolean): void {
  if (!ok) process.exitCode = ERRORS.appliance_degraded.exit;
}

const NOTHING_WRONG: ApplianceState = { problems: [], silent: [] };

/** From the running appliance; when none runs, from the boot files alone. */
async function stateOf(config: Config, library: AssetLibrary, inventory: Inventory): Promise<ApplianceState> {
  const found = await fromRunning({ state: config.state }, applianceState);
  if (found !== null) return found;
  const problems = bootFileProblems({
    assets: library.list(),
    unusable: library.unusable(),
    profiles: inventory.profiles,
    networks: inventory.networks,
    // Missing files are warnings of their own.
    cpus: new Set(),
    profilesInUse: new Set(inventory.profiles.map(({ name }) => name)),
    state: config.state,
  });
  return { problems: problems.map(shownProblem), silent: [] };
}

const shownProblem = ({ id, subject, words, nextStep }: FoundProblem): ShownProblem => ({
  ...{ id, subject, words },
  severity: degrades({ id }) ? 'error' : 'warning',
  next_step: nextStep,
});

/** A damaged file is there: it is a problem, not a missing file. */
const without = (contract: BootContract, damaged: readonly ShownProblem[]): BootContract => ({
  ...contract,
  missing: contract.missing.filter(({ file }) => !damaged.some(({ subject }) => subject === file)),
});

/** From the running appliance, which fetches every file from itself; when none runs, from the files alone. */
async function bootContract(
  { state }: Config,
  library: AssetLibrary,
  profiles: readonly Profile[],
): Promise<BootContract> {
  const checked = await fromRunning({ state }, (appliance) => operate(appliance, 'checkBootContract', {}));
  if (checked !== null) return checked;
  return checkBootContract((name) => library.find(name), profiles);
}

const refusedTemplates = async ({ state }: Config): Promise<readonly string[]> =>
  (await fromRunning({ state }, (appliance) => operate(appliance, 'getTemplates', {})))?.problems ?? [];

function count(declared: readonly DeclaredInventory[]): Record<keyof DeclaredInventory, number> {
  const total = { sites: 0, networks: 0, skus: 0, profiles: 0, clusters: 0, roce: 0, nodes: 0 };
  for (const inventory of declared) {
    for (const kind of Object.keys(total) as (keyof DeclaredInventory)[]) total[kind] += inventory[kind].length;
  }
  return total;
}
