// Verifies the appliance's keys, certificates and signatures with OpenSSL.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Answer {
  readonly status: number | null;
  readonly output: string;
}

export function openssl(args: readonly string[], input: string | Uint8Array = ''): Answer {
  const { status, stdout, stderr } = spawnSync('openssl', args, { input, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

/** Standard output of a command that must succeed. */
export function opensslOutput(args: readonly string[], input: string | Uint8Array = ''): string {
  const { status, stdout, stderr } = spawnSync('openssl', args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

const KEY_OPTIONS = {
  ed25519: ['-algorithm', 'ED25519'],
  'P-256': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'P-384': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  'P-521': ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-521'],
  secp256k1: ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:secp256k1'],
  'RSA 1024': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:1024'],
  'RSA 2048': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048'],
  'RSA 2048, exponent 3': ['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-pkeyopt', 'rsa_keygen_pubexp:3'],
} as const;
export type KeyName = keyof typeof KEY_OPTIONS;

export const newKeyPem = (name: KeyName): string => opensslOutput(['genpkey', ...KEY_OPTIONS[name]]);

/** A request like the agent's. `extra`: more options, for example `-addext`. */
export const newRequest = (keyPem: string, subject: string, ...extra: readonly string[]): string =>
  withFile(keyPem, (key) => opensslOutput(['req', '-new', '-key', key, '-subj', subject, ...extra]));

/** For options that need a file instead of standard input. */
export function withFile<T>(content: string | Uint8Array, work: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-openssl-'));
  try {
    const file = join(folder, 'file');
    writeFileSync(file, content, { mode: 0o600 });
    return work(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
