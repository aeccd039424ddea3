import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseMachineId } from '../../../../appliance/domain/machine.ts';
import { mustParse } from '../../../../appliance/domain/parsed.ts';
import type { SessionId } from '../../../../appliance/domain/session.ts';
import type { PushProgress } from '../../../../appliance/provisioning/installers/nixos/anywhere-steps.ts';
import { PUSH_LIMITS, type PushResult } from '../../../../appliance/provisioning/installers/nixos/push.ts';
import {
  PushInstaller,
  type PushInstallerDeps,
  type PushSubject,
} from '../../../../appliance/provisioning/installers/nixos/push-installer.ts';
import { put, temporaryFolder } from '../../../assets/tiny-files.ts';
import { freePort } from '../../../free-port.ts';
import { fakeAnywhere, isAlive, pidsOf, steps } from './fake-anywhere.ts';
import { hostKey, needSshd, startSshd } from './real-sshd.ts';

const MACHINE = mustParse(parseMachineId('00000000-0000-4000-8000-000000000005'));
const DEPLOYMENT = Date.UTC(2026, 0, 1);
const session = (name: string): SessionId => name as SessionId;

async function rig(script: string, changes: Partial<PushInstallerDeps> = {}) {
  const folder = temporaryFolder();
  const [host, port] = [hostKey(folder, 'host'), await freePort()];
  fakeAnywhere(folder, script);
  chmodSync(put(folder, 'nix', '#!/bin/sh\necho "nix (Nix) 2.18.1"\n'), 0o755);
  const reports: (PushProgress | PushResult)[] = [];
  const { promise: finished, resolve } = Promise.withResolvers<PushResult>();
  const pushes = await PushInstaller.open({
    files: async () => ({ flake: [], extraFiles: [], diskPassphrase: null }),
    report: async (_, progress) => void reports.push(progress),
    finish: async (_, result) => {
      reports.push(result);
      resolve(result);
    },
    isSessionOpen: async () => true,
    checkEvery: 50,
    logError: (_, error) => {
      throw error;
    },
    workFolders: join(folder, 'work'),
    environment: { PATH: `${folder}:${process.env.PATH}`, HOME: folder },
    limits: { ...PUSH_LIMITS, reach: 20_000, gracePeriod: 300 },
    sshPort: port,
    ...changes,
  });
  const subject: PushSubject = {
    machine: MACHINE,
    hostname: 'node05',
    session: session('one'),
    address: '127.0.0.1',
    hostKeys: [host.line],
  };
  const installer = (authorizedKey: string) =>
    startSshd({ folder, port, hostKeys: [host.file], authorizedKeys: [authorizedKey] });
  const leftovers = () => (existsSync(join(folder, 'work')) ? readdirSync(join(folder, 'work')) : []);
  return { pushes, subject, reports, finished, folder, installer, leftovers };
}

beforeAll(() => needSshd());

describe('running pushes', () => {
  it('use the key of the order, once, and report the outcome after the last step', async () => {
    const made = await rig(steps(0, 9));
    const key = made.pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT);
    expect(made.pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT)).toBe(key);
    await made.installer(key);
    made.pushes.begin(made.subject);
    made.pushes.begin(made.subject);
    expect(await made.finished).toEqual({ ok: true });
    await made.pushes.stop();
    expect(made.reports.filter((each) => 'ok' in each)).toHaveLength(1);
    expect(made.reports.at(-1)).toEqual({ ok: true });
    expect(made.pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT)).not.toBe(key);
    expect(made.leftovers()).toEqual([]);
  });

  it('use a new key for every deployment, also where the one before never reached a push', async () => {
    const { pushes } = await rig('');
    const key = pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT);
    expect(pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT)).toBe(key);
    expect(pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT + 1)).not.toBe(key);
  });

  it('fail with the reason where the key is lost, and start nothing', async () => {
    const made = await rig(steps(0, 9));
    made.pushes.begin(made.subject);
    expect(await made.finished).toMatchObject({
      ok: false,
      step: 'prepare',
      reason: expect.stringContaining('the appliance was restarted'),
    });
    expect(existsSync(join(made.folder, 'arguments'))).toBe(false);
  });

  it('fail with the reason where the files cannot be made', async () => {
    const made = await rig(steps(0, 9), { files: () => Promise.reject(new Error('no disk matches serial X')) });
    made.pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT);
    made.pushes.begin(made.subject);
    expect(await made.finished).toMatchObject({
      ok: false,
      reason: 'its files could not be made: no disk matches serial X',
    });
  });

  it('end with all their processes when they are cancelled', async () => {
    const partitioning = Promise.withResolvers<void>();
    const made = await rig(`${steps(0, 3)}\nsleep 1000 & echo $! >> "$record/pids"; wait`, {
      report: async (_, progress) => {
        if (progress.step === 'partition' && progress.status === 'started') partitioning.resolve();
      },
    });
    const key = made.pushes.authorizedKey(MACHINE, 'node05', DEPLOYMENT);
    await made.installer(key);
    made.pushes.begin(made.subject);
    await partitioning.promise;
    await made.pushes.cancel(MACHINE);
    expect(await made.finished).toMatchObject({ ok: false, step: 'partition', reason: 'it was cancelled' });
    expect(pidsOf(made.folder).filter(isAlive)).toEqual([]);
    expect(made.leftovers()).toEqual([]);
  });

  it('leave no private key behind, even after the process before was killed', async () => {
    const folder = temporaryFolder();
    put(folder, 'work/push-abc/key', 'PRIVATE KEY');
    await rig('', { workFolders: join(folder, 'work') });
    expect(existsSync(join(folder, 'work/push-abc'))).toBe(false);
  });
});
