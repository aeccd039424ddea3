// Generated files match the code that they are generated from.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AGENT_FILE, joinedAgent } from '../appliance/cli/joined-agent.ts';
import { apiDocument } from '../appliance/contract/document.ts';
import { eventDocument } from '../appliance/domain/events/event-document.ts';
import { lifecycleDocument } from '../appliance/machines/diagram.ts';
import { mcpDocument } from '../appliance/mcp/document.ts';
import { alertRules } from '../appliance/metrics/alerts.ts';
import { dashboard } from '../appliance/metrics/dashboard.ts';
import { monitoringDocument } from '../appliance/metrics/document.ts';
import { diagnosisDocument } from '../appliance/trail/diagnosis/document.ts';
import { documentedFaults } from './faults/documented.ts';

describe('docs/api.md', () => {
  it('matches the operation table (npm run docs updates it)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/api.md'), 'utf8')).toBe(apiDocument());
  });
});

describe('docs/lifecycle.md', () => {
  it('matches the transition table (npm run docs updates it)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/lifecycle.md'), 'utf8')).toBe(lifecycleDocument());
  });
});

describe('docs/events.md', () => {
  it('matches the event table (npm run docs updates it)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/events.md'), 'utf8')).toBe(eventDocument());
  });
});

describe('docs/mcp.md', () => {
  it('matches the tool table (npm run docs updates it)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/mcp.md'), 'utf8')).toBe(mcpDocument());
  });
});

describe('docs/diagnosis.md', () => {
  it('matches the causes, the stages, the signatures and the recorded faults (npm run docs updates it)', () => {
    expect(readFileSync(join(import.meta.dirname, '../docs/diagnosis.md'), 'utf8')).toBe(
      diagnosisDocument(documentedFaults()),
    );
  });
});

describe('docs/monitoring', () => {
  const shipped = (name: string): string => readFileSync(join(import.meta.dirname, '../docs', name), 'utf8');

  it('matches the metrics, the alerts and the dashboard (npm run docs updates it)', () => {
    expect(shipped('monitoring.md')).toBe(monitoringDocument());
    expect(shipped('monitoring/alerts.yml')).toBe(alertRules());
    expect(JSON.parse(shipped('monitoring/grafana-dashboard.json'))).toEqual(dashboard());
  });
});

describe(AGENT_FILE, () => {
  it('matches its parts (npm run docs joins them)', () => {
    const root = new URL('../', import.meta.url);
    expect(readFileSync(new URL(AGENT_FILE, root), 'utf8')).toBe(joinedAgent(root));
  });
});
