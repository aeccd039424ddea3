/** Milliseconds since 1970, UTC. Pure code gets it as an argument; only the edges read a clock. */
export type Instant = number;

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const instantText = (at: Instant): string => new Date(at).toISOString();
