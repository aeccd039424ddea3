// Refusals that are expected: a missing record, a step that this BMC does not support.

import { IpmiError } from './ipmi-error.ts';

export const wasRefusedWith = (error: unknown, ...codes: readonly number[]): boolean =>
  error instanceof IpmiError && error.completionCode !== null && codes.includes(error.completionCode);

/** For optional data: null when the BMC refuses. */
export async function orRefused<Result>(request: Promise<Result>): Promise<Result | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof IpmiError && error.reason === 'refused') return null;
    throw error;
  }
}

/** For steps that some BMCs need and others do not support. */
export async function unlessRefused(step: Promise<unknown>): Promise<void> {
  await orRefused(step);
}
