// `npm run docs`: writes the files that are generated from code; `test/write-diagnosis.ts` writes docs/diagnosis.md. A test compares them with the code.

import { writeFileSync } from 'node:fs';
import { generateOpenApi } from '../api/open-api.ts';
import { apiDocument } from '../contract/document.ts';
import { eventDocument } from '../domain/events/event-document.ts';
import { lifecycleDocument } from '../machines/diagram.ts';
import { alertRules } from '../metrics/alerts.ts';
import { dashboard } from '../metrics/dashboard.ts';
import { monitoringDocument } from '../metrics/document.ts';
import { AGENT_FILE, joinedAgent } from './joined-agent.ts';

const root = new URL('../../', import.meta.url);

writeFileSync(new URL('appliance/api/openapi.json', root), `${JSON.stringify(await generateOpenApi(), null, 2)}\n`);
writeFileSync(new URL('docs/api.md', root), apiDocument());
writeFileSync(new URL('docs/lifecycle.md', root), lifecycleDocument());
writeFileSync(new URL('docs/events.md', root), eventDocument());
writeFileSync(new URL('docs/monitoring.md', root), monitoringDocument());
writeFileSync(new URL('docs/monitoring/alerts.yml', root), alertRules());
writeFileSync(new URL('docs/monitoring/grafana-dashboard.json', root), `${JSON.stringify(dashboard(), null, 2)}\n`);
writeFileSync(new URL(AGENT_FILE, root), joinedAgent(root));
