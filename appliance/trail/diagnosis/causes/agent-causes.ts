// Causes on the side of an enrolled node: its certificate, its URL, its settings, and updates of its agent.

import { isOf, type Seen } from '../boot-events.ts';
import { type Cause, type Finding, fact, found, lastEvent, seen } from '../cause.ts';
import type { Signs } from '../signs.ts';

/** The codes of refused requests that have a cause here. */
export const REFUSED = {
  expired: ['expired'],
  stale: ['authority-retired', 'unknown-certificate'],
  other: ['revoked', 'not-yet-valid', 'not-a-node-certificate'],
  path: ['not_found'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const ONLINE = 'coldiron nodes show {node} shows its health as online.';

export const AGENT_CAUSES: readonly Cause[] = [
  {
    id: 'certificate-expired',
    owner: 'node',
    stages: 'any',
    specificity: 3,
    looksFor: 'requests that the node API refused because the certificate of the node has expired',
    assess: (signs) => refusals(signs, REFUSED.expired),
    reason: '{node} shows a certificate that has expired, and its agent has not recovered by itself',
    nextStep:
      'Read why: coldiron agent logs {node} --action recover. Without a valid token in its env file: coldiron agent recover {node}, and run the command on the node.',
    verify: ONLINE,
  },
  {
    id: 'certificate-stale',
    owner: 'appliance',
    stages: 'any',
    specificity: 3,
    looksFor:
      'requests with a certificate of an authority that is retired or not ours, although it is valid by its dates',
    assess: (signs) => refusals(signs, REFUSED.stale),
    reason: '{node} shows a certificate of another authority, so it must enroll again: {words}',
    nextStep:
      'Compare the issuer on the node (openssl x509 -in /etc/coldiron/cert.pem -noout -issuer -dates -fingerprint -sha256) with coldiron ca show. Then: coldiron agent recover {node}, and run the command on the node.',
    verify: ONLINE,
  },
  {
    id: 'certificate-refused',
    owner: 'operator',
    stages: 'any',
    specificity: 3,
    looksFor: 'requests with a certificate that was revoked, is not valid yet, or is not one of a node',
    assess: (signs) => refusals(signs, REFUSED.other),
    reason: '{node} shows a certificate that is not accepted: {words}',
    nextStep:
      'Find out who revoked it: coldiron audit list. If the machine is the right one: coldiron agent recover {node}, and run the command on the node.',
    verify: ONLINE,
  },
  {
    id: 'node-api-wrong-path',
    owner: 'operator',
    stages: 'any',
    specificity: 3,
    looksFor: 'requests from the address of the node for paths that the node API does not have',
    assess: (signs) => refusals(signs, REFUSED.path),
    reason: '{node} asks the node API for paths that do not exist: its URL is wrong, or another program uses it',
    nextStep:
      'Compare the URL on the node (grep API_URL /etc/coldiron/node-agent.env) with coldiron agent show {node}; /etc/hosts of the node may point elsewhere. To write it anew: coldiron agent recover {node}',
    verify: ONLINE,
  },
  {
    id: 'node-unreachable',
    owner: 'network',
    stages: 'any',
    specificity: 2,
    looksFor: 'a silent node with power on, of which not even a connection arrives at the node API',
    assess: ({ health, healthSilent, bmc, node, endpoints }) =>
      health === 'silent' && bmc?.power === 'on' && (node?.contactAt ?? 0) <= (healthSilent?.at ?? Infinity)
        ? found(
            'likely',
            [
              fact('bmc', 'its BMC reports that the power is on'),
              fact('node', 'no connection of it has arrived at the node API since', node?.contactAt ?? null),
            ],
            { where: endpoints.node ?? 'the node API' },
          )
        : null,
    reason:
      '{node} is on, but nothing of it arrives at the node API: the way to it is interrupted, or its agent does not run',
    nextStep:
      'On the node: systemctl status coldiron-node-agent, then curl --cacert /etc/coldiron/ca-bundle.crt https://{where}/node/v1/health. No reply: VLAN, routes, firewall. A damaged env file: coldiron agent recover {node}',
    verify: ONLINE,
  },
  {
    id: 'agent-settings-stale',
    owner: 'appliance',
    stages: 'any',
    specificity: 2,
    looksFor:
      'a node whose agent reports another API URL, other authorities or other task-signing keys than the current ones',
    assess: ({ lifecycle, health, node }) => {
      const agent = node?.agent;
      if (agent?.settings !== 'stale' || health === 'silent' || lifecycle.state === 'removed') return null;
      const words = agent.problem ?? `${agent.apiUrl}, wanted ${agent.wantedUrl}`;
      return found('certain', [fact('node', `its agent uses ${agent.apiUrl}: ${words}`, node?.heardAt ?? null)], {
        words,
      });
    },
    reason: '{node} still uses old settings of its agent: {words}',
    nextStep:
      'Let it apply the current ones: coldiron agent reconcile {node}. If they are wrong, correct `api_url` of its site.',
    verify: 'coldiron agent show {node} shows its settings as current.',
  },
  {
    id: 'agent-update-failed',
    owner: 'appliance',
    stages: 'any',
    specificity: 3,
    looksFor: 'an update of the agent that the node reported as failed, without a later one that worked',
    assess: (signs) => {
      const failed = signs.seen.findLast(
        (one): one is Seen<'agent.error'> =>
          isOf(one, ['agent.error']) && (one as Seen<'agent.error'>).data.action === 'update',
      );
      const changed = lastEvent(signs, 'agent.changed');
      if (failed === undefined || (changed !== null && changed.at > failed.at)) return null;
      const { message } = failed.data;
      return found('certain', seen(failed, message, 'node'), { words: message });
    },
    reason: '{node} could not update its agent: {words}',
    nextStep:
      'Read its log: coldiron agent logs {node} --action update. After a correction: coldiron agent update {node}',
    verify: 'coldiron agent show {node} shows its version as current.',
  },
];

/** A refused request that came after its last heartbeat. */
function refusals(signs: Signs, codes: readonly string[]): Finding | null {
  const refused = lastEvent(signs, 'node-api.refused');
  if (refused === null || !codes.includes(refused.data.code)) return null;
  if (refused.at <= (signs.node?.heardAt ?? 0)) return null;
  const { path, words, address, count } = refused.data;
  return found('certain', seen(refused, `${path} was refused ${count} times from ${address}: ${words}`, 'node'), {
    words,
  });
}
