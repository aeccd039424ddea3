// Handlers of SSH keys, key sets and the default key sets of sites.

import { ColdironError } from '../../domain/errors.ts';
import { shown } from '../../domain/parsed.ts';
import { callerOf } from '../caller.ts';
import type { Handlers } from '../handler.ts';
import { keySetAnswer, keySetView, siteKeySetView, sshKeyView, sudoPolicyView } from '../views/access.ts';

export const accessHandlers: Handlers<
  | 'listSshKeys'
  | 'addSshKey'
  | 'removeSshKey'
  | 'listKeySets'
  | 'getKeySet'
  | 'putKeySet'
  | 'removeKeySet'
  | 'rotateKeySet'
  | 'validateKeySet'
  | 'finishKeySetRotation'
  | 'rollBackKeySet'
  | 'listSiteKeySets'
  | 'putSiteKeySet'
  | 'rollBackSiteKeySet'
  | 'listSudoPolicies'
  | 'putSudoPolicy'
  | 'reviewSudoPolicy'
  | 'removeSudoPolicy'
> = {
  async listSshKeys({ accessKeys }, { query: { owner } }) {
    const keys = (await accessKeys.keys()).filter(({ value }) => owner === undefined || value.owner === owner);
    return { keys: keys.map(sshKeyView) };
  },
  addSshKey: async ({ accessKeys }, call) =>
    sshKeyView(await accessKeys.add(call.body.key, call.body.owner, callerOf(call))),
  removeSshKey: async ({ accessKeys }, call) => sshKeyView(await accessKeys.remove(call.params.key, callerOf(call))),

  listKeySets: async ({ accessKeys }) => ({ key_sets: (await accessKeys.sets()).map(keySetView) }),
  async getKeySet({ accessKeys }, { params: { set } }) {
    const versions = await accessKeys.setVersions(set);
    const [newest] = versions;
    if (!newest) throw new ColdironError('not_found', `there is no key set ${shown(set)}`);
    return keySetAnswer(newest, versions);
  },
  putKeySet: async ({ accessKeys }, call) =>
    keySetView(await accessKeys.putSet(call.params.set, call.body.owner, call.body.keys, callerOf(call))),
  removeKeySet: async ({ accessKeys }, call) => keySetView(await accessKeys.removeSet(call.params.set, callerOf(call))),
  rotateKeySet: async ({ accessKeys }, call) =>
    keySetView(await accessKeys.rotate(call.params.set, call.body.from, call.body.to, callerOf(call))),
  validateKeySet: async ({ accessKeys }, call) => {
    const { host, port = 22, username } = call.body;
    return keySetView(await accessKeys.validate(call.params.set, { host, port, username }, callerOf(call)));
  },
  finishKeySetRotation: async ({ accessKeys }, call) =>
    keySetView(await accessKeys.finish(call.params.set, callerOf(call))),
  rollBackKeySet: async ({ accessKeys }, call) =>
    keySetView(await accessKeys.rollBack(call.params.set, call.body.version, callerOf(call))),

  listSiteKeySets: async ({ accessKeys }) => ({ sites: (await accessKeys.siteKeys()).map(siteKeySetView) }),
  putSiteKeySet: async ({ accessKeys }, call) =>
    siteKeySetView(await accessKeys.putSiteKeys(call.params.site, call.body.key_set, callerOf(call))),
  rollBackSiteKeySet: async ({ accessKeys }, call) =>
    siteKeySetView(await accessKeys.rollBackSiteKeys(call.params.site, callerOf(call))),

  listSudoPolicies: async ({ sudoPolicies }) => ({ policies: (await sudoPolicies.list()).map(sudoPolicyView) }),
  putSudoPolicy: async ({ sudoPolicies }, call) =>
    sudoPolicyView(await sudoPolicies.put(call.params.policy, call.body.owner, call.body.commands, callerOf(call))),
  reviewSudoPolicy: async ({ sudoPolicies }, call) =>
    sudoPolicyView(await sudoPolicies.review(call.params.policy, call.body.checksum, callerOf(call))),
  removeSudoPolicy: async ({ sudoPolicies }, call) =>
    sudoPolicyView(await sudoPolicies.remove(call.params.policy, callerOf(call))),
};
