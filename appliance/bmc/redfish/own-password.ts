// Another password for the user that we log in as, and for nobody else.

import { shown } from '../../domain/parsed.ts';
import type { Secret } from '../../domain/secret.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { changeWith } from './change.ts';
import { memberPaths } from './collection.ts';
import { isAnswerNo, RedfishRefusal } from './refusal.ts';
import { linkAt, numberAt, type Resource, textAt } from './resource.ts';

const MOST_ACCOUNTS = 64;

export async function setOwnPassword(bmc: RedfishCaller, userName: string, password: Secret): Promise<void> {
  const text = new TextDecoder().decode(password.reveal());
  const account = await ownAccount(bmc, userName, text);
  try {
    // The machine behind the BMC, and with it the kind of BMC, may be hidden until the password is a new one.
    await changeWith(bmc, account, { Password: text }, 'send');
  } catch (error) {
    if (!(error instanceof RedfishRefusal) || !isAnswerNo(error)) throw error;
    throw new BmcError('refused', `the BMC does not take the new password: ${error.message}`);
  }
}

async function ownAccount(bmc: RedfishCaller, userName: string, text: string): Promise<Read> {
  const path = linkAt(await bmc.root(), 'AccountService');
  // A BMC that wants a new password first shows nothing but the account itself.
  const told = await bmc.ownAccount();
  if (told !== null) return bmc.read(told);
  const service = path === null ? null : (await bmc.read(path)).resource;
  const accounts = linkAt(service, 'Accounts');
  if (service === null || accounts === null)
    throw new BmcError('unsupported', 'this BMC does not manage users by Redfish');
  checkLength(service, text);
  for (const member of await memberPaths(bmc, accounts, MOST_ACCOUNTS)) {
    const account = await bmc.read(member);
    if (textAt(account.resource, 'UserName') === userName) return account;
  }
  throw new BmcError('refused', `the BMC lists no account of ${shown(userName)}; is it a user from a directory?`);
}

/** Said here rather than by the BMC: half of them keep the old password and answer 200. */
function checkLength(service: Resource, text: string): void {
  const length = [...text].length;
  const least = numberAt(service, 'MinPasswordLength') ?? 0;
  const most = numberAt(service, 'MaxPasswordLength') ?? 0;
  if (length < least) {
    throw new BmcError(
      'refused',
      `the BMC wants at least ${least} characters in a password, and the new one has ${length}`,
    );
  }
  if (most > 0 && length > most) {
    throw new BmcError(
      'refused',
      `the BMC keeps at most ${most} characters of a password, and the new one has ${length}`,
    );
  }
}
