// Renderings of the inventory as it is now, for people, for installers and for the memory of what a machine was given.

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
import { type LeftOut, renderSiteFolder } from '../render/site-folder.ts';
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
  /** The NixOS modules that configurations import, by their path. */
  readonly modules: ReadonlyMap<string, string>;
  /** Makes a key and a certificate for the services of a node. Null: there is no authority here. */
  readonly serviceFiles: ((machine: Machine, onBehalf: Origin) => Promise<readonly RenderedFile[]>) | null;
  readonly ports: AppliancePorts;
  readonly now: () => Instant;
}

export interface NodeRendering {
  readonly plan: NodePlan;
  readonly files: readonly RenderedFile[];
  /** What is not in it, in words, and where to get it. */
  readonly missing: readonly string[];
}

export interface RenderingChanges {
  /** What it is compared with; null: the node was never given anything. */
  readonly since: Pick<DeliveredRendering, 'at' | 'by' | 'inventoryRevision'> | null;
  readonly inventoryRevision: number;
  readonly files: readonly FileChange[];
}

export class Renderings {
  readonly #deps: RenderingDeps;
  /** Many ask between two changes of the inventory. */
  #indexed: { readonly revision: number; readonly index: PlanIndex } | null = null;

  constructor(deps: RenderingDeps) {
    this.#deps = deps;
  }

  /** The inventory as it is now, looked up once for each revision. */
  index(): PlanIndex {
    const { revision } = this.#deps.fleet.at;
    if (this.#indexed?.revision !== revision) {
      this.#indexed = { revision, index: indexInventory(this.#deps.fleet.inventory()) };
    }
    return this.#indexed.index;
  }

  /** `invalid_inventory` with every reason why there is nothing to render. */
  plan(machine: Machine): NodePlan {
    return planOf(this.index(), machine);
  }

  /** The files of an installation, with what only its moment knows. `invalid_inventory` or `invalid_templates`. */
  files(plan: NodePlan, extras: NodeExtras): readonly RenderedFile[] {
    return withTemplates(() => renderNodeFiles(plan, extras, this.#deps.templates));
  }

  /** The newest look into the machine, if there was one. */
  async inspection(machine: Machine): Promise<Inspection | null> {
    const [newest] = await this.#deps.store.factsOf(machine.id);
    return newest ? inspectionOf(newest.facts) : null;
  }

  /** Without a secret, and nothing is made for it. */
  async preview(machine: Machine): Promise<NodeRendering> {
    const plan = this.plan(machine);
    const lacks = needsCertificate(plan)
      ? ['the key and certificate of its services: an appliance makes them for an admin']
      : [];
    return this.#folder(machine, plan, [], lacks);
  }

  /** With everything that can be made for somebody who installs the node. A new key each time; remembered and audited. */
  async handOver(machine: Machine, onBehalf: Origin): Promise<NodeRendering> {
    const plan = this.plan(machine);
    // What cannot be rendered must not cost a certificate.
    const { missing } = await this.#folder(machine, plan, [], []);
    const { serviceFiles } = this.#deps;
    const isWanted = needsCertificate(plan);
    const made = isWanted && serviceFiles ? await serviceFiles(machine, onBehalf) : [];
    const lacks = isWanted && !serviceFiles ? ['the key and certificate of its services: there is no authority'] : [];
    const rendering = await this.#folder(machine, plan, made, lacks);
    await this.delivered(machine, plan, rendering.files, 'folder', onBehalf);
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
   * Remembers what a machine was given: of its own files what the inventory alone makes of them, of `given` the hashes. Call it
   * when an order was fetched or a folder handed over.
   */
  async delivered(
    machine: Machine,
    plan: NodePlan,
    given: readonly RenderedFile[],
    by: DeliveredRendering['by'],
    { actor, correlationId }: Origin,
  ): Promise<void> {
    const at = this.#deps.now();
    const own = this.files(plan, previewExtras(plan, await this.inspection(machine)));
    const secrets = given.filter(({ secret }) => secret);
    const data = {
      by,
      inventory_revision: plan.inventoryRevision,
      files: given.length,
      secret_files: secrets.map(({ path }) => path),
    };
    await this.#deps.store.putRendering(
      { machine: machine.id, at, by, inventoryRevision: plan.inventoryRevision, files: remembered(own, secrets) },
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

  /** What the inventory would give the machine now, against what it was last given. */
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
    const findings = await this.#deps.templates.look();
    return { overridden: this.#deps.templates.overridden, problems: findings.map(({ message }) => message) };
  }

  /** A step for each node; other work goes on in between. */
  async *site(site: Site, leaveOut: (left: LeftOut) => void): AsyncGenerator<readonly RenderedFile[]> {
    const { templates, modules, ports } = this.#deps;
    const steps = renderSiteFolder({ index: this.index(), site, templates, modules, ports, leaveOut });
    for (;;) {
      const step = withTemplates(() => steps.next());
      if (step.done) return;
      yield step.value;
      await setImmediate();
    }
  }

  /** What an edit of the inventory would change in what nodes are given. */
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

/** Its services speak to each other with certificates of ours. */
const needsCertificate = ({ profile, cluster }: NodePlan): boolean => profile.kind === 'nixos' && cluster !== null;

function withTemplates<T>(render: () => T): T {
  try {
    return render();
  } catch (error) {
    if (error instanceof TemplateError) throw new ColdironError('invalid_templates', error.message);
    throw error;
  }
}

function remembered(own: readonly RenderedFile[], secrets: readonly RenderedFile[]): DeliveredFile[] {
  const given = new Map(secrets.map((file) => [file.path, file]));
  const files = own.map(({ path, mode, text, secret }): DeliveredFile => {
    const sha256 = sumOf(given.get(path)?.text ?? text);
    given.delete(path);
    return { path, mode, sha256, text: secret ? null : text };
  });
  return [
    ...files,
    ...[...given.values()].map(({ path, mode, text }) => ({ path, mode, sha256: sumOf(text), text: null })),
  ];
}

const sumOf = (text: string): string => createHash('sha256').update(text).digest('hex');
