// Ends what MAAS does with a machine: stops work, releases it, and where its disks cannot be erased and policy allows it, releases it without.
// Each call looks at the machine first and does one thing; it is called again until the machine is ready.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { MaasPolicy } from '../../domain/onboarding.ts';
import type { MaasApi } from './maas-api.ts';
import { MaasUnavailable } from './maas-error.ts';
import { type MaasMachine, STATUS } from './maas-machine.ts';

export interface Release {
  readonly erase: MaasPolicy['erase'];
  /** Whether it may be released with its data when the erasure fails. */
  readonly withoutErase: boolean;
  readonly since: Instant;
  readonly eraseMinutes: number;
  readonly comment: string;
}

export type Released =
  | { readonly kind: 'ready' }
  /** Not yet: call it again. `unerased`: from now on without erasing. */
  | { readonly kind: 'waiting'; readonly reason: string; readonly unerased?: string }
  | { readonly kind: 'failed'; readonly about: 'disk' | 'unknown'; readonly reason: string };

const RELEASABLE: readonly number[] = [
  ...[STATUS.reserved, STATUS.deployed, STATUS.allocated, STATUS.failedDeployment, STATUS.releasingFailed],
];
const ABORTABLE: readonly number[] = [STATUS.commissioning, STATUS.deploying, STATUS.testing, STATUS.diskErasing];

export async function releaseInMaas(
  api: Pick<MaasApi, 'machine' | 'release' | 'abort' | 'markFixed'>,
  machine: MaasMachine,
  wanted: Release,
  now: Instant,
): Promise<Released> {
  const { systemId, status, statusName, owner } = machine;
  const { erase, withoutErase, comment } = wanted;
  const waiting = (reason: string, unerased?: string): Released => ({
    kind: 'waiting',
    reason,
    ...(unerased !== undefined && { unerased }),
  });
  if (status === STATUS.ready) return owner === null ? { kind: 'ready' } : waiting('MAAS has not released it yet');
  if (status === STATUS.new || status === STATUS.failedCommissioning) return { kind: 'ready' };
  if (status === STATUS.diskErasing && now - wanted.since >= wanted.eraseMinutes * MINUTE) {
    if (!withoutErase) return eraseFailed(`the erasure takes more than ${wanted.eraseMinutes} min`);
    await attempt(() => api.abort(systemId, comment));
    return waiting('its erasure is aborted');
  }
  if (status === STATUS.releasing || status === STATUS.diskErasing) return waiting(`it is ${statusName}`);
  if (status === STATUS.failedDiskErasing) {
    if (!withoutErase) return eraseFailed(machine.statusMessage || 'MAAS could not erase its disks');
    await attempt(() => api.release(systemId, 'none', comment));
    return waiting(
      'it is released without erasing its disks',
      machine.statusMessage || 'its disks could not be erased',
    );
  }
  if (status === STATUS.broken) {
    await attempt(() => api.markFixed(systemId, comment));
    return waiting('it is marked as fixed');
  }
  if (ABORTABLE.includes(status)) {
    await attempt(() => api.abort(systemId, comment));
    return waiting(`${statusName} is aborted`);
  }
  if (!RELEASABLE.includes(status)) {
    return { kind: 'failed', about: 'unknown', reason: `it is ${statusName} in MAAS: it cannot be released` };
  }
  await attempt(() => api.release(systemId, erase, comment));
  return waiting('it is released');
}

const eraseFailed = (why: string): Released => ({
  kind: 'failed',
  about: 'disk',
  reason: `${why}; its site does not allow a release without erasure (release_without_erase)`,
});

/** Whether it took effect is seen when the machine is read again. */
async function attempt(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof MaasUnavailable)) throw error;
  }
}
