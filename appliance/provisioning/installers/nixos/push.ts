// Installs NixOS on a machine that runs the installer, by driving nixos-anywhere from here: wait, verify the host key, run,
// watch, and always clean up.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Instant } from '../../../domain/instant.ts';
import { HOUR, MINUTE, SECOND } from '../../../domain/instant.ts';
import { type Parsed, shown } from '../../../domain/parsed.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { RenderedFile } from '../../../render/rendered-file.ts';
import { type AnywhereEnd, type AnywhereLimits, watchAnywhere } from './anywhere.ts';
import type { InstallStep, PushProgress } from './anywhere-steps.ts';
import type { EphemeralKey } from './ephemeral-key.ts';
import { type InstallerAddress, reachInstaller } from './installer-ssh.ts';
import { outputTail } from './output-tail.ts';
import type { PushTools } from './push-tools.ts';
import { openTunnel } from './tunnel.ts';
import { withWorkFolder, writeFiles } from './work-folder.ts';

export interface PushLimits extends AnywhereLimits {
  /** Until the installer's SSH server accepts the login. */
  readonly reach: Instant;
  /** Until that server forwards to itself. */
  readonly forward: Instant;
}

export const PUSH_LIMITS: PushLimits = {
  reach: 10 * MINUTE,
  forward: 10 * SECOND,
  all: 4 * HOUR,
  gracePeriod: 5 * SECOND,
  step: null,
};

export interface Push {
  /** The name of the node in the flake. */
  readonly node: string;
  readonly flake: readonly RenderedFile[];
  readonly extraFiles: readonly RenderedFile[];
  /** The first passphrase of encrypted disks; null: not encrypted. */
  readonly diskPassphrase: Secret | null;
  readonly target: InstallerAddress;
  readonly hostKeys: readonly string[];
  readonly key: EphemeralKey;
  readonly tools: Parsed<PushTools>;
  /** The appliance's folder for work folders. */
  readonly workFolders: string;
  /** The environment of the appliance; only a few variables are passed on. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits: PushLimits;
  readonly signal: AbortSignal;
  readonly say: (progress: PushProgress) => void;
}

export type PushResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly step: InstallStep; readonly reason: string; readonly log: string | null };

/** The path in the rendered disk layout. */
const DISK_KEY_ON_INSTALLER = '/tmp/disk-encryption.key';

export async function pushNixos(push: Push): Promise<PushResult> {
  const result = await tryPush(push).catch((error: Error): PushResult => failure('prepare', shown(error.message)));
  if (!result.ok) {
    push.say({ step: result.step, status: 'failed', percent: null, message: result.reason, log: result.log });
  }
  return result;
}

async function tryPush(push: Push): Promise<PushResult> {
  const { tools, target, say } = push;
  if (!tools.ok) return failure('prepare', tools.reason);
  say(starting('prepare', `waiting for the SSH server of the installer at ${target.host}`));
  const reached = await reachInstaller({ ...push, privateKey: push.key.privateKey, timeout: push.limits.reach });
  if (!reached.ok) return failure('prepare', reached.reason);
  const connection = reached.value;
  try {
    const tunnel = await openTunnel(connection, target.port, { forward: push.limits.forward, signal: push.signal });
    if (!tunnel.ok) return failure('prepare', tunnel.reason);
    try {
      return await withWorkFolder(push.workFolders, (folder) => runIn(folder, push, tools.value, tunnel.value));
    } finally {
      await tunnel.value.close();
    }
  } finally {
    connection.destroy();
  }
}

async function runIn(folder: string, push: Push, tools: PushTools, through: InstallerAddress): Promise<PushResult> {
  const { limits, signal, say } = push;
  const places = await writeInputs(folder, push);
  const tail = outputTail(secretsOf(push));
  const end = await watchAnywhere({
    command: tools.nixosAnywhere,
    args: argumentsOf(push, places, through),
    environment: environmentOf(push.environment, folder),
    folder,
    limits,
    signal,
    tail,
    say,
  });
  return resultOf(end, tail.text());
}

interface Places {
  readonly flake: string;
  readonly extraFiles: string;
  readonly key: string;
  readonly diskKey: string | null;
}

async function writeInputs(folder: string, push: Push): Promise<Places> {
  const places = {
    flake: join(folder, 'flake'),
    extraFiles: join(folder, 'extra-files'),
    key: join(folder, 'key'),
    diskKey: push.diskPassphrase === null ? null : join(folder, 'disk-key'),
  };
  await writeFiles(places.flake, push.flake);
  await writeFiles(places.extraFiles, push.extraFiles);
  await writeFile(places.key, push.key.privateKey.reveal(), { mode: 0o600, flag: 'wx' });
  if (places.diskKey !== null && push.diskPassphrase !== null) {
    await writeFile(places.diskKey, push.diskPassphrase.reveal(), { mode: 0o600, flag: 'wx' });
  }
  return places;
}

/** No secret is in here: every user on this host can read the arguments of a process. */
const argumentsOf = (push: Push, places: Places, through: InstallerAddress): string[] => [
  '--flake',
  // As a path: otherwise Nix looks for a Git repository around it, and sees only the files that Git tracks.
  `path:${places.flake}#${push.node}`,
  '--phases',
  'disko,install,reboot',
  '--extra-files',
  places.extraFiles,
  '-i',
  places.key,
  '-p',
  String(through.port),
  ...(places.diskKey === null ? [] : ['--disk-encryption-keys', DISK_KEY_ON_INSTALLER, places.diskKey]),
  `root@${through.host}`,
];

/** Not SSH_AUTH_SOCK: an agent offers its own keys first, and a server counts those as failed logins. */
const PASSED_ON = [
  'PATH',
  'HOME',
  'LANG',
  'NIX_PATH',
  'NIX_REMOTE',
  'NIX_SSL_CERT_FILE',
  'NIX_CONF_DIR',
  'XDG_CACHE_HOME',
];

function environmentOf(own: Push['environment'], folder: string): Record<string, string> {
  const kept = PASSED_ON.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return { HOME: folder, ...Object.fromEntries(kept), TMPDIR: folder, TERM: 'dumb' };
}

const secretsOf = ({ extraFiles, diskPassphrase, key }: Push): string[] => [
  ...extraFiles.filter(({ secret }) => secret).map(({ text }) => text),
  ...[diskPassphrase, key.privateKey].flatMap((secret) =>
    secret ? [Buffer.from(secret.reveal()).toString('utf8')] : [],
  ),
];

const resultOf = (end: AnywhereEnd, log: string): PushResult =>
  end.ok ? { ok: true } : { ok: false, step: end.step, reason: end.reason, log: log || null };

const failure = (step: InstallStep, reason: string): PushResult => ({ ok: false, step, reason, log: null });

const starting = (step: InstallStep, message: string): PushProgress => ({
  step,
  status: 'started',
  percent: 0,
  message,
  log: null,
});
