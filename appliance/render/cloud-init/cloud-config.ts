// The #cloud-config of an installed system as plain data: identity, accounts, time, packages and files.

import { sudoersRule } from '../../domain/sudo-policy.ts';
import type { Account } from '../../domain/system.ts';
import type { TargetFile } from '../installers/first-boot.ts';
import {
  KERNEL_PARAMETERS,
  kernelParameterFiles,
  ROCE_UNIT,
  roceUnit,
  sshFile,
  unitPath,
} from '../installers/system-files.ts';
import type { NodePlan } from '../node-plan.ts';
import type { Templates } from '../templates.ts';

/** What remains for cloud-init when the installer has done the rest. */
export interface CloudConfigExtras {
  readonly files: readonly TargetFile[];
  readonly commands: readonly (readonly string[])[];
  /** Lines to append to existing files. */
  readonly appended?: readonly object[];
}

/** For every system, including one that an installer has built before. */
export function identityConfig(plan: NodePlan, templates: Templates, extras: CloudConfigExtras): object {
  const roce = roceUnit(plan, templates);
  const units = roce === null ? [] : [{ path: unitPath(ROCE_UNIT), text: roce, mode: 0o644 }];
  const commands = [...(roce === null ? [] : [['systemctl', 'enable', '--now', ROCE_UNIT]]), ...extras.commands];
  return {
    hostname: plan.hostname,
    fqdn: plan.fqdn,
    preserve_hostname: false,
    manage_etc_hosts: 'localhost',
    // Without `users` the distribution creates its default account, for which nobody has a key; an empty list counts as none.
    ...(plan.accounts.length === 0 ? {} : { users: plan.accounts.map(user) }),
    ssh_pwauth: false,
    disable_root: true,
    timezone: plan.timeZone,
    ...(plan.ntpServers.length === 0 ? {} : { ntp: { enabled: true, servers: [...plan.ntpServers] } }),
    write_files: [...[sshFile(), ...units, ...extras.files].map(writtenFile), ...(extras.appended ?? [])],
    ...(commands.length === 0 ? {} : { runcmd: commands.map((command) => [...command]) }),
  };
}

/** For an image that was written to the disk unchanged. */
export function imageConfig(plan: NodePlan, templates: Templates, extras: CloudConfigExtras): object {
  const parameters = kernelParameterFiles(plan, templates);
  return {
    ...identityConfig(plan, templates, {
      files: [...parameters, ...extras.files],
      appended: generatedLocale(plan.locale),
      commands: [...(parameters.length === 0 ? [] : [[KERNEL_PARAMETERS]]), ...extras.commands],
    }),
    locale: plan.locale,
    // Every image has it already; setting it needs D-Bus, which small images lack.
    ...(plan.keyboard === 'us' ? {} : { keyboard: { layout: plan.keyboard } }),
    ...(plan.packages.length === 0 ? {} : { package_update: true, packages: [...plan.packages] }),
    growpart: { mode: 'auto', devices: ['/'], ignore_growroot_disabled: false },
    resize_rootfs: true,
    ...(plan.siteBootstrap === null ? {} : { cloud_final_modules: [...SITE_FIRST] }),
  };
}

const user = (account: Account): object => ({
  name: account.name,
  // Explicit, so that an existing group of this name (Debian: operator, backup) is reused instead of causing an error.
  primary_group: account.name,
  shell: '/bin/bash',
  lock_passwd: true,
  ...(account.sudo ? { sudo: sudoersRule(account.sudo.commands) } : {}),
  ssh_authorized_keys: [...account.sshKeys],
});

/** Debian's locale-gen generates only the locales in this file; without the line the locale cannot be set. */
function generatedLocale(locale: string): object[] {
  const charset = /^[a-z]{2,3}_[A-Z]{2}\.([A-Za-z0-9-]+)/.exec(locale)?.[1];
  return charset === undefined ? [] : [{ path: '/etc/locale.gen', append: true, content: `${locale} ${charset}\n` }];
}

const writtenFile = ({ path, text, mode }: TargetFile): object => ({
  path,
  owner: 'root:root',
  permissions: mode.toString(8).padStart(4, '0'),
  content: text,
});

/**
 * The final stage of cloud-init. Distributions install packages before they run vendor-data, here the part of the site. That is
 * too late for a site that must first configure package sources, so we set the order.
 */
const SITE_FIRST = [
  'scripts-vendor',
  'package-update-upgrade-install',
  'write-files-deferred',
  'scripts-per-once',
  'scripts-per-boot',
  'scripts-per-instance',
  'scripts-user',
  'ssh-authkey-fingerprints',
  'keys-to-console',
  'phone-home',
  'final-message',
  'power-state-change',
] as const;
