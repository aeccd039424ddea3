// The part of `npm run docs` that writes docs/diagnosis.md and the symptoms of a runbook: the causes, and the faults that they were tested with.

import { readFileSync, writeFileSync } from 'node:fs';
import { diagnosisDocument, withSymptoms } from '../appliance/trail/diagnosis/document.ts';
import { documentedFaults } from './faults/documented.ts';

writeFileSync(new URL('../docs/diagnosis.md', import.meta.url), diagnosisDocument(documentedFaults()));
const runbook = new URL('../docs/runbooks/node-agent-recovery.md', import.meta.url);
writeFileSync(runbook, withSymptoms(readFileSync(runbook, 'utf8')));
