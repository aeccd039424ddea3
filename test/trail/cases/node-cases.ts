// Cases of enrolled nodes and their agents: certificates, settings, updates, silence.

import { T0 } from '../observed.ts';
import type { Case } from './boots.ts';
import { HEARD } from './system-cases.ts';

export const NODE_CASES: readonly Case[] = [
  ...(
    [
      ['certificate-expired', 'expired'],
      ['certificate-stale', 'authority-retired'],
      ['certificate-stale', 'unknown-certificate'],
      ['certificate-refused', 'revoked'],
      ['node-api-wrong-path', 'not_found'],
    ] as const
  ).map(
    ([id, code]): Case => [
      id,
      [[600, 'node-api.refused', { path: '/node/v1/heartbeat', code, words: 'in our words' }]],
      { state: 'active', health: 'online', facts: { node: { ...HEARD, heardAt: T0 } } },
    ],
  ),
  [
    'node-unreachable',
    [[900, 'health.silent', { last_heard: T0 }]],
    {
      ...{ state: 'active', health: 'silent', minutes: 20 },
      facts: { bmc: { power: 'on', problem: null, log: [] }, node: { ...HEARD, contactAt: T0 } },
    },
  ],
  [
    'enrollment-refused',
    [
      [900, 'health.silent', { last_heard: T0 }],
      [950, 'node-api.refused', { path: '/node/v1/recover', code: 'enrollment_refused', words: 'it was revoked' }],
    ],
    { state: 'active', health: 'silent', minutes: 20 },
  ],
  [
    'agent-settings-stale',
    [],
    {
      ...{ state: 'active', health: 'online' },
      facts: {
        node: {
          ...HEARD,
          agent: {
            settings: 'stale',
            updated: 'current',
            apiUrl: 'https://old',
            wantedUrl: 'https://new',
            problem: null,
          },
        },
      },
    },
  ],
  [
    'agent-update-failed',
    [[100, 'agent.error', { action: 'update', error_class: 'failed', message: 'the previous agent was restored' }]],
    { state: 'active', health: 'online' },
  ],
];
