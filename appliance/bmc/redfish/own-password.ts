// Changes the password of our own user, and of no other.

import { shown } from '../../domain/parsed.ts';
import type { Secret } from '../../domain/secret.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { changeWith } from './change.ts';
import { memberPaths } from './collection.ts';
import { isRefusal, RedfishRefusal } from './refusal.ts';
import { linkAt, numberAt, type Resource, textAt } from './resource.ts';

const MOST_ACCOUNTS = 64;

export async function setOwnPassword(bmc: RedfishCaller, userName: string, password: Secret): Promise<void> {
  const text = new TextDecoder().decode(password.reveal());
  const account = await ownAccount(bmc, userName, text);
  try {
    // The system resource, and with it the kind of BMC, may be hidden until the password is changed.
    await changeWith(bmc, account, { Password: text }, 'send');
  } catch (error) {
    if (!(error instanceof RedfishRefusal) || !isRefusal(error)) throw error;
    throw new BmcError('refused', `the BMC rejects the new password: ${error.message}`);
  }
}

async function ownAccount(bmc: RedfishCaller, userName: string, text: string): Promise<Read> {
  const path = linkAt(await bmc.root(), 'AccountService');
  // A BMC that requires a password change first shows only the account itself.
  const toChange = await bmc.ownAccount();
  if (toChange !== null) return bmc.read(toChange);
  const service = path === null ? null : (await bmc.read(path)).resource;
  const accounts = linkAt(service, 'Accounts');
  if (service === null || accounts === null)
    throw new BmcError('unsupported', 'this BMC does not support user management over Redfish');
  checkLength(service, text);
  for (const member of await memberPaths(bmc, accounts, MOST_ACCOUNTS)) {
    const account = await bmc.read(member);
    if (textAt(account.resource, 'UserName') === userName) return account;
  }
  throw new BmcError(
    'refused',
    `the BMC lists no account ${shown(userName)}; it may be a directory user, whose password cannot be changed here`,
  );
}

/** Checked here: half of the BMCs keep the old password and reply 200. */
function checkLength(service: Resource, text: string): void {
  const length = [...text].length;
  const least = numberAt(service, 'MinPasswordLength') ?? 0;
  const most = numberAt(service, 'MaxPasswordLength') ?? 0;
  if (length < least) {
    throw new BmcError(
      'refused',
      `the BMC requires at least ${least} characters in a password, and the new one has ${length}`,
    );
  }
  if (most > 0 && length > most) {
    throw new BmcError(
      'refused',
      `the BMC allows at most ${most} characters in a password, and the new one has ${length}`,
    );
  }
}
