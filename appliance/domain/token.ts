// Bearer tokens of the management API. The text is shown once; only its hash is stored.

import type { Instant } from './instant.ts';
import { type Branded, type Parsed, parsed, unparsable } from './parsed.ts';

export const ROLES = ['viewer', 'agent', 'tech', 'operator', 'admin', 'node'] as const;
export type Role = (typeof ROLES)[number];

/**
 * Each role includes the rights of the lower ones. `node` is separate: it is for nodes, not for people. `agent` is for software: it reads
 * what a viewer reads, uses the tools of the MCP server, and what it would destroy it can only propose.
 */
const RANK: Readonly<Record<Role, number>> = { node: 0, viewer: 1, agent: 2, tech: 3, operator: 4, admin: 5 };

export const mayActAs = (held: Role, needed: Role): boolean =>
  held === needed || (held !== 'node' && needed !== 'node' && RANK[held] >= RANK[needed]);

export type TokenId = Branded<string, 'TokenId'>;

export interface TokenText {
  readonly id: TokenId;
  readonly secret: string;
}

/** ci_<id: 12 hex>_<secret: 43 base64url characters, 256 bits>. The id finds the row; the secret is compared by hash. */
export function parseTokenText(text: string): Parsed<TokenText> {
  const match = /^ci_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/.exec(text);
  // The reason never contains the text: it may be a real secret with a typing error.
  if (!match?.[1] || !match[2]) return unparsable('not a Coldiron token');
  return parsed({ id: match[1] as TokenId, secret: match[2] });
}

export interface ApiToken {
  readonly id: TokenId;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: Instant;
  readonly expiresAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export const isUsable = (token: ApiToken, now: Instant): boolean =>
  token.revokedAt === null && (token.expiresAt === null || now < token.expiresAt);
