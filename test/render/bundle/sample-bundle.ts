// A bundle with dummy values, for tests of its form.

import { createHash } from 'node:crypto';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../../appliance/assets/template-files.ts';
import { parseMachineId } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { agentLayout, type BootstrapBundle } from '../../../appliance/render/bundle/bundle.ts';
import { compileTemplates, type Templates } from '../../../appliance/render/templates.ts';

/** With many characters that are special to a shell. */
export const AGENT_TEXT = `#!/bin/sh
# It's an agent: "quotes", $variables, \`commands\`, back\\slashes and ümlauts.
printf '%s\\n' 'hello' "$1"

`;

export const TOKEN_TEXT = `ce_0123456789ab_${'S3cr3t-_'.repeat(5)}abc`;

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';

export const sampleBundle = (changes: Partial<BootstrapBundle> = {}): BootstrapBundle => ({
  id: '0123456789ab',
  nodeId: mustParse(parseMachineId('11111111-2222-3333-4444-555555555555')),
  hostname: 'node01',
  enrollmentToken: new Secret(TOKEN_TEXT),
  tokenExpiresAt: Date.UTC(2026, 0, 2),
  apiUrl: 'https://api.internal:8444',
  taskSigningKeys: [
    {
      state: 'active',
      id: '0011223344556677',
      publicKey: 'MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
    },
    {
      state: 'staged',
      id: '8899aabbccddeeff',
      publicKey: 'MCowBQYDK2VwAyEA/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=',
    },
  ],
  ca: { pem: PEM, fingerprint: 'AB:CD' },
  nodeCertificateCa: { pem: PEM + PEM, fingerprint: 'AB:CD' },
  layout: agentLayout('coldiron'),
  package: {
    ociRef: 'registry.internal/coldiron/node-agent:1.0',
    digest: `sha256:${createHash('sha256').update(AGENT_TEXT).digest('hex')}`,
    pull: { mode: 'embedded' },
  },
  ...changes,
});

export function bundleTemplates(): Templates {
  const sources = readTemplateFiles(BUILT_IN_TEMPLATES);
  return compileTemplates(new Map([...sources].filter(([name]) => name.startsWith('bundle/'))));
}
