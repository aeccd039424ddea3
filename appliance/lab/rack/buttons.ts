// What a finger at the machine itself can do.

export const BUTTONS = ['on', 'off', 'reset', 'soft'] as const;
export type Button = (typeof BUTTONS)[number];
