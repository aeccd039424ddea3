// The files of a NixOS installation, made for the session that asks for them.

import type { Machine } from '../../../domain/machine.ts';
import type { Inspection } from '../../../render/nixos/render-nixos.ts';
import type { NodePlan } from '../../../render/node-plan.ts';
import type { RenderedFile } from '../../../render/rendered-file.ts';
import type { Templates } from '../../../render/templates.ts';
import { type NixosFiles, nixosFiles, sessionFile } from './install-files.ts';
import { SECRETS_FILE } from './order.ts';

export interface SessionFileParts {
  readonly templates: Templates;
  readonly modules: () => ReadonlyMap<string, string>;
  readonly inspection: (machine: Machine) => Promise<Inspection | null>;
  /** Keys and certificates of its services, made anew each time. */
  readonly serviceFiles: (
    machine: Machine,
    onBehalf: { readonly actor: string; readonly correlationId: null },
  ) => Promise<readonly RenderedFile[]>;
  /** What makes it a node; it may hold a token that is made for it. */
  readonly installedFiles: (machine: Machine) => Promise<readonly RenderedFile[]>;
}

/** Null: there is no such file. Keys and tokens are made only for whoever is really given them. */
export const nixosSessionFile =
  (parts: SessionFileParts) =>
  async (machine: Machine, plan: NodePlan, name: string): Promise<RenderedFile | null> =>
    sessionFile(name, await filesFrom(parts, machine, plan, name === SECRETS_FILE), null);

/** All of them at once, with new keys and a token; `given` is told. */
export const nixosPushFiles =
  (
    parts: SessionFileParts,
    given: (machine: Machine, plan: NodePlan, files: readonly RenderedFile[]) => Promise<void>,
  ) =>
  async (machine: Machine, plan: NodePlan): Promise<NixosFiles> => {
    const files = await filesFrom(parts, machine, plan, true);
    await given(machine, plan, files.extraFiles);
    return files;
  };

async function filesFrom(
  parts: SessionFileParts,
  machine: Machine,
  plan: NodePlan,
  withSecrets: boolean,
): Promise<NixosFiles> {
  const onBehalf = { actor: `machine:${machine.spec.hostname}`, correlationId: null };
  return nixosFiles({
    plan,
    templates: parts.templates,
    modules: parts.modules(),
    inspection: await parts.inspection(machine),
    serviceFiles: withSecrets && plan.cluster !== null ? await parts.serviceFiles(machine, onBehalf) : [],
    otherFiles: withSecrets && plan.enrollment === 'first-boot' ? await parts.installedFiles(machine) : [],
  });
}
