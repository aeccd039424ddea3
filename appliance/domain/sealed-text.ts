import type { Branded } from './parsed.ts';

/** A secret as the vault has sealed it: safe to store, and worth nothing without the vault's key and its owner's name. */
export type SealedText = Branded<string, 'SealedText'>;
