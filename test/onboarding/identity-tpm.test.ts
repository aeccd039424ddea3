// A machine with a TPM and its twin: the same MAC address, UUID and serial number, and another TPM. A real appliance, machines in
// QEMU with swtpm, and the service OS. Needs root.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { MachineId } from '../../appliance/domain/machine.ts';
import { loadVaultKeys } from '../../appliance/identity/vault/vault-keys.ts';
import type { InventoryDocument } from '../../appliance/inventory/schema.ts';
import type { RackedMachine } from '../../appliance/lab/rack/definition.ts';
import type { FaultKind } from '../../appliance/lab/rack/faults.ts';
import { sessionKeyOf } from '../../appliance/provisioning/sessions/sealed-file.ts';
import { hashOfSecret } from '../../appliance/provisioning/sessions/session-secret.ts';
import { sessionSeeds } from '../../appliance/provisioning/sessions/session-seeds.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { needPackages } from '../interop/packages.ts';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { ROOT_AT } from '../lab/rack/service-os-image.ts';
import { withTinyProfiles } from './faults-images.ts';
import { TroubledMachine } from './faults-machine.ts';
import { Recording } from './recording.ts';
import { OnboardingRig } from './rig.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS, hookTimeout: LAST_RESORT_MS });

const NODE = 'node01';
const TWIN = 'twin';
const STAGE_WITHIN_MS = 600_000;
/** Shorter lines of user-data may occur in other files. */
const LONG_LINE = 40;

/** Two profiles that need a TPM; the second one also needs the accepted firmware. */
function withTpmProfiles(inventory: InventoryDocument): InventoryDocument {
  const tiny = inventory.profiles?.find(({ name }) => name === 'tiny');
  if (!tiny) throw new Error('there is no tiny profile');
  const sealed = { ...tiny, name: 'sealed', identity: 'tpm' as const };
  return {
    ...inventory,
    profiles: [...(inventory.profiles ?? []), sealed, { ...sealed, name: 'measured', required_pcrs: [0, 1] }],
  };
}

describe('a machine with a TPM, and a twin without it', () => {
  let rig: OnboardingRig;
  let machine: TroubledMachine;
  let twin: TroubledMachine;

  beforeAll(async () => {
    needPackages(['tcpdump']);
    let original: RackedMachine | null = null;
    rig = await OnboardingRig.start({
      firmwares: ['bios-ipxe-rom', 'bios-ipxe-rom'],
      machines: (each) => {
        const own = { ...each, first: 'network' as const, tpm: true };
        if (original === null) {
          original = own;
          return own;
        }
        const { cards, uuid, serial } = original;
        return { ...own, name: TWIN, twinOf: NODE, cards, uuid, serial };
      },
      inventory: async (written) => [(await withTinyProfiles(written, withTpmProfiles)).file],
    });
    machine = new TroubledMachine(rig, NODE);
    twin = new TroubledMachine(rig, TWIN);
  });
  afterEach(async () => {
    await machine?.powerOff();
    await twin?.powerOff();
  });
  afterAll(() => rig?.stop());

  const deploy = (profile: string) => rig.json('deploy', NODE, '--yes', '--profile', profile);
  const eksOf = async () => (await rig.node(NODE)).identity;
  const fault = (target: string, kind: FaultKind, on: boolean) =>
    rig.rack.fault({ target, kind, on, ...(kind === 'loss' && on && { value: '100' }) });

  /** With a fault of the machine while `work` runs. */
  const having = async (target: string, kind: FaultKind, work: () => Promise<void>): Promise<void> => {
    await fault(target, kind, true);
    try {
      await work();
    } finally {
      await fault(target, kind, false);
    }
  };

  /** Armed and booted; the trail says why it was quarantined, and no session was opened. */
  const quarantinedAtDeploy = async (boot: (since: number) => Promise<void> = async () => {}): Promise<string> => {
    const before = await machine.newest();
    await deploy('sealed');
    await boot(before);
    const { note } = await rig.waitForState(NODE, 'quarantined', STAGE_WITHIN_MS);
    const since = (await rig.trail(NODE)).filter(({ seq }) => seq > before).map(({ kind }) => kind);
    expect(since).toContain('hardware.differs');
    expect(since).not.toContain('session.opened');
    expect((await rig.run('trail', NODE)).stdout).toContain('Another machine, or changed hardware, opened a session');
    return note ?? '';
  };

  it('is not installed with a profile that requires a TPM until a person has accepted the TPM', async () => {
    expect(await rig.json('commission', NODE, '--wait')).toEqual({ [NODE]: { ok: true } });
    expect(await rig.node(NODE)).toMatchObject({
      state: 'ready',
      identity: { level: 'bound', summary: expect.stringContaining('nobody accepted it: coldiron nodes rebind') },
    });
    const { status, stdout } = await rig.run('deploy', NODE, '--yes', '--profile', 'sealed', '--json');
    expect(status).not.toBe(0);
    expect(stdout).toContain('profile sealed requires a TPM (identity: tpm), and nobody has accepted its TPM yet');
    await rig.json('nodes', 'rebind', NODE);
    expect(await eksOf()).toMatchObject({ level: 'tpm', summary: expect.stringContaining('accepted by a person') });
  });

  it('is quarantined when its twin boots in its place, and the twin gets nothing', async () => {
    // The certificate of its TPM is truncated, too. The machine itself is on, behind a broken cable.
    await having(TWIN, 'tpm-bad-certificate', () =>
      having(NODE, 'loss', async () => {
        const note = await quarantinedAtDeploy(async (since) => {
          await machine.happens(({ kind }) => kind === 'bmc.boot-asked', since);
          await twin.powerOn();
        });
        expect(note).toMatch(/TPM [0-9a-f]{16}…(, [0-9a-f]{16}…)? instead of [0-9a-f]{16}…/);
        await twin.shows(/the appliance refused the session: 409 .*the machine is not the hardware/);
      }),
    );
    await rig.json('clear-quarantine', NODE);
  });

  it('is quarantined when it shows no TPM', async () => {
    await having(NODE, 'tpm-absent', async () => {
      expect(await quarantinedAtDeploy()).toContain('TPM none instead of ');
    });
    await rig.json('clear-quarantine', NODE);
  });

  it('is quarantined when its TPM answers with garbage, with the error', async () => {
    await having(NODE, 'tpm-garbage', async () => {
      expect(await quarantinedAtDeploy()).toMatch(/TPM none \(.+\) instead of /);
    });
    await rig.json('clear-quarantine', NODE);
  });

  it('is quarantined after its TPM was cleared, until a person accepts the new keys', async () => {
    const before = await eksOf();
    await fault(NODE, 'tpm-cleared', true);
    expect(await quarantinedAtDeploy()).toMatch(/TPM [0-9a-f]{16}….* instead of /);
    await rig.json('nodes', 'rebind', NODE);
    const node = await rig.node(NODE);
    expect(node.state).not.toBe('quarantined');
    expect(node.identity).toMatchObject({ level: 'tpm' });
    expect(node.identity.summary).not.toBe(before.summary);
  });

  it('gets no secrets after its firmware changed, until a person accepts the new measurements', async () => {
    await having(NODE, 'firmware-updated', async () => {
      const before = await machine.newest();
      await deploy('measured');
      const { data } = await machine.happens(({ kind }) => kind === 'session.refused', before);
      expect(data.reason).toMatch(
        /profile measured requires accepted values of PCR 0, 1 \(required_pcrs\), and PCR 1 changed/,
      );
      await rig.json('nodes', 'rebind', NODE);
      await rig.json('cancel', NODE);
    });
  });

  it('is installed, and recorded traffic contains neither its secrets nor the session key', async () => {
    await fault(NODE, 'firmware-updated', true);
    const recording = await Recording.start(rig.rack.network, join(rig.state, 'recorded.pcap'));
    try {
      const before = await machine.newest();
      await deploy('measured');
      await rig.waitForState(NODE, 'enrolling', STAGE_WITHIN_MS);
      const opened = await machine.happens(({ kind }) => kind === 'session.opened', before);
      expect(opened.data).toMatchObject({ mode: 'install', identity: 'tpm' });
      await machine.powerOff();
    } finally {
      await recording.stop();
    }
    expect((await rig.run('sessions', NODE)).stdout).toMatch(/install.*\btpm\b/);
    expect(recording.has('coldiron.session=https://')).toBe(true);
    const userData = await installedUserData();
    const [token = ''] = /ce_[0-9a-f]{12}_[\w-]{43}/.exec(userData) ?? [];
    const key = await sessionKey();
    const secrets = [token, key, ...userData.split('\n').filter((line) => line.length >= LONG_LINE)];
    expect(secrets.length).toBeGreaterThan(10);
    expect(secrets.filter((secret) => recording.has(secret))).toEqual([]);
    expect(recording.hasPartOf(token)).toBe(false);
    expect(recording.hasPartOf(key)).toBe(false);
    expect(await readFile(rig.consoleFile(NODE), 'utf8')).not.toContain(token);
  });

  /** As the service OS wrote it to the disk. */
  const installedUserData = async (): Promise<string> => {
    const request = ['-R', 'cat /var/lib/cloud/seed/nocloud/user-data', `${rig.disk(NODE)}?offset=${ROOT_AT}`];
    return (await promisify(execFile)('debugfs', request)).stdout;
  };

  /** Of the newest session; the appliance, which is down afterwards, keeps only its hash, and can make it again. */
  const sessionKey = async (): Promise<string> => {
    const id = (await rig.node(NODE)).id as MachineId;
    await rig.killAppliance();
    const { byId } = await loadVaultKeys(rig.state, process.env.CREDENTIALS_DIRECTORY);
    const keyOf = (name: string | null) => ({
      id: name ?? '',
      key: Buffer.from(byId.get(name ?? '')?.secret.reveal() ?? ''),
    });
    const store = await openSqliteStore({ file: join(rig.state, 'coldiron.db') });
    try {
      const [session] = await store.sessionsOf(id, 1);
      if (!session?.identity?.salt) throw new Error('the session is not sealed');
      const key = sessionKeyOf(sessionSeeds(keyOf, randomBytes).seed(session.id, session.identity.salt));
      expect((await store.sessionByKey(hashOfSecret(key)))?.id).toBe(session.id);
      return key;
    } finally {
      await store.close();
    }
  };
});
