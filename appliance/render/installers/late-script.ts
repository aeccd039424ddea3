// A script that runs inside the installed system at the end of an installation: it writes our files, creates the accounts and
// enables our units. For installers that cannot do these themselves.

import type { Account } from '../../domain/system.ts';
import type { Templates } from '../templates.ts';
import type { TargetFile } from './first-boot.ts';

export interface LateWork {
  /** Folders to empty, because the installer leaves files there that conflict with ours. */
  readonly emptied: readonly string[];
  readonly files: readonly TargetFile[];
  readonly accounts: readonly Account[];
  readonly units: readonly string[];
}

export const lateScript = (work: LateWork, templates: Templates): string =>
  templates.render('installers/late.sh', {
    emptied: work.emptied,
    files: work.files.map(({ path, text, mode }) => ({
      path,
      mode: mode.toString(8).padStart(4, '0'),
      // Base64 contains nothing that an installer could read as the end of a line or of the script.
      base64: Buffer.from(text, 'utf8').toString('base64'),
    })),
    accounts: work.accounts.map(({ name, sshKeys }) => ({ name, keys: sshKeys.map((key) => `${key}\n`).join('') })),
    units: work.units,
  });
