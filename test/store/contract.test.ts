// Tests the contract of appliance/store/store.ts on every engine.

import { describe } from 'vitest';
import { accessContract } from './contract/access.ts';
import { agentLogsContract } from './contract/agent-logs.ts';
import { auditContract } from './contract/audit.ts';
import { auditTamperingContract } from './contract/audit-tampering.ts';
import { bmcCredentialsContract } from './contract/bmc-credentials.ts';
import { bmcMemoriesContract } from './contract/bmc-memories.ts';
import { commitContract } from './contract/commit.ts';
import { effectsContract } from './contract/effects.ts';
import { authoritiesContract, signingKeysContract } from './contract/enrollment-authorities.ts';
import { certificatesContract } from './contract/enrollment-certificates.ts';
import { enrollmentTokensContract } from './contract/enrollment-tokens.ts';
import { eventsContract } from './contract/events.ts';
import { exportsContract } from './contract/exports.ts';
import { intentsContract } from './contract/intents.ts';
import { inventoryContract } from './contract/inventory.ts';
import { inventoryConflictsContract } from './contract/inventory-conflicts.ts';
import { leasesContract } from './contract/leases.ts';
import { lifecycleContract } from './contract/lifecycle.ts';
import { onboardingsContract } from './contract/onboardings.ts';
import { proposalsContract } from './contract/proposals.ts';
import { renderingsContract } from './contract/renderings.ts';
import { requestsContract } from './contract/requests.ts';
import { sessionsContract } from './contract/sessions.ts';
import { tasksContract } from './contract/tasks.ts';
import { tokensContract } from './contract/tokens.ts';
import { webSessionsContract } from './contract/web-sessions.ts';
import { ENGINES, type Engine, useStore } from './engines.ts';
import { addMachine, allEvents } from './samples.ts';

describe.each(ENGINES)('a store on $name', (engine) => {
  describe('inventory', () => inventoryContract(engine));
  describe('unique properties of machines', () => inventoryConflictsContract(engine));
  describe('exports', () => exportsContract(engine));
  describe('lifecycle', () => lifecycleContract(engine));
  describe('commit', () => commitOn(engine));
  describe('effects', () => effectsContract(engine));
  describe('intents', () => intentsContract(engine));
  describe('leases', () => leasesContract(engine));
  describe('tokens', () => tokensContract(engine));
  describe('sessions of the web page', () => webSessionsContract(engine));
  describe('authorities', () => authoritiesContract(engine));
  describe('certificates', () => certificatesContract(engine));
  describe('enrollment tokens', () => enrollmentTokensContract(engine));
  describe('task-signing keys', () => signingKeysContract(engine));
  describe('events', () => eventsContract(engine));
  describe('BMC credentials', () => bmcCredentialsContract(engine));
  describe('stored BMC data', () => bmcMemoriesContract(engine));
  describe('deliveries', () => renderingsContract(engine));
  describe('requests with an Idempotency-Key', () => requestsContract(engine));
  describe('sessions', () => sessionsContract(engine));
  describe('SSH keys and key sets', () => accessContract(engine));
  describe('tasks', () => tasksContract(engine));
  describe('logs of agents', () => agentLogsContract(engine));
  describe('onboarding runs', () => onboardingsContract(engine));
  describe('proposals', () => proposalsContract(engine));
  describe('audit', () => auditContract(engine));
  describe('a tampered audit chain', () => auditTamperingContract(engine));
});

function commitOn(engine: Engine): void {
  const opened = useStore(engine);
  commitContract(async () => {
    const { store } = opened();
    return {
      store,
      machine: await addMachine(store, 1),
      kinds: async () => (await allEvents(store)).map(({ kind }) => kind),
      audited: async () => (await store.auditEntries(0, 100)).map(({ action }) => action),
    };
  });
}
