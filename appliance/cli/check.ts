import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type BootContract, checkBootContract } from '../assets/boot-contract.ts';
import { AssetLibrary } from '../assets/library.ts';
import { loadConfig } from '../config.ts';
import type { Profile } from '../domain/catalogue.ts';
import { ColdironError } from '../domain/errors.ts';
import type { DeclaredInventory } from '../domain/inventory.ts';
import type { Listener } from '../domain/listener.ts';
import { declaredInventory } from '../inventory/declared-inventory.ts';
import { deployWarnings, missingBootFiles, passwordFileProblems } from './check-warnings.ts';
import { type Connection, connect } from './connection.ts';
import { sourcesWithWarnings } from './inventory-files.ts';
import { operate } from './operate.ts';
import { invalidTemplates, templateProblems, unrenderable, withStableIds } from './render-offline.ts';
import { printable, printJson, standardOutput } from './terminal.ts';

interface CheckOptions {
  readonly config?: string;
  readonly inventory?: string[];
  readonly templates?: string;
  readonly json?: boolean;
}

export async function check(options: CheckOptions): Promise<void> {
  const file =
    options.config ?? (options.inventory === undefined && existsSync('coldiron.yaml') ? 'coldiron.yaml' : undefined);
  if (file === undefined && options.inventory === undefined) {
    throw new ColdironError(
      'usage',
      'nothing to check: ./coldiron.yaml does not exist; name a file with --config or --inventory',
    );
  }
  const config = file === undefined ? null : await loadConfig(file);
  const files = [...(config?.inventoryFiles ?? []), ...(options.inventory ?? [])];
  const { sources, warnings: outdated } = await sourcesWithWarnings(files, config?.inline ? [config.inline] : []);

  const inventory = withStableIds(declaredInventory(sources, 0, randomUUID));
  const templates = options.templates ?? config?.templates ?? null;
  const broken = templates === null ? [] : [...(await templateProblems(templates, inventory))];
  // The appliance also renders them for nodes that these files do not declare.
  if (config?.templates && options.templates === undefined) broken.push(...(await refusedTemplates(config.state)));
  if (broken.length > 0) throw invalidTemplates([...new Set(broken)]);
  const notRenderable = await unrenderable(inventory);

  const library = config === null ? null : await AssetLibrary.open(join(config.state, 'assets'));
  const contract = config && library ? await bootContract(config.state, library, inventory.profiles) : null;
  const notAnswering = config === null ? [] : await silentListeners(config.state);
  const { problems = [] } = contract ?? {};
  if (problems.length > 0) {
    throw new ColdironError(
      'broken_boot_chain',
      'machines would be sent boot file names that the appliance does not serve:',
      problems,
    );
  }

  const passwords = config === null ? null : { folder: config.bmcPasswordFolder, state: config.state };
  const passwordProblems = passwords === null ? new Map() : await passwordFileProblems(inventory, passwords);
  const warnings = [
    ...outdated,
    ...deployWarnings(sources, inventory, library && ((name) => library.find(name)), passwordProblems),
    ...(contract ? missingBootFiles(contract, inventory) : []),
  ];
  const counts = count(sources.map((source) => source.declared));
  const output = standardOutput();
  if (options.json) {
    const checked = [...(file === undefined ? [] : [file]), ...files];
    printJson(output, {
      ok: true,
      files: checked,
      declared: counts,
      warnings,
      not_renderable: notRenderable,
      ...(contract && { boot_chain: contract }),
      not_answering: notAnswering,
    });
    return;
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
  for (const { service, where, networks, problem } of notAnswering) {
    const of = networks.length === 0 ? '' : ` (${networks.map(printable).join(', ')})`;
    output.write(`Not answering: ${service.toUpperCase()} on ${printable(where)}${of}: ${printable(problem)}\n`);
  }
}

/** From the running appliance, which fetches every file from itself; when none runs, from the files alone. */
async function bootContract(state: string, library: AssetLibrary, profiles: readonly Profile[]): Promise<BootContract> {
  const checked = await fromRunning(state, (appliance) => operate(appliance, 'checkBootContract', {}));
  if (checked !== null) return checked;
  return checkBootContract((name) => library.find(name), profiles);
}

/** From the running appliance: an interface may be missing, or another DHCP server may be present. */
async function silentListeners(state: string): Promise<readonly (Listener & { readonly problem: string })[]> {
  const answer = await fromRunning(state, (appliance) => operate(appliance, 'listListeners', {}));
  return (answer?.listeners ?? []).flatMap((each) =>
    each.problem === null ? [] : [{ ...each, problem: each.problem }],
  );
}

const refusedTemplates = async (state: string): Promise<readonly string[]> =>
  (await fromRunning(state, (appliance) => operate(appliance, 'getTemplates', {})))?.problems ?? [];

/** Null: no appliance is running. */
async function fromRunning<T>(state: string, read: (appliance: Connection) => Promise<T>): Promise<T | null> {
  try {
    return await read(await connect({ state }));
  } catch (error) {
    if (error instanceof ColdironError && error.code === 'not_running') return null;
    throw error;
  }
}

function count(declared: readonly DeclaredInventory[]): Record<keyof DeclaredInventory, number> {
  const total = { sites: 0, networks: 0, skus: 0, profiles: 0, clusters: 0, roce: 0, nodes: 0 };
  for (const inventory of declared) {
    for (const kind of Object.keys(total) as (keyof DeclaredInventory)[]) total[kind] += inventory[kind].length;
  }
  return total;
}
