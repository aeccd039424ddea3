// How many attacks the suite tries, and how many damaged inputs it sends. A run prints what it did (test/attack-reporter.ts), and
// docs/security.md has the numbers (`npm run docs` writes them).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

declare module 'vitest' {
  interface TaskMeta {
    /** Damaged or hostile inputs that the test sent. */
    inputs?: number;
  }
}

const ROOT = join(import.meta.dirname, '..');

/** A folder, or a file elsewhere, whose tests are attacks. */
export const ATTACKS: readonly string[] = [
  'test/attacks/',
  'test/bmc/ipmi/handshake-fuzz.test.ts',
  'test/codecs/dhcp4/mutation.test.ts',
  'test/onboarding/identity-tpm.test.ts',
  'test/servers/dhcp/mutation.test.ts',
  'test/servers/node-api/attacks.test.ts',
  'test/servers/tftp/request-flood.test.ts',
];

export const isAttack = (file: string): boolean => ATTACKS.some((place) => file.startsWith(place));

/** The tests take their numbers from here, and count what they send. */
export const INPUTS = {
  /** Packets, requests and documents, to each reader in process. */
  readers: 200_000,
  /** To every socket of an appliance from which a machine boots. */
  sockets: 100_000,
  dhcpDecoder: 1_000_000,
  dhcpServer: 20_000,
  /** Four steps of a BMC session. */
  bmcHandshake: 1_000_000,
  /** Nine floods. */
  tftpServer: 180_000,
} as const satisfies Record<string, number>;

export const totalInputs = (): number => Object.values(INPUTS).reduce((sum, inputs) => sum + inputs, 0);

export const numberText = (number: number): string => number.toLocaleString('en-US');

/** Without running them. */
export async function countAttacks(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-attacks-'));
  try {
    const file = join(folder, 'tests.json');
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const args = ['list', '--config', 'test/vitest.config.ts', `--json=${file}`, ...ATTACKS];
    // Not as a part of the run that this may be called from.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
    const child = spawn(process.execPath, [vitest, ...args], { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const [status] = (await once(child, 'close')) as [number | null];
    if (status !== 0 || !existsSync(file)) throw new Error(`vitest list failed: ${said}`);
    const listed = JSON.parse(readFileSync(file, 'utf8')) as readonly unknown[];
    return listed.length;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const MARKED = /<!-- attacks -->.*<!-- \/attacks -->/;

/** The text of docs/security.md with these numbers. */
export function withAttackCount(text: string, attacks: number): string {
  if (!MARKED.test(text)) throw new Error('docs/security.md has no place for the number of attacks');
  const numbers = `${numberText(attacks)} attacks and ${numberText(totalInputs())} damaged inputs`;
  return text.replace(MARKED, `<!-- attacks -->${numbers}<!-- /attacks -->`);
}
