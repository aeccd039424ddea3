// What a BMC can be asked to do to a machine's power. Apart from the schemas, so that the CLI does not load them.

export const POWER_ACTIONS = ['on', 'off', 'cycle', 'reset', 'soft'] as const;
export type PowerAction = (typeof POWER_ACTIONS)[number];
