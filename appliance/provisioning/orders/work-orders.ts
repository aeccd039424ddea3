// The order for a machine that starts our code, from the current inventory; and the files that belong to it.

import { type BootServer, bootUrl } from '../../boot/boot-paths.ts';
import { erasureSamples, verifiable } from '../../domain/erasure.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Json } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine.ts';
import type { ObjectName } from '../../domain/names.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import type { SessionMode } from '../../domain/session.ts';
import { STATES } from '../../domain/states.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { renderCloudInit } from '../../render/cloud-init/cloud-init.ts';
import type { BootPart } from '../../render/installers/first-boot.ts';
import type { NodePlan } from '../../render/node-plan.ts';
import { indexInventory, type PlanIndex } from '../../render/plan-index.ts';
import { planNode } from '../../render/plan-node.ts';
import type { RenderedFile } from '../../render/rendered-file.ts';
import type { Templates } from '../../render/templates.ts';
import { declaredCards } from '../cabling.ts';
import { type InstallManner, nixosOrder, SECRETS_FILE } from '../installers/nixos/order.ts';
import { erasedJson } from './erasure-order.ts';
import {
  commissionOrder,
  eraseOrder,
  inspectOrder,
  installOrder,
  installProblems,
  rescueOrder,
  SEED_FILES,
  type ServedImage,
} from './order.ts';
import { type FindAsset, servedImage } from './served-image.ts';

export interface WorkOrdersDeps {
  readonly fleet: Pick<Fleet, 'inventory' | 'at' | 'site' | 'profile'>;
  readonly find: FindAsset;
  readonly templates: Templates;
  /** The parts that make the machine a node, made on demand: they hold a one-time token. */
  readonly nodeParts: (machine: Machine) => Promise<readonly BootPart[]>;
  /** Where its installed system reaches the node API; null: it is off. */
  readonly nodeApiUrl: (machine: Machine) => string | null;
  /** Called once for each installation, so that later renderings can be compared with it. */
  readonly given: (machine: Machine, plan: NodePlan, files: readonly RenderedFile[]) => Promise<void>;
  /** The key that the installer authorizes, where the appliance installs NixOS: the public half of this deployment's key. */
  readonly pushKey: (machine: Machine) => string;
  readonly random: (size: number) => Buffer;
  /** A file of a NixOS installation; null: there is no such file. Making it may issue keys and tokens. */
  readonly nixosFile: (machine: Machine, plan: NodePlan, name: string) => Promise<RenderedFile | null>;
}

/** The path of /health: it answers every client that can reach the appliance. */
const HEALTH_PATH = '/health';

/** The sessions that read samples of erased disks. The installer of NixOS leaves them out. */
const VERIFYING: readonly SessionMode[] = ['commission', 'install'];

export class WorkOrders {
  readonly #deps: WorkOrdersDeps;
  /** Cached: many machines boot at once from the same inventory. */
  #index: { readonly revision: number; readonly index: PlanIndex } | null = null;

  constructor(deps: WorkOrdersDeps) {
    this.#deps = deps;
  }

  /** The plan of the armed profile, or else of the declared one. */
  plan(machine: Machine, profile: ObjectName | null): Parsed<NodePlan> {
    const spec = profile === null ? machine.spec : { ...machine.spec, profile };
    const planned = planNode(this.#indexed(), { ...machine, spec });
    return planned.ok ? parsed(planned.plan) : unparsable(planned.reasons.join('; '));
  }

  /** With new places to sample, each time. */
  order(machine: Machine, mode: SessionMode, server: BootServer): Parsed<Json> {
    const order = this.#order(machine, mode, server);
    const erasure = VERIFYING.includes(mode) ? verifiable(machine.hardware.erasure ?? null) : null;
    if (!order.ok || erasure === null) return order;
    return parsed({ ...(order.value as object), ...erasedJson(erasureSamples(erasure.disks, this.#deps.random)) });
  }

  #order(machine: Machine, mode: SessionMode, server: BootServer): Parsed<Json> {
    const { hostname } = machine.spec;
    switch (mode) {
      case 'inspect':
        return parsed(inspectOrder(hostname));
      case 'commission':
        return parsed(commissionOrder(hostname, declaredCards(machine.spec)));
      case 'erase':
        return parsed(eraseOrder(hostname));
      case 'rescue':
        return this.#rescue(machine);
      case 'install':
        return this.#install(machine, server);
    }
  }

  /**
   * Why there is no order for it; null: there is one. Called for every packet of a machine that starts our code, and by
   * `explain`: it makes no keys, unlike `order` for a pushed installation.
   */
  problem(machine: Machine, mode: SessionMode, server: BootServer): string | null {
    const possible = mode === 'install' ? this.#installable(machine, server) : this.#order(machine, mode, server);
    return possible.ok ? null : possible.reason;
  }

  /** One file of an installation order; null: there is no such file. */
  async file(machine: Machine, name: string, instanceId: string): Promise<RenderedFile | null> {
    const plan = this.plan(machine, machine.intent?.profile ?? null);
    if (!plan.ok) throw new ColdironError('conflict', `${machine.spec.hostname} cannot be installed: ${plan.reason}`);
    if (plan.value.profile.kind === 'nixos') {
      const made = await this.#deps.nixosFile(machine, plan.value, name);
      if (made !== null && name === SECRETS_FILE) await this.#deps.given(machine, plan.value, [made]);
      return made;
    }
    if (!SEED_FILES.some((known) => known === name)) return null;
    // The parts that make it a node are only in user-data, and made when it is fetched.
    const needsParts = name === 'user-data' && plan.value.enrollment === 'first-boot';
    const nodeParts = needsParts ? await this.#deps.nodeParts(machine) : [];
    const file = this.seed(plan.value, instanceId, nodeParts).find(({ path }) => path === name) ?? null;
    if (file !== null && name === 'user-data') await this.#deps.given(machine, plan.value, [file]);
    return file;
  }

  /** Throws a ColdironError that lists every problem. */
  seed(plan: NodePlan, instanceId: string, nodeParts: readonly BootPart[]): RenderedFile[] {
    return renderCloudInit(plan, { instanceId, nodeParts }, this.#deps.templates);
  }

  #indexed(): PlanIndex {
    const { revision } = this.#deps.fleet.at;
    if (this.#index?.revision !== revision) {
      this.#index = { revision, index: indexInventory(this.#deps.fleet.inventory()) };
    }
    return this.#index.index;
  }

  #install(machine: Machine, server: BootServer): Parsed<Json> {
    const installable = this.#installable(machine, server);
    if (!installable.ok) return installable;
    const { plan, image } = installable.value;
    if (image === null) return parsed(nixosOrder(plan, this.#manner(machine, plan)));
    const isRequired = this.#deps.fleet.profile(plan.profile.name)?.cabling === 'require';
    const neighbours = isRequired ? declaredCards(machine.spec) : [];
    const nodeApi = plan.enrollment === 'first-boot' ? this.#deps.nodeApiUrl(machine) : null;
    return parsed(installOrder(plan, image, { home: bootUrl(server, HEALTH_PATH), nodeApi }, neighbours));
  }

  /** `image`: the image for its disk; null: NixOS has its own installer. */
  #installable(machine: Machine, server: BootServer): Parsed<{ plan: NodePlan; image: ServedImage | null }> {
    const planned = this.plan(machine, machine.intent?.profile ?? null);
    if (!planned.ok) return planned;
    const plan = planned.value;
    const problems = installProblems(plan);
    if (problems.length > 0) return unparsable(problems.join('; '));
    const { kind, image } = plan.profile;
    if (kind === 'nixos') return parsed({ plan, image: null });
    if (image === null) return unparsable('its profile names no image');
    const served = servedImage(image, server, this.#deps.find);
    return served.ok ? parsed({ plan, image: served.value }) : served;
  }

  #manner(machine: Machine, { profile }: NodePlan): InstallManner {
    return this.#deps.fleet.profile(profile.name)?.install === 'push'
      ? { way: 'push', authorizedKey: this.#deps.pushKey(machine) }
      : { way: 'pull' };
  }

  /** The users who may become root on the installed system may log in. */
  #rescue(machine: Machine): Parsed<Json> {
    const keys = this.rescueKeys(machine);
    if (keys.length === 0) return unparsable('no account with admin: true has a key, so nobody could log in');
    return parsed(rescueOrder(machine.spec.hostname, keys, Number(STATES.rescue.deadline)));
  }

  rescueKeys({ spec }: Machine): string[] {
    const { fleet } = this.#deps;
    const said = [spec.site && fleet.site(spec.site), spec.profile && fleet.profile(spec.profile), spec];
    const accounts = new Map(
      said.flatMap((from) => (from ? from.accounts : [])).map((account) => [account.name, account]),
    );
    return [...new Set([...accounts.values()].flatMap(({ admin, sshKeys }) => (admin ? sshKeys : [])))];
  }
}
