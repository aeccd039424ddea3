// SSH keys and key sets as the API shows them.

import type { Static } from 'typebox';
import { policyChecksum } from '../../allocations/sudo-policies.ts';
import type { KeySet, KeySetAnswer, SiteKeySet, SshKey, SudoPolicy } from '../../contract/schemas/access.ts';
import type { AccessVersion } from '../../domain/access-object.ts';
import { instantText } from '../../domain/instant.ts';
import { sudoersText } from '../../domain/sudo-policy.ts';
import { timeText } from './time-text.ts';

export const sshKeyView = ({ name, value, at, actor }: AccessVersion<'ssh-key'>): Static<typeof SshKey.schema> => ({
  id: name,
  owner: value.owner,
  fingerprint: value.fingerprint,
  comment: value.comment,
  key: value.line,
  added_at: instantText(at),
  added_by: actor,
});

export const keySetView = (set: AccessVersion<'key-set'>): Static<typeof KeySet.schema> => {
  const { owner, keys, rotation } = set.value;
  const validation = rotation?.validation ?? null;
  return {
    name: set.name,
    owner,
    keys: [...keys],
    rotation: rotation && {
      from: rotation.from,
      to: rotation.to,
      validated_at: timeText(validation?.at ?? null),
      validated_with: validation && `${validation.username}@${validation.host}`,
      host_key: validation?.hostKey ?? null,
    },
    version: set.version,
    changed_at: instantText(set.at),
    changed_by: set.actor,
  };
};

export const keySetAnswer = (
  newest: AccessVersion<'key-set'>,
  versions: readonly AccessVersion<'key-set'>[],
): Static<typeof KeySetAnswer> => ({
  ...keySetView(newest),
  removed: newest.value.removed,
  versions: versions.map(({ version, at, actor, value }) => ({
    version,
    at: instantText(at),
    by: actor,
    keys: [...value.keys],
    removed: value.removed,
  })),
});

export const siteKeySetView = (keys: AccessVersion<'site-keys'>): Static<typeof SiteKeySet> => ({
  site: keys.name,
  key_set: keys.value.keySet,
  version: keys.version,
  changed_at: instantText(keys.at),
  changed_by: keys.actor,
});

export const sudoPolicyView = (policy: AccessVersion<'sudo-policy'>): Static<typeof SudoPolicy.schema> => {
  const { owner, commands, review } = policy.value;
  return {
    name: policy.name,
    owner,
    commands: [...commands],
    checksum: policyChecksum(commands),
    sudoers: sudoersText('USER', commands),
    reviewed_by: review?.by ?? null,
    reviewed_at: timeText(review?.at ?? null),
    version: policy.version,
    changed_at: instantText(policy.at),
    changed_by: policy.actor,
  };
};
