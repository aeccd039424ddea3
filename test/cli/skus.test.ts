import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import { type Fixture, openApi, RACK } from '../api/api-fixture.ts';
import { runColdiron } from './run-coldiron.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi({ deps: () => ({ authenticate: localAuthenticator('test') }) });
  await api.app.listen({ path: join(api.stateDir, 'coldiron.sock') });
});
afterEach(() => api.close());

describe('coldiron skus list', () => {
  it('shows owner, policy and minimum', async () => {
    const minimum = { cores: 8, memory: '32GB', disk_size: '500GB', nics: 2, nic_mbps: 10_000 };
    const skus = [...RACK.skus, { name: 'cp', architecture: 'x86_64', owner: 'ops', minimum, hardware: 'require' }];
    const payload = { sources: [{ name: 'rack', document: { ...RACK, skus } }] };
    const applied = await api.call({ role: 'admin', method: 'POST', url: '/api/v1/inventory/apply', payload });
    expect(applied.statusCode, applied.body).toBe(200);
    const { stdout, status } = await runColdiron(api.stateDir, ['skus', 'list']);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      /^cp +active +x86_64 +0 +all +ops +require +8 cores, 32 GB memory, 1 disks of 500 GB, 2 NICs of 10000 Mbit\/s$/m,
    );
    expect(stdout).toMatch(/^v100 +inactive/m);
    const json = await runColdiron(api.stateDir, ['skus', 'list', '--json']);
    expect(JSON.parse(json.stdout)).toContainEqual(
      expect.objectContaining({ name: 'cp', owner: 'ops', minimum: expect.objectContaining({ memory_bytes: 32e9 }) }),
    );
  });
});
