// Some refusals are answers: a record that is not there, a step that this BMC does not know.

import { IpmiError } from './ipmi-error.ts';

export const wasRefusedWith = (error: unknown, ...codes: readonly number[]): boolean =>
  error instanceof IpmiError && error.completionCode !== null && codes.includes(error.completionCode);

/** For what is nice to have: null where the BMC refuses it. */
export async function orRefused<Result>(asking: Promise<Result>): Promise<Result | null> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof IpmiError && error.reason === 'refused') return null;
    throw error;
  }
}

/** For steps that help where they are known and do not matter elsewhere. */
export async function unlessRefused(step: Promise<unknown>): Promise<void> {
  await orRefused(step);
}
