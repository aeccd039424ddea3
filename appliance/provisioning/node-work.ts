// Gathers the input of an operator's command (guards, profiles, keys), and executes it.

import { imageFor } from '../boot/boot-images.ts';
import type { Origin } from '../domain/event.ts';
import { type Machine, macsOf } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import { DEPLOY_MINUTES_WITHOUT_PROFILE } from '../domain/states.ts';
import { rebind } from '../machines/commands/hardware.ts';
import { cancel, deploy, release, startServiceOs } from '../machines/commands/work.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { blockingProblems } from './appliance-guards.ts';
import { deployFindings, deployProblems, firmwareProblems, type GuardDeps, type GuardFinding } from './guards.ts';
import type { WorkOrders } from './orders/work-orders.ts';

export interface NodeWorkDeps extends GuardDeps {
  readonly orders: Pick<WorkOrders, 'plan' | 'seed' | 'rescueKeys'>;
  readonly commands: Pick<MachineCommands, 'request' | 'mustExecute'>;
}

/** Commands that need only the lifecycle, and `commission`. */
export type PlainWork = 'commission' | 'drain' | 'drained' | 'undrain' | 'rescue-ended';

export class NodeWork {
  readonly #deps: NodeWorkDeps;

  constructor(deps: NodeWorkDeps) {
    this.#deps = deps;
  }

  /** `not_deployable` lists every reason, and nothing is armed. */
  deploy(machine: Machine, chosen: ObjectName | null, origin: Origin): Promise<Machine> {
    const { commands, fleet } = this.#deps;
    const input = { profile: chosen, note: origin.note ?? null };
    return commands.mustExecute({ machine: machine.id, name: 'deploy', input, origin }, async (known, context) => {
      const profile = chosen ?? known.spec.profile;
      const problems = profile === null ? [] : await deployProblems(this.#deps, { machine: known, profile });
      const minutes = (profile && fleet.profile(profile)?.deployMinutes) ?? DEPLOY_MINUTES_WITHOUT_PROFILE;
      return deploy(known, { profile, minutes, problems, origin }, context);
    });
  }

  /** What would stop a deployment now. Nothing is changed. */
  findings(machine: Machine, profile: ObjectName): Promise<readonly GuardFinding[]> {
    return deployFindings(this.#deps, { machine, profile });
  }

  release(machine: Machine, origin: Origin): Promise<Machine> {
    const command = { machine: machine.id, name: 'release', input: { note: origin.note ?? null }, origin };
    return this.#deps.commands.mustExecute(command, async (known, context) =>
      release(known, { problems: await this.#serviceOsProblems(known), origin }, context),
    );
  }

  rescue(machine: Machine, origin: Origin): Promise<Machine> {
    return this.#startServiceOs(machine, 'rescue', origin);
  }

  /** Cancels commissioning, deploying, enrolling or releasing. */
  cancel(machine: Machine, origin: Origin): Promise<Machine> {
    const command = { machine: machine.id, name: 'cancel', input: { note: origin.note ?? null }, origin };
    return this.#deps.commands.mustExecute(command, (known, context) => cancel(known, origin, context));
  }

  /** Accepts the hardware that the machine showed last as its identity. */
  rebind(machine: Machine, origin: Origin): Promise<Machine> {
    const command = { machine: machine.id, name: 'rebind', input: { note: origin.note ?? null }, origin };
    return this.#deps.commands.mustExecute(command, (known, context) => rebind(known, origin, context));
  }

  plain(machine: Machine, event: PlainWork, origin: Origin): Promise<Machine> {
    return event === 'commission'
      ? this.#startServiceOs(machine, event, origin)
      : this.#deps.commands.request(machine.id, event, origin);
  }

  #startServiceOs(machine: Machine, event: 'commission' | 'rescue', origin: Origin): Promise<Machine> {
    const command = { machine: machine.id, name: event, input: { note: origin.note ?? null }, origin };
    return this.#deps.commands.mustExecute(command, async (known, context) => {
      const problems = [
        ...(event === 'rescue' ? this.#rescueProblems(known) : []),
        ...(await this.#serviceOsProblems(known)),
      ];
      return startServiceOs(known, event, { problems, origin }, context);
    });
  }

  #rescueProblems(machine: Machine): string[] {
    return this.#deps.orders.rescueKeys(machine).length > 0
      ? []
      : ['nobody could log in: no account with admin: true of the node, its profile or its site has a key'];
  }

  /** Why the machine could not start the service OS: checked before the command, not found at its deadline. */
  async #serviceOsProblems(machine: Machine): Promise<string[]> {
    const { spec } = machine;
    await this.#deps.readFiles();
    const required = imageFor({ kind: 'service-os' }, spec.architecture, null);
    const image = required && (await this.#deps.images.find(required));
    return [
      ...blockingProblems(this.#deps),
      ...(await firmwareProblems(this.#deps, machine)),
      ...(macsOf(spec).length > 0 ? [] : ['it has no MAC address, so it cannot be recognized when it boots']),
      ...(image?.ok ? [] : [`it would start ${image?.reason ?? 'nothing'}, which is not on this appliance`]),
    ];
  }
}
