// Which declared node is which machine. A machine keeps its id and its life through every edit that leaves either its
// name or one of its MAC addresses alone.

import { instantText } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import { isInUse, lifeIn } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import { type Machine, type MachineSpec, macsOf, parseMachineId } from '../domain/machine.ts';
import { mustParse } from '../domain/parsed.ts';
import type { InventoryWrites } from '../store/store.ts';
import { showedUpByItself } from './held-objects.ts';
import { ownershipProblem, takeover, withKnownHardware } from './ownership.ts';
import type { PlanRequest } from './plan.ts';
import { refused, removal, type Step, stepTo, withNotes } from './plan-record.ts';

export interface NodePlan {
  readonly steps: readonly Step[];
  readonly create: InventoryWrites['createMachines'];
  readonly change: InventoryWrites['changeMachines'];
  readonly remove: InventoryWrites['removeMachines'];
  /** Every node there is afterwards: they hold on to what they name. */
  readonly remaining: readonly MachineSpec[];
}

type Growing<T> = { readonly [Key in keyof T]: T[Key] extends readonly (infer Item)[] ? Item[] : never };

export function planNodes(held: Inventory, request: PlanRequest): NodePlan {
  const plan: Growing<NodePlan> = { steps: [], create: [], change: [], remove: [], remaining: [] };
  const declared = request.sources.flatMap(({ name, declared: { nodes } }) =>
    nodes.map((spec) => ({ spec, source: name })),
  );
  const specs = declared.map(({ spec }) => spec);
  const goes = removable(request);
  const machineOf = matchMachines(held.machines, specs, goes);
  const kept = new Set(machineOf.values());
  const unmatched = held.machines.filter((machine) => !kept.has(machine));
  // Only those are asked about, and after most edits there are none.
  const claimants = unmatched.length > 0 ? specs : [];
  const claimed = new Map(claimants.flatMap((spec) => macsOf(spec).map((mac): [Mac, MachineSpec] => [mac, spec])));

  const removedByMac = new Map(
    (held.removed ?? []).flatMap((machine) => macsOf(machine.spec).map((mac): [Mac, Machine] => [mac, machine])),
  );
  const predecessorOf = (spec: MachineSpec): Machine | undefined =>
    macsOf(spec)
      .map((mac) => removedByMac.get(mac))
      .find((machine) => machine !== undefined);
  const rivals = new Map<MachineSpec, Machine>();
  const leaving: { machine: Machine; successor: MachineSpec | undefined }[] = [];
  for (const machine of unmatched) {
    const successor = macsOf(machine.spec)
      .map((mac) => claimed.get(mac))
      .find((spec) => spec !== undefined);
    // A machine that merely showed up, and turns out to be a card of a known node, is that node.
    if (goes(machine) || (successor && machine.lifecycle.state === 'discovered')) leaving.push({ machine, successor });
    else {
      plan.remaining.push(machine.spec);
      if (successor) rivals.set(successor, machine);
    }
  }
  for (const { spec, source } of declared) {
    const rival = rivals.get(spec);
    if (rival) plan.steps.push(refused('node', spec.hostname, source, rivalry(rival, spec)));
    else {
      const machine = machineOf.get(spec);
      planNode(plan, { machine, predecessor: machine ? undefined : predecessorOf(spec) }, spec, source, request);
    }
  }
  for (const { machine, successor } of leaving) planRemoval(plan, machine, successor, request);
  return plan;
}

/** Whether a machine goes when no declared node turns out to be it. */
function removable({ mode, sources }: PlanRequest): (machine: Machine) => boolean {
  const applied = new Set(sources.map(({ name }) => name));
  return (machine) => mode === 'reconcile' && applied.has(machine.source);
}

/** By host name; else by a MAC address shared with one that would go (a rename) or that nobody has declared yet. */
function matchMachines(
  machines: readonly Machine[],
  specs: readonly MachineSpec[],
  goes: (machine: Machine) => boolean,
): Map<MachineSpec, Machine> {
  const byHostname = new Map(machines.map((machine) => [machine.spec.hostname, machine]));
  const matches = new Map<MachineSpec, Machine>();
  for (const spec of specs) {
    const machine = byHostname.get(spec.hostname);
    if (machine) matches.set(spec, machine);
  }
  if (matches.size === specs.length) return matches;
  const taken = new Set(matches.values());
  const free = machines.filter((machine) => !taken.has(machine) && (showedUpByItself(machine) || goes(machine)));
  const byMac = new Map(free.flatMap((machine) => macsOf(machine.spec).map((mac): [Mac, Machine] => [mac, machine])));
  for (const spec of specs) {
    if (matches.has(spec)) continue;
    const machine = macsOf(spec)
      .map((mac) => byMac.get(mac))
      .find((candidate) => candidate !== undefined && !taken.has(candidate));
    if (!machine) continue;
    matches.set(spec, machine);
    taken.add(machine);
  }
  return matches;
}

function planNode(
  plan: Growing<NodePlan>,
  { machine, predecessor }: { machine: Machine | undefined; predecessor: Machine | undefined },
  declared: MachineSpec,
  source: string,
  request: PlanRequest,
): void {
  const { at, newId } = request;
  const foreign = machine && ownershipProblem(machine.source, source);
  if (machine && foreign) {
    plan.remaining.push(machine.spec);
    plan.steps.push({ ...refused('node', declared.hostname, source, foreign), machine: machine.id });
    return;
  }
  const { spec, kept } = machine ? withKnownHardware(declared, machine, source, request) : { spec: declared, kept: [] };
  plan.remaining.push(spec);
  const held = machine ? { value: machine.spec, source: machine.source } : null;
  const step = stepTo('node', spec.hostname, held, { value: spec, source });
  if (!machine) {
    const id = mustParse(parseMachineId(newId()));
    // Declaring a machine is accepting it.
    plan.create.push({ id, spec, source, lifecycle: lifeIn('registered', at) });
    const details = predecessor ? [comeback(predecessor, spec)] : [];
    plan.steps.push({ ...step, change: { ...step.change, details }, machine: id });
    return;
  }
  const { lifecycle } = machine;
  const accepted = lifecycle.state === 'discovered' ? { before: lifecycle, after: lifeIn('registered', at) } : null;
  const isUnchanged = step.change.change === 'unchanged';
  const notes = isUnchanged ? [] : [...kept, takeover(machine.source, source, request) ?? []].flat();
  plan.steps.push({ ...withNotes(step, notes), machine: machine.id, accepted });
  if (isUnchanged) return;
  const { id, version } = machine;
  plan.change.push({ id, version, spec, source, ...(accepted && { lifecycle: accepted.after }) });
}

function planRemoval(
  plan: Growing<NodePlan>,
  machine: Machine,
  successor: MachineSpec | undefined,
  { at }: PlanRequest,
): void {
  const { id, version, spec, source, lifecycle } = machine;
  const { hostname } = spec;
  if (isInUse(lifecycle.state)) {
    plan.remaining.push(spec);
    const reason = `${hostname} is ${lifecycle.state}: retire it first (coldiron retire ${hostname}), or declare it again`;
    plan.steps.push({ ...refused('node', hostname, source, reason), machine: id, inUse: true });
    return;
  }
  const reasons = successor ? [`its MAC address is now declared for ${successor.hostname}`] : [];
  plan.steps.push({ ...removal('node', hostname, { value: spec, source }, reasons), machine: id });
  const note = reasons[0] ?? `no longer declared by ${source}`;
  plan.remove.push({ id, version, lifecycle: { ...lifeIn('removed', at), note } });
}

/** Declaring it anew is somebody's will, and is done; what that brings back, and what not, is said. */
function comeback({ spec: { hostname }, lifecycle }: Machine, spec: MachineSpec): string {
  const when = instantText(lifecycle.since);
  return (
    `its MAC address was that of ${hostname}, removed at ${when}: this is a new node, and certificates and tokens of the ` +
    `old one stay dead. Commission it, or issue a bundle for the system on its disk (coldiron token issue ${spec.hostname})`
  );
}

function rivalry(rival: Machine, spec: MachineSpec): string {
  const macs = macsOf(spec);
  const shared = macsOf(rival.spec).filter((mac) => macs.includes(mac));
  return `${shared.join(', ')} belongs to ${rival.spec.hostname}, declared by ${rival.source}: change or remove that first`;
}
