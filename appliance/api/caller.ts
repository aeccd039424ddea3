// Who calls an operation on keys and allocations: these routes are not public, so there is a role.

import type { AccessCaller } from '../allocations/access-changes.ts';
import type { OperationId } from '../contract/operations.ts';
import type { Call } from './handler.ts';

export const callerOf = ({ origin, role }: Pick<Call<OperationId>, 'origin' | 'role'>): AccessCaller => ({
  origin,
  role: role ?? 'viewer',
});
