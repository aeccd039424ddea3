// Selects the test files of `npm run test:quick`: those that any user can run on any machine in a few minutes. The selection uses
// imports, so that a new test which needs root or a package is excluded automatically. Also selects which tests share a process.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** Virtual machines, programs of other projects, network namespaces. */
const FOLDERS = ['test/interop/', 'test/onboarding/', 'test/lab/rack/', 'test/process/'];

/** A test that imports it, directly or not, uses programs of Debian packages. */
const PACKAGES = 'test/interop/packages.ts';

/** A test that imports one of these, directly or not, needs root, or starts the whole appliance. */
const LARGE = ['test/interop/namespaces.ts', 'test/net/udp/from-port-zero.ts', 'test/process/appliance.ts'];

const NOT_QUICK = [PACKAGES, ...LARGE];

/** Exclusions that imports do not show. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'test/assets/cli.test.ts': 'starts the CLI many times',
  'test/assets/service-os-size.test.ts': 'builds the service OS from packages',
  'test/attack-tally.test.ts': 'lists the tests of all attacks, in a process of its own',
  'test/attacks/files-render.test.ts': 'changes the owner of files: root',
  'test/attacks/files-state.test.ts': 'changes the owner of files: root',
  'test/attacks/damaged-inputs.test.ts': 'slow: many damaged packets',
  'test/bmc/access/commission.test.ts': 'binds the IPMI port 623: root',
  'test/bmc/ipmi/handshake-fuzz.test.ts': 'slow: many damaged packets',
  'test/codecs/dhcp4/mutation.test.ts': 'slow: many damaged packets',
  'test/net/udp/echo-socket.test.ts': 'opens a raw ICMP socket: root',
  'test/servers/tftp/request-flood.test.ts': 'slow: floods a server',
  'test/servers/tftp/tftp-limits.test.ts': 'slow: fills a server',
  'test/store/crash.test.ts': 'slow: kills a writer fifty times',
  'test/store/sqlite/sqlite.test.ts': 'writes below folders without permissions: root',
};

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+\.ts)'/g;

/** Files of this repository that the file imports, as paths from the root. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return [...text.matchAll(IMPORT)].map(([, path]) => normalize(join(dirname(file), path ?? '')));
}

function reachableFrom(file: string, seen = new Set<string>()): Set<string> {
  for (const imported of importsOf(file)) {
    // Only tests and their helpers can need a package; the appliance itself is not followed.
    if (!imported.startsWith('test/') || seen.has(imported)) continue;
    seen.add(imported);
    reachableFrom(imported, seen);
  }
  return seen;
}

export function isQuick(file: string): boolean {
  if (FOLDERS.some((folder) => file.startsWith(folder)) || Object.hasOwn(LEFT_OUT, file)) return false;
  const reachable = reachableFrom(file);
  return !NOT_QUICK.some((excluded) => reachable.has(excluded));
}

export const testFiles = (): string[] =>
  readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name}`)
    .sort();

export const quickFiles = (): string[] => testFiles().filter(isQuick);

/** What a test changes or counts for its whole process. */
const OF_THE_PROCESS = /\/proc\/self|memoryUsage|useFakeTimers|vi\.mock|spyOn|process\.(?:chdir|on|umask)\(/;

/** Whether a test only needs the programs of a package to be quick. */
function isQuickWithPackages(file: string): boolean {
  const large = FOLDERS.filter((folder) => folder !== 'test/interop/').some((folder) => file.startsWith(folder));
  if (large || Object.hasOwn(LEFT_OUT, file)) return false;
  const reachable = reachableFrom(file);
  return reachable.has(PACKAGES) && !LARGE.some((excluded) => reachable.has(excluded));
}

/**
 * Files that may run one after the other in one process: a new process for each loads the same modules again, which takes longer than
 * the tests of most files.
 */
export function canShareProcess(file: string): boolean {
  const texts = [file, ...reachableFrom(file)].map((each) => readFileSync(join(ROOT, each), 'utf8'));
  return (isQuick(file) || isQuickWithPackages(file)) && !texts.some((text) => OF_THE_PROCESS.test(text));
}
