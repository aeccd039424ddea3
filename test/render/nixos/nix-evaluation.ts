// Evaluates rendered configurations with Debian's nix-instantiate, without a daemon, a store or nixpkgs.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BUILT_IN_TEMPLATES, readNodeModules, readTemplateFiles } from '../../../appliance/assets/template-files.ts';
import { type Inspection, nodeFolder } from '../../../appliance/render/nixos/render-nixos.ts';
import { renderSiteFlake } from '../../../appliance/render/nixos/site-flake.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import type { RenderedFile } from '../../../appliance/render/rendered-file.ts';
import { compileTemplates } from '../../../appliance/render/templates.ts';

export const REPOSITORY = join(import.meta.dirname, '../../..');

export const nixosTemplates = compileTemplates(
  new Map([...readTemplateFiles(BUILT_IN_TEMPLATES)].filter(([name]) => name.startsWith('nixos/'))),
);

export const nodeModules = readNodeModules();

export const siteFiles = (plans: readonly NodePlan[], inspections: ReadonlyMap<string, Inspection> = new Map()) =>
  renderSiteFlake({ plans, templates: nixosTemplates, modules: nodeModules, inspections });

/** A JSON value, as Nix printed it. */
export type Evaluated = null | boolean | number | string | Evaluated[] | { readonly [name: string]: Evaluated };

export interface NixOutcome {
  readonly ok: boolean;
  readonly output: string;
  readonly error: string;
}

/** --json streams: a failing evaluation has already printed part of its output, so only the exit code counts. */
export function nixInstantiate(args: readonly string[], input = ''): NixOutcome {
  const { status, stdout, stderr } = spawnSync('nix-instantiate', ['--store', 'dummy://', ...args], {
    encoding: 'utf8',
    input,
    env: { ...process.env, HOME: tmpdir() },
    maxBuffer: 512 * 1024 * 1024,
  });
  return { ok: status === 0, output: stdout, error: stderr };
}

export function evaluate(expression: string): NixOutcome {
  return nixInstantiate(['--readonly-mode', '--eval', '--strict', '--json', '-'], expression);
}

export function mustEvaluate(expression: string): Evaluated {
  const { ok, output, error } = evaluate(expression);
  if (!ok) throw new Error(error);
  return JSON.parse(output);
}

/** Writes the files to a temporary folder, calls `work` with it, and deletes it. */
export function inFolder<T>(files: readonly Pick<RenderedFile, 'path' | 'text'>[], work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-nix-'));
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const MINI_SYSTEM = `
  evaluateModules = import ${join(import.meta.dirname, 'mini-modules.nix')};
  schema = import ${join(import.meta.dirname, 'mini-schema.nix')};
`;

/** The configurations of all plans, by host name, in one call, because Nix starts slowly. */
export function evaluateNodes(
  plans: readonly NodePlan[],
  inspections: ReadonlyMap<string, Inspection> = new Map(),
  change: (files: RenderedFile[]) => RenderedFile[] = (files) => files,
  encryptedFor: readonly NodePlan[] = plans,
): NixOutcome {
  // The file that an operator encrypts for a node with sops.
  const encrypted = encryptedFor.map((plan) => ({ path: `${nodeFolder(plan)}/secrets.yaml`, text: '' }));
  return inFolder([...change(siteFiles(plans, inspections)), ...encrypted], (folder) => {
    const nodes = plans.map((plan) => `{ name = "${plan.hostname}"; value = node "${nodeFolder(plan)}"; }`);
    return evaluate(`let ${MINI_SYSTEM}
      root = ${folder};
      node = path: removeAttrs (evaluateModules { inherit root schema; entry = root + "/\${path}/configuration.nix"; }) [ "_module" ];
    in builtins.listToAttrs [ ${nodes.join(' ')} ]`);
  });
}
