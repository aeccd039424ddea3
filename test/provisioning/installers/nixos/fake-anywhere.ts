// A fake nixos-anywhere: it prints the lines of the real one, and runs the test's commands in between.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The lines of nixos-anywhere 1.13.0 with --phases disko,install,reboot and --extra-files, building on this machine. */
export const REAL_STEPS = [
  'Uploading install SSH keys',
  'Gathering machine facts',
  'Formatting hard drive with disko',
  'Uploading the system closure',
  'Copying extra files',
  'Installing NixOS',
  'Rebooting',
  'Waiting for the machine to become unreachable due to reboot',
  'Done!',
] as const;

export const step = (name: string): string => `echo '### ${name} ###'`;
export const steps = (from: number, to: number): string => REAL_STEPS.slice(from, to).map(step).join('\n');

/** Every process of the fake writes its id into this file. */
export const pidsOf = (folder: string): number[] =>
  readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number);

export function isAlive(pid: number): boolean {
  try {
    // A process that has ended and was not reaped yet does not count.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** `$record` is the folder in the script; `pid` records the process that calls it. */
export function fakeAnywhere(folder: string, script: string): string {
  const file = join(folder, 'nixos-anywhere');
  const head = [
    '#!/bin/bash',
    `record='${folder}'`,
    'pid() { echo "$BASHPID" >> "$record/pids"; }',
    'pid',
    'printf "%s\\n" "$@" > "$record/arguments"',
    'env > "$record/environment"',
    'while [ $# -gt 1 ]; do case $1 in -i) key=$2 ;; -p) port=$2 ;; --extra-files) extra=$2 ;; --flake) flake=$2 ;; --disk-encryption-keys) disk=$3 ;; esac; shift; done',
  ];
  writeFileSync(file, `${[...head, script].join('\n')}\n`, { mode: 0o755 });
  return file;
}
