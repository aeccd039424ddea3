// The power actions of a BMC. Separate from the schemas, so that the CLI does not load them.

export const POWER_ACTIONS = ['on', 'off', 'cycle', 'reset', 'soft'] as const;
export type PowerAction = (typeof POWER_ACTIONS)[number];
