// The files of a NixOS installation, made for the session that requests them.

import type { Machine } from '../../../domain/machine.ts';
import type { Inspection } from '../../../render/nixos/render-nixos.ts';
import type { NodePlan } from '../../../render/node-plan.ts';
import type { RenderedFile } from '../../../render/rendered-file.ts';
import type { Templates } from '../../../render/templates.ts';
import { type NixosFiles, nixosFiles, sessionFile } from './install-files.ts';
import { SECRETS_FILE } from './order.ts';

export interface SessionFileDeps {
  readonly templates: Templates;
  readonly modules: () => ReadonlyMap<string, string>;
  readonly inspection: (machine: Machine) => Promise<Inspection | null>;
  /** Keys and certificates of its services, new each time. */
  readonly serviceFiles: (
    machine: Machine,
    origin: { readonly actor: string; readonly correlationId: null },
  ) => Promise<readonly RenderedFile[]>;
  /** The files that make it a node; they may hold a new token. */
  readonly installedFiles: (machine: Machine) => Promise<readonly RenderedFile[]>;
}

/** Null: there is no such file. Keys and tokens are made only for the file that contains them. */
export const nixosSessionFile =
  (deps: SessionFileDeps) =>
  async (machine: Machine, plan: NodePlan, name: string): Promise<RenderedFile | null> =>
    sessionFile(name, await filesFrom(deps, machine, plan, name === SECRETS_FILE), null);

/** All of them at once, with new keys and a token; calls `given`. */
export const nixosPushFiles =
  (deps: SessionFileDeps, given: (machine: Machine, plan: NodePlan, files: readonly RenderedFile[]) => Promise<void>) =>
  async (machine: Machine, plan: NodePlan): Promise<NixosFiles> => {
    const files = await filesFrom(deps, machine, plan, true);
    await given(machine, plan, files.extraFiles);
    return files;
  };

async function filesFrom(
  deps: SessionFileDeps,
  machine: Machine,
  plan: NodePlan,
  withSecrets: boolean,
): Promise<NixosFiles> {
  const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: null };
  return nixosFiles({
    plan,
    templates: deps.templates,
    modules: deps.modules(),
    inspection: await deps.inspection(machine),
    serviceFiles: withSecrets && plan.cluster !== null ? await deps.serviceFiles(machine, origin) : [],
    otherFiles: withSecrets && plan.enrollment === 'first-boot' ? await deps.installedFiles(machine) : [],
  });
}
