// The buttons on the machine itself.

export const BUTTONS = ['on', 'off', 'reset', 'soft'] as const;
export type Button = (typeof BUTTONS)[number];
