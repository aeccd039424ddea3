// The #cloud-config of an installed system, as plain data: who it is, who may log in, its clock, its packages and its files.

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

/** What is left for cloud-init when the installer has done the rest. */
export interface CloudConfigExtras {
  readonly files: readonly TargetFile[];
  readonly commands: readonly (readonly string[])[];
  /** Lines for files that are there already. */
  readonly appended?: readonly object[];
}

/** What every system is told, also the one that an installer has made before. */
export function identityConfig(plan: NodePlan, templates: Templates, extras: CloudConfigExtras): object {
  const roce = roceUnit(plan, templates);
  const units = roce === null ? [] : [{ path: unitPath(ROCE_UNIT), text: roce, mode: 0o644 }];
  const commands = [...(roce === null ? [] : [['systemctl', 'enable', '--now', ROCE_UNIT]]), ...extras.commands];
  return {
    hostname: plan.hostname,
    fqdn: plan.fqdn,
    preserve_hostname: false,
    manage_etc_hosts: 'localhost',
    // With no list at all there is the distribution's own account, which nobody has a key for; an empty list is no list.
    ...(plan.accounts.length === 0 ? {} : { users: plan.accounts.map(user) }),
    ssh_pwauth: false,
    disable_root: true,
    timezone: plan.timeZone,
    ...(plan.ntpServers.length === 0 ? {} : { ntp: { enabled: true, servers: [...plan.ntpServers] } }),
    write_files: [...[sshFile(), ...units, ...extras.files].map(writtenFile), ...(extras.appended ?? [])],
    ...(commands.length === 0 ? {} : { runcmd: commands.map((command) => [...command]) }),
  };
}

/** For an image that was written to the disk as it is. */
export function imageConfig(plan: NodePlan, templates: Templates, extras: CloudConfigExtras): object {
  const parameters = kernelParameterFiles(plan, templates);
  return {
    ...identityConfig(plan, templates, {
      files: [...parameters, ...extras.files],
      appended: generatedLocale(plan.locale),
      commands: [...(parameters.length === 0 ? [] : [[KERNEL_PARAMETERS]]), ...extras.commands],
    }),
    locale: plan.locale,
    // What every image has already; setting it needs the message bus, which small images do without.
    ...(plan.keyboard === 'us' ? {} : { keyboard: { layout: plan.keyboard } }),
    ...(plan.packages.length === 0 ? {} : { package_update: true, packages: [...plan.packages] }),
    growpart: { mode: 'auto', devices: ['/'], ignore_growroot_disabled: false },
    resize_rootfs: true,
    ...(plan.siteBootstrap === null ? {} : { cloud_final_modules: [...SITE_FIRST] }),
  };
}

const user = (account: Account): object => ({
  name: account.name,
  // Named, so that a group of this name that the distribution brings (Debian: operator, backup) is taken and does not fail.
  primary_group: account.name,
  shell: '/bin/bash',
  lock_passwd: true,
  ...(account.admin ? { sudo: 'ALL=(ALL) NOPASSWD:ALL' } : {}),
  ssh_authorized_keys: [...account.sshKeys],
});

/** Debian's locale-gen makes what this file names and nothing that it is asked for; without it the locale cannot be set. */
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
 * The last stage of cloud-init. Distributions install packages before they run what the vendor, here the site, has sent; a
 * site that must first say where packages come from would be too late. So the order is ours.
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
