// Matches declared nodes to stored machines. A machine keeps its id and its lifecycle through every edit that keeps its name or
// one of its MAC addresses.

import { type Allocation, allocationText } from '../domain/allocation.ts';
import { instantText } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import { isInUse, lifeIn } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import { type Machine, type MachineSpec, macsOf, parseMachineId } from '../domain/machine.ts';
import { mustParse } from '../domain/parsed.ts';
import type { InventoryWrites } from '../store/store.ts';
import { isUndeclared } from './held-objects.ts';
import { ownershipProblem, takeover, withKnownHardware } from './ownership.ts';
import type { PlanRequest } from './plan.ts';
import { refused, removal, type Step, stepTo, withNotes } from './plan-record.ts';
import { adviceAbout, Claims, yielded, yieldsTo } from './precedence.ts';

export interface NodePlan {
  readonly steps: readonly Step[];
  readonly create: InventoryWrites['createMachines'];
  readonly change: InventoryWrites['changeMachines'];
  readonly remove: InventoryWrites['removeMachines'];
  /** Every node that remains: the objects they use cannot be removed. */
  readonly remaining: readonly MachineSpec[];
}

type Mutable<T> = { readonly [Key in keyof T]: T[Key] extends readonly (infer Item)[] ? Item[] : never };

export function planNodes(held: Inventory, request: PlanRequest): NodePlan {
  const plan: Mutable<NodePlan> = { steps: [], create: [], change: [], remove: [], remaining: [] };
  const declared = request.sources.flatMap(({ name, declared: { nodes } }) =>
    nodes.map((spec) => ({ spec, source: name })),
  );
  const specs = declared.map(({ spec }) => spec);
  const isRemovable = removableBy(request);
  const yields = yieldsTo(request.sources);
  const claims = new Claims(held.machines.some(yields) ? specs : []);
  const machineOf = matchMachines(held.machines, specs, (machine) => isRemovable(machine) || yields(machine));
  const kept = new Set(machineOf.values());
  const unmatched = held.machines.filter((machine) => !kept.has(machine));
  // Only needed for unmatched machines, and most edits have none.
  const claimants = unmatched.length > 0 ? specs : [];
  const claimed = new Map(claimants.flatMap((spec) => macsOf(spec).map((mac): [Mac, MachineSpec] => [mac, spec])));

  const removedByMac = new Map(
    (held.removed ?? []).flatMap((machine) => macsOf(machine.spec).map((mac): [Mac, Machine] => [mac, machine])),
  );
  const predecessorOf = (spec: MachineSpec): Machine | undefined =>
    macsOf(spec)
      .map((mac) => removedByMac.get(mac))
      .find((machine) => machine !== undefined);
  const conflicts = new Map<MachineSpec, Machine>();
  const removals: { machine: Machine; successor: MachineSpec | undefined }[] = [];
  for (const machine of unmatched) {
    const successor = macsOf(machine.spec)
      .map((mac) => claimed.get(mac))
      .find((spec) => spec !== undefined);
    // A discovered machine whose MAC is declared for a known node is that node.
    if (isRemovable(machine) || (successor && machine.lifecycle.state === 'discovered'))
      removals.push({ machine, successor });
    else if (yields(machine)) planYield(plan, machine, claims);
    else {
      plan.remaining.push(machine.spec);
      if (successor) conflicts.set(successor, machine);
    }
  }
  for (const { spec, source } of declared) {
    const other = conflicts.get(spec);
    if (other) plan.steps.push(refused('node', spec.hostname, source, conflictText(other, spec)));
    else {
      const machine = machineOf.get(spec);
      const known = machine && yields(machine) ? { ...machine, spec: yielded(machine.spec, claims).spec } : machine;
      planNode(plan, { machine, known, predecessor: machine ? undefined : predecessorOf(spec) }, spec, source, request);
    }
  }
  for (const { machine, successor } of removals) planRemoval(plan, machine, successor, request);
  return plan;
}

/** Whether a machine is removed when no declared node matches it. */
function removableBy({ mode, sources }: PlanRequest): (machine: Machine) => boolean {
  const applied = new Set(sources.map(({ name }) => name));
  return (machine) => mode === 'reconcile' && applied.has(machine.source);
}

/** By host name; otherwise by a MAC address of a machine that may be renamed or that is undeclared. */
function matchMachines(
  machines: readonly Machine[],
  specs: readonly MachineSpec[],
  isRenamable: (machine: Machine) => boolean,
): Map<MachineSpec, Machine> {
  const byHostname = new Map(machines.map((machine) => [machine.spec.hostname, machine]));
  const matches = new Map<MachineSpec, Machine>();
  for (const spec of specs) {
    const machine = byHostname.get(spec.hostname);
    if (machine) matches.set(spec, machine);
  }
  if (matches.size === specs.length) return matches;
  const taken = new Set(matches.values());
  const free = machines.filter((machine) => !taken.has(machine) && (isUndeclared(machine) || isRenamable(machine)));
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
  plan: Mutable<NodePlan>,
  {
    machine,
    known,
    predecessor,
  }: {
    machine: Machine | undefined;
    /** The machine without what other nodes declare. */
    known: Machine | undefined;
    predecessor: Machine | undefined;
  },
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
  if (machine?.allocation && machine.spec.sku !== declared.sku) {
    plan.remaining.push(machine.spec);
    const reason = `${machine.spec.hostname} keeps its SKU while it is in use: ${releaseFirst(machine.allocation)}`;
    plan.steps.push({ ...refused('node', declared.hostname, source, reason), machine: machine.id, inUse: true });
    return;
  }
  const { spec, kept } = known ? withKnownHardware(declared, known, source, request) : { spec: declared, kept: [] };
  plan.remaining.push(spec);
  const held = machine ? { value: machine.spec, source: machine.source } : null;
  const step = stepTo('node', spec.hostname, held, { value: spec, source });
  if (!machine) {
    const id = mustParse(parseMachineId(newId()));
    // A declaration accepts the machine.
    plan.create.push({ id, spec, source, lifecycle: lifeIn('registered', at) });
    const details = predecessor ? [redeclaredText(predecessor, spec)] : [];
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

/** Takes from a node of the API what a file declares for another node. */
function planYield(plan: Mutable<NodePlan>, { id, version, spec: before, source }: Machine, claims: Claims): void {
  const { spec, lost } = yielded(before, claims);
  plan.remaining.push(spec);
  if (lost.length === 0) return;
  const step = stepTo('node', spec.hostname, { value: before, source }, { value: spec, source });
  plan.steps.push({ ...withNotes(step, lost), machine: id });
  plan.change.push({ id, version, spec, source });
}

function planRemoval(
  plan: Mutable<NodePlan>,
  machine: Machine,
  successor: MachineSpec | undefined,
  { at }: PlanRequest,
): void {
  const { id, version, spec, source, lifecycle } = machine;
  const { hostname } = spec;
  if (isInUse(lifecycle.state) || machine.allocation) {
    plan.remaining.push(spec);
    const reason = machine.allocation
      ? `${hostname} is in use: ${releaseFirst(machine.allocation)}, or declare it again`
      : `${hostname} is ${lifecycle.state}: retire it first (coldiron retire ${hostname}), or declare it again`;
    plan.steps.push({ ...refused('node', hostname, source, reason), machine: id, inUse: true });
    return;
  }
  const reasons = successor ? [`its MAC address is now declared for ${successor.hostname}`] : [];
  plan.steps.push({ ...removal('node', hostname, { value: spec, source }, reasons), machine: id });
  const note = reasons[0] ?? `no longer declared by ${source}`;
  plan.remove.push({ id, version, lifecycle: { ...lifeIn('removed', at), note } });
}

const releaseFirst = (allocation: Allocation): string =>
  `${allocationText(allocation)} holds it; release it first (coldiron allocations release ${allocation.id})`;

/** A removed machine may be declared again; the note says that its old identity remains revoked. */
function redeclaredText({ spec: { hostname }, lifecycle }: Machine, spec: MachineSpec): string {
  const when = instantText(lifecycle.since);
  return (
    `its MAC address belonged to ${hostname}, removed at ${when}: this is a new node, and certificates and tokens of the ` +
    `old one remain revoked. Commission it, or issue a bundle for the system on its disk (coldiron token issue ${spec.hostname})`
  );
}

function conflictText(other: Machine, spec: MachineSpec): string {
  const macs = macsOf(spec);
  const shared = macsOf(other.spec).filter((mac) => macs.includes(mac));
  const { hostname } = other.spec;
  const advice = adviceAbout(other) ?? `change or remove ${hostname} first`;
  return `${shared.join(', ')} belongs to ${hostname}, declared by ${other.source}: ${advice}`;
}
