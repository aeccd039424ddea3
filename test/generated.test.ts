// Files that are made from code say what the code says.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AGENT_FILE, joinedAgent } from '../appliance/cli/joined-agent.ts';
import { apiDocument } from '../appliance/contract/document.ts';
import { eventDocument } from '../appliance/domain/events/event-document.ts';
import { lifecycleDocument } from '../appliance/machines/diagram.ts';

describe('docs/api.md', () => {
  it('is what the operation table says (npm run docs writes it anew)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/api.md'), 'utf8')).toBe(apiDocument());
  });
});

describe('docs/lifecycle.md', () => {
  it('is what the transitions table says (npm run docs writes it anew)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/lifecycle.md'), 'utf8')).toBe(lifecycleDocument());
  });
});

describe('docs/events.md', () => {
  it('is what the event table says (npm run docs writes it anew)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/events.md'), 'utf8')).toBe(eventDocument());
  });
});

describe(AGENT_FILE, () => {
  it('is joined from its parts (npm run docs joins it again)', () => {
    const root = new URL('../', import.meta.url);
    expect(readFileSync(new URL(AGENT_FILE, root), 'utf8')).toBe(joinedAgent(root));
  });
});
