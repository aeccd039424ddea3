// Handlers of allocations.

import type { Static } from 'typebox';
import type { Allocation } from '../../contract/schemas/allocation.ts';
import {
  ALLOCATION_STATE_NAMES,
  ALLOCATION_STATES,
  type AllocationSudo,
  isOpen,
  parseUserName,
} from '../../domain/allocation.ts';
import { ColdironError } from '../../domain/errors.ts';
import { instantText } from '../../domain/instant.ts';
import type { StoredAllocation } from '../../store/allocation-store.ts';
import { callerOf } from '../caller.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode, findNodeEverKnown } from '../find-node.ts';
import type { Handlers } from '../handler.ts';
import { timeText } from '../views/time-text.ts';

async function view(deps: ManagementDeps, stored: StoredAllocation): Promise<Static<typeof Allocation.schema>> {
  const { allocation, machine } = stored;
  const node = deps.fleet.machineById(machine) ?? (await deps.store.machine(machine));
  return {
    id: allocation.id,
    user: allocation.user,
    node: node?.spec.hostname ?? machine,
    key_set: allocation.keySet,
    sudo: sudoView(allocation.sudo),
    state: allocation.state,
    means: ALLOCATION_STATES[allocation.state].means,
    since: instantText(allocation.since),
    deadline: timeText(allocation.deadline),
    reason: allocation.reason,
    requested_at: instantText(allocation.requestedAt),
    requested_by: allocation.requestedBy,
  };
}

function sudoView(sudo: AllocationSudo | null): Static<typeof Allocation.schema>['sudo'] {
  if (!sudo) return null;
  const { policy, version, reviewer, path, checksum } = sudo;
  return { policy, version, reviewer, path, checksum };
}

export const allocationHandlers: Handlers<
  | 'listAllocations'
  | 'getAllocation'
  | 'requestAllocation'
  | 'releaseAllocation'
  | 'cleanUpAllocation'
  | 'setAllocationKeySet'
> = {
  async listAllocations(deps, { query: { user, node, state, open = false, limit = 100 } }) {
    const name = user === undefined ? null : parseUserName(user);
    if (name?.ok === false) throw new ColdironError('invalid_request', `user: ${name.reason}`);
    const states = ALLOCATION_STATE_NAMES.filter((each) => (state ?? each) === each && (!open || isOpen(each)));
    const stored = await deps.store.allocations({
      ...(node !== undefined && { machine: (await findNodeEverKnown(deps, node)).id }),
      ...(name?.ok && { user: name.value }),
      ...{ states, limit },
    });
    return { allocations: await Promise.all(stored.map((each) => view(deps, each))) };
  },

  getAllocation: async (deps, { params }) => view(deps, await deps.allocations.find(params.allocation)),

  async requestAllocation(deps, call) {
    const { user, node, sku, key_set: keySet, sudo_policy: sudoPolicy } = call.body;
    if ((node === undefined) === (sku === undefined)) {
      throw new ColdironError('invalid_request', 'name a node or a SKU: one of node, sku');
    }
    const where = node === undefined ? { sku: sku ?? '' } : { node: await findNode(deps, node) };
    return view(deps, await deps.allocations.request({ user, where, keySet, sudoPolicy }, callerOf(call)));
  },

  releaseAllocation: async (deps, call) =>
    view(deps, await deps.allocations.release(call.params.allocation, callerOf(call))),

  cleanUpAllocation: async (deps, call) =>
    view(deps, await deps.allocations.cleanUp(call.params.allocation, call.body.note, callerOf(call))),

  setAllocationKeySet: async (deps, call) =>
    view(deps, await deps.allocations.setKeySet(call.params.allocation, call.body.key_set, callerOf(call))),
};
