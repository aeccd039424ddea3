import type { Branded } from './parsed.ts';

/** A secret that the vault encrypted: safe to store, and useless without the vault key and the name of its owner. */
export type SealedText = Branded<string, 'SealedText'>;
