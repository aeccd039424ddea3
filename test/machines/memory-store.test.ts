import { describe } from 'vitest';
import { commitContract } from '../store/contract/commit.ts';
import { aMachine } from './machines.ts';
import { MemoryStore } from './memory-store.ts';

describe('the store in memory fulfils the contract of commit', () => {
  commitContract(async () => {
    const machine = aMachine({});
    const store = new MemoryStore(machine);
    return {
      store,
      machine,
      kinds: async () => store.log.map(({ kind }) => kind),
      audited: async () => store.audit.map(({ action }) => action),
    };
  });
});
