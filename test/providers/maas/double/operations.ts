// The operations of the MAAS double on machines: which states allow them, what they change, and what they answer.

import { type DoubleAnswer, json, text } from './answer.ts';
import { type DoubleMachine, mayMove, NAMES, S } from './machine.ts';
import { type MaasAtWork, move, released } from './progress.ts';

export type Form = ReadonlyMap<string, readonly string[]>;

export interface Caller {
  readonly name: string;
  readonly admin: boolean;
}

export interface Operating extends MaasAtWork {
  readonly caller: Caller;
  readonly show: (machine: DoubleMachine) => object;
}

const one = (form: Form, name: string): string => form.get(name)?.[0] ?? '';
const isTrue = (form: Form, name: string): boolean => ['true', '1'].includes(one(form, name));
const took = (machine: DoubleMachine, what: string): void => {
  machine.effects[what] = (machine.effects[what] ?? 0) + 1;
};
const RESERVED = text(403, 'This method is reserved for admin users.');
const FORBIDDEN: DoubleAnswer = { status: 403, type: 'text/plain', body: '' };

export const OPERATIONS: Readonly<
  Record<string, (machine: DoubleMachine, form: Form, around: Operating) => DoubleAnswer>
> = {
  commission(machine, form, around) {
    if (!around.caller.admin) return RESERVED;
    if (machine.locked) return FORBIDDEN;
    if (![S.NEW, S.FAILED_COMMISSIONING, S.READY, S.BROKEN].some((status) => status === machine.status)) {
      return json({ __all__: ['Commission is not available because of the current state of the node.'] }, 400);
    }
    if (machine.power.type === '') return text(500, "No power type set: 'NoneType' object has no attribute 'power'");
    machine.options = Object.fromEntries([...form].map(([name, [value = '']]) => [name, value]));
    const before = machine.status;
    move(machine, S.COMMISSIONING, around.now);
    machine.owner = around.caller.name;
    machine.ownerUntil = null;
    around.event(machine, 'INFO', 'Commissioning');
    took(machine, 'commission');
    // The body was rendered before power was switched.
    const body = json(around.show(machine));
    if (!machine.behaviour.powerFails) return powered(machine, body);
    move(machine, before, around.now);
    machine.owner = null;
    const words =
      'Aborting COMMISSIONING and reverting to NEW. Unable to power control the node. Please check power credentials.';
    around.event(machine, 'ERROR', 'Failed to power on node', `(admin) - ${words}`);
    return text(503, 'Unable to power control the node. Please check power credentials.');
  },

  deploy(machine, form, around) {
    if (machine.locked) return FORBIDDEN;
    if (machine.status !== S.READY && machine.status !== S.ALLOCATED) {
      return text(409, `Can't deploy a machine that is in the '${NAMES[machine.status]}' state`);
    }
    const links = machine.interfaces.flatMap((card) => card.links);
    if (!links.some(({ mode }) => mode === 'auto' || mode === 'static' || mode === 'dhcp')) {
      return json({ network: ['Node must be configured to use a network'] }, 400);
    }
    if (one(form, 'distro_series') === 'nosuch')
      return json({ distro_series: ["'nosuch' is not a valid distro_series."] }, 400);
    if (machine.owner === null) machine.owner = around.caller.name;
    machine.userData = one(form, 'user_data') || null;
    machine.series = one(form, 'distro_series') || 'noble';
    machine.kernel = one(form, 'hwe_kernel');
    machine.hwSync = isTrue(form, 'enable_hw_sync');
    const before = machine.status;
    move(machine, S.DEPLOYING, around.now);
    around.event(machine, 'INFO', 'Deploying');
    took(machine, 'deploy');
    const body = json(around.show(machine));
    if (!machine.behaviour.powerFails) return powered(machine, body);
    around.event(
      machine,
      'ERROR',
      'Failed to power on node',
      'Unable to power control the node. Please check power credentials.',
    );
    // From 3.6 on it answers before, and fails later.
    move(machine, around.minor >= 6 ? S.FAILED_DEPLOYMENT : before === S.READY ? S.READY : S.ALLOCATED, around.now);
    return around.minor >= 6 ? body : text(503, 'Unable to power control the node.');
  },

  abort(machine, _form, around) {
    const body = json(around.show(machine));
    const to = { [S.COMMISSIONING]: S.NEW, [S.DEPLOYING]: S.ALLOCATED, [S.DISK_ERASING]: S.FAILED_DISK_ERASING }[
      machine.status
    ];
    if (to === undefined) return text(409, `Cannot abort in state ${NAMES[machine.status]}.`);
    move(machine, to, around.now);
    if (to === S.NEW) machine.owner = null;
    around.event(machine, 'INFO', 'Aborted');
    took(machine, 'abort');
    return body;
  },

  release(machine, form, around) {
    if (machine.status === S.READY || machine.status === S.RELEASING) return json(around.show(machine));
    const allowed = [
      S.RESERVED,
      S.DEPLOYED,
      S.BROKEN,
      S.DEPLOYING,
      S.ALLOCATED,
      S.FAILED_DEPLOYMENT,
      S.RELEASING_FAILED,
      S.FAILED_DISK_ERASING,
    ];
    if (!allowed.some((status) => status === machine.status)) {
      return text(409, `Machine cannot be released in its current state ('${NAMES[machine.status]}').`);
    }
    took(machine, isTrue(form, 'erase') ? 'release-erase' : 'release');
    around.event(machine, 'INFO', 'Releasing');
    if (isTrue(form, 'erase')) move(machine, S.DISK_ERASING, around.now);
    else if (machine.power.state === 'off') released(machine, around);
    else move(machine, S.RELEASING, around.now);
    return json(around.show(machine));
  },

  mark_fixed(machine, _form, around) {
    if (!around.caller.admin) return RESERVED;
    if (machine.status !== S.BROKEN) return text(409, `Invalid transition: ${NAMES[machine.status]} -> Ready.`);
    move(machine, machine.userData === null ? S.READY : S.DEPLOYED, around.now);
    took(machine, 'mark_fixed');
    return json(around.show(machine));
  },

  set_workload_annotations(machine, form, around) {
    if (machine.owner !== around.caller.name) return text(409, 'Only the owner may do that.');
    for (const [name, [value = '']] of form) {
      if (value === '') delete machine.annotations[name];
      else machine.annotations[name] = value;
    }
    return json(around.show(machine));
  },

  set_storage_layout(machine, form, around) {
    if (!around.caller.admin) return RESERVED;
    if (machine.status !== S.READY)
      return text(409, 'Cannot change the storage layout on a machine that is not Ready.');
    machine.options.storage_layout = one(form, 'storage_layout');
    return json(around.show(machine));
  },
};

/** `machines/?op=allocate`. */
export function allocate(machine: DoubleMachine | undefined, form: Form, around: Operating): DoubleAnswer {
  const id = one(form, 'system_id');
  if (machine === undefined || machine.status !== S.READY || !mayMove(machine.status, S.ALLOCATED)) {
    return text(409, `No machine with system ID ${id} available.`);
  }
  move(machine, S.ALLOCATED, around.now);
  machine.owner = around.caller.name;
  machine.ownerUntil = null;
  machine.agentName = one(form, 'agent_name');
  took(machine, 'allocate');
  return json(around.show(machine));
}

function powered(machine: DoubleMachine, answer: DoubleAnswer): DoubleAnswer {
  machine.power.state = 'on';
  return answer;
}
