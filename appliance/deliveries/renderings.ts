// Renderings of the current inventory, for people and installers, and the record of what was delivered to each machine.

import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import type { Machine } from '../domain/machine.ts';
import type { Site } from '../domain/network.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { Inspection } from '../render/nixos/render-nixos.ts';
import { missingFromPreview, type NodeExtras, previewExtras, renderNodeFiles } from '../render/node-files.ts';
import { renderNodeFolder } from '../render/node-folder.ts';
import type { NodePlan } from '../render/node-plan.ts';
import { indexInventory, type PlanIndex } from '../render/plan-index.ts';
import { planNode } from '../render/plan-node.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import { type FileChange, renderingDiff } from '../render/rendering-diff.ts';
import type { AppliancePorts } from '../render/site/firewall.ts';
import { renderSiteFolder, type SkippedNode } from '../render/site-folder.ts';
import { TemplateError } from '../render/template-error.ts';
import type { DeliveredFile, DeliveredRendering } from '../store/rendering-store.ts';
import type { Store } from '../store/store.ts';
import { type EditedRendering, editedRenderings } from './edited-renderings.ts';
import { inspectionOf } from './inspection.ts';
import type { TemplateSet } from './template-set.ts';

export interface RenderingDeps {
  readonly fleet: Pick<Fleet, 'inventory' | 'at'>;
  readonly store: Pick<Store, 'factsOf' | 'renderingOf' | 'putRendering' | 'appendAudit'>;
  readonly templates: TemplateSet;
  /** The NixOS modules that configurations import, by path. */
  readonly modules: ReadonlyMap<string, string>;
  /** Issues a key and a certificate for the services of a node. Null: there is no certificate authority. */
  readonly serviceFiles: ((machine: Machine, origin: Origin) => Promise<readonly RenderedFile[]>) | null;
  readonly ports: AppliancePorts;
  readonly now: () => Instant;
}

export interface NodeRendering {
  readonly plan: NodePlan;
  readonly files: readonly RenderedFile[];
  /** What the rendering lacks, as text, and where to get it. */
  readonly missing: readonly string[];
}

export interface RenderingChanges {
  /** The delivery that it is compared with; null: nothing was ever delivered to the node. */
  readonly since: Pick<DeliveredRendering, 'at' | 'by' | 'inventoryRevision'> | null;
  readonly inventoryRevision: number;
  readonly files: readonly FileChange[];
}

export class Renderings {
  readonly #deps: RenderingDeps;
  /** Cached, because there are many requests between two changes of the inventory. */
  #indexed: { readonly revision: number; readonly index: PlanIndex } | null = null;

  constructor(deps: RenderingDeps) {
    this.#deps = deps;
  }

  /** The current inventory, indexed once per revision. */
  index(): PlanIndex {
    const { revision } = this.#deps.fleet.at;
    if (this.#indexed?.revision !== revision) {
      this.#indexed = { revision, index: indexInventory(this.#deps.fleet.inventory()) };
    }
    return this.#indexed.index;
  }

  /** Throws `invalid_inventory` with every reason why the node cannot be rendered. */
  plan(machine: Machine): NodePlan {
    return planOf(this.index(), machine);
  }

  /** The files of an installation, with its extras. Throws `invalid_inventory` or `invalid_templates`. */
  files(plan: NodePlan, extras: NodeExtras): readonly RenderedFile[] {
    return withTemplates(() => renderNodeFiles(plan, extras, this.#deps.templates));
  }

  /** The newest inspection of the machine, if any. */
  async inspection(machine: Machine): Promise<Inspection | null> {
    const [newest] = await this.#deps.store.factsOf(machine.id);
    return newest ? inspectionOf(newest.facts) : null;
  }

  /** Without secrets; issues nothing. */
  async preview(machine: Machine): Promise<NodeRendering> {
    const plan = this.plan(machine);
    const lacks = needsCertificate(plan)
      ? ['the key and certificate of its services: an appliance issues them to an admin']
      : [];
    return this.#folder(machine, plan, [], lacks);
  }

  /** The complete rendering for an operator who installs the node. Issues a new key on each call; recorded and audited. */
  async issueFolder(machine: Machine, origin: Origin): Promise<NodeRendering> {
    const plan = this.plan(machine);
    // Render first: a node that cannot be rendered must not get a certificate.
    const { missing } = await this.#folder(machine, plan, [], []);
    const { serviceFiles } = this.#deps;
    const isRequired = needsCertificate(plan);
    const issued = isRequired && serviceFiles ? await serviceFiles(machine, origin) : [];
    const lacks =
      isRequired && !serviceFiles ? ['the key and certificate of its services: there is no certificate authority'] : [];
    const rendering = await this.#folder(machine, plan, issued, lacks);
    await this.recordDelivery(machine, plan, rendering.files, 'folder', origin);
    return { ...rendering, missing: [...missing, ...lacks] };
  }

  async #folder(
    machine: Machine,
    plan: NodePlan,
    serviceFiles: readonly RenderedFile[],
    lacks: readonly string[],
  ): Promise<NodeRendering> {
    const { templates, modules } = this.#deps;
    const extras = previewExtras(plan, await this.inspection(machine));
    const files = withTemplates(() => renderNodeFolder(plan, extras, { templates, modules, serviceFiles }));
    return { plan, files, missing: [...lacks, ...missingFromPreview(plan)] };
  }

  /**
   * Records what was delivered to a machine: of its own files the rendering from the inventory alone, of `delivered` the hashes.
   * Call it when an order was fetched or a folder issued.
   */
  async recordDelivery(
    machine: Machine,
    plan: NodePlan,
    delivered: readonly RenderedFile[],
    by: DeliveredRendering['by'],
    { actor, correlationId }: Origin,
  ): Promise<void> {
    const at = this.#deps.now();
    const own = this.files(plan, previewExtras(plan, await this.inspection(machine)));
    const secrets = delivered.filter(({ secret }) => secret);
    const data = {
      by,
      inventory_revision: plan.inventoryRevision,
      files: delivered.length,
      secret_files: secrets.map(({ path }) => path),
    };
    await this.#deps.store.putRendering(
      { machine: machine.id, at, by, inventoryRevision: plan.inventoryRevision, files: recordedFiles(own, secrets) },
      { at, kind: 'rendering.delivered', actor, machine: machine.id, correlationId, data },
    );
    if (secrets.length === 0) return;
    const target = `node:${machine.spec.hostname}`;
    const entry = {
      at,
      actor,
      action: 'rendering.secrets-handed-over',
      target,
      correlationId,
      before: null,
      after: data,
    };
    await this.#deps.store.appendAudit([entry]);
  }

  /** Compares what the inventory renders now with the last delivery to the machine. */
  async changes(machine: Machine): Promise<RenderingChanges> {
    const plan = this.plan(machine);
    const now = this.files(plan, previewExtras(plan, await this.inspection(machine)));
    const last = await this.#deps.store.renderingOf(machine.id);
    const before = (last?.files ?? []).flatMap(({ path, mode, text }) =>
      text === null ? [] : [{ path, mode, text, secret: false }],
    );
    return {
      since: last && { at: last.at, by: last.by, inventoryRevision: last.inventoryRevision },
      inventoryRevision: plan.inventoryRevision,
      files: renderingDiff(before, now),
    };
  }

  /** How many templates are the operator's, and what is wrong with those in the folder now. */
  async templates(): Promise<{ readonly overridden: number; readonly problems: readonly string[] }> {
    const findings = await this.#deps.templates.reload();
    return { overridden: this.#deps.templates.overridden, problems: findings.map(({ message }) => message) };
  }

  /** One step per node; yields to the event loop after each. */
  async *site(site: Site, onSkipped: (skipped: SkippedNode) => void): AsyncGenerator<readonly RenderedFile[]> {
    const { templates, modules, ports } = this.#deps;
    const steps = renderSiteFolder({ index: this.index(), site, templates, modules, ports, onSkipped });
    for (;;) {
      const step = withTemplates(() => steps.next());
      if (step.done) return;
      yield step.value;
      await setImmediate();
    }
  }

  /** The effect of an inventory edit on the renderings of nodes. */
  edited(before: Inventory, after: Inventory): AsyncGenerator<EditedRendering> {
    const render = (plan: NodePlan): readonly RenderedFile[] => this.files(plan, previewExtras(plan));
    return editedRenderings(before, after, render, this.#deps.templates.overridden > 0);
  }
}

function planOf(index: PlanIndex, machine: Machine): NodePlan {
  const planned = planNode(index, machine);
  if (planned.ok) return planned.plan;
  throw new ColdironError('invalid_inventory', `${machine.spec.hostname} cannot be rendered`, planned.reasons);
}

/** Services of a cluster authenticate to each other with certificates that we issue. */
const needsCertificate = ({ profile, cluster }: NodePlan): boolean => profile.kind === 'nixos' && cluster !== null;

function withTemplates<T>(render: () => T): T {
  try {
    return render();
  } catch (error) {
    if (error instanceof TemplateError) throw new ColdironError('invalid_templates', error.message);
    throw error;
  }
}

function recordedFiles(own: readonly RenderedFile[], secrets: readonly RenderedFile[]): DeliveredFile[] {
  const delivered = new Map(secrets.map((file) => [file.path, file]));
  const files = own.map(({ path, mode, text, secret }): DeliveredFile => {
    const sha256 = sumOf(delivered.get(path)?.text ?? text);
    delivered.delete(path);
    return { path, mode, sha256, text: secret ? null : text };
  });
  return [
    ...files,
    ...[...delivered.values()].map(({ path, mode, text }) => ({ path, mode, sha256: sumOf(text), text: null })),
  ];
}

const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex');
