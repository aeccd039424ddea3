// The part of `npm run docs` that writes docs/diagnosis.md: the causes, and the faults that they were tested with.

import { writeFileSync } from 'node:fs';
import { diagnosisDocument } from '../appliance/trail/diagnosis/document.ts';
import { documentedFaults } from './faults/documented.ts';

writeFileSync(new URL('../docs/diagnosis.md', import.meta.url), diagnosisDocument(documentedFaults()));
