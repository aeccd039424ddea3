// Plans for each installer and their extras: the shared sample plans with their own site and enrollment.

import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../../appliance/assets/template-files.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import type { SiteBootstrap, Storage } from '../../../appliance/domain/system.ts';
import type { InstallerExtras } from '../../../appliance/render/installers/disks.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { compileTemplates } from '../../../appliance/render/templates.ts';
import { byId, SAMPLE_PLANS } from '../plans.ts';

export const TEMPLATES = compileTemplates(
  new Map([...readTemplateFiles(BUILT_IN_TEMPLATES)].filter(([name]) => name.startsWith('installers/'))),
);

export const SITE: SiteBootstrap = {
  name: 'frankfurt-baseline',
  version: '2025.11',
  script: '#!/bin/sh\nset -eu\necho "mirror: \'local\'" > /etc/site-baseline\n',
};

export const AGENT = {
  name: 'node-agent',
  version: '1.2.0',
  script: '#!/bin/sh\nset -eu\ntest -f /etc/site-baseline\necho enrolled > /etc/node-agent\n',
};

export const MANUAL: InstallerExtras = {
  instanceId: 'deployment-0001',
  nodeParts: [],
  firmware: 'efi',
  filesUrl: 'http://10.0.100.10:8080/boot/session/s1/',
  mirrorUrl: null,
  diskPassphrase: null,
};

export const MAAS: InstallerExtras = {
  ...MANUAL,
  instanceId: 'deployment-0002',
  nodeParts: [AGENT],
  mirrorUrl: 'http://mirror.example.com/debian',
};

export const WITH_PASSPHRASE: InstallerExtras = { ...MANUAL, diskPassphrase: new Secret('correct-horse-battery') };
export const BIOS: InstallerExtras = { ...MANUAL, firmware: 'bios' };

const onboarded = (plan: NodePlan): NodePlan => ({ ...plan, siteBootstrap: SITE, enrollment: 'first-boot' });

export const withStorage = (plan: NodePlan, changes: Partial<Storage>): NodePlan => ({
  ...plan,
  storage: { layout: 'single', disks: [byId('ata-DISK_A')], filesystem: 'ext4', swapMegabytes: 0, ...changes },
});

/** RHEL and CoreOS already have an account named operator. */
const people = (plan: NodePlan): NodePlan => ({
  ...plan,
  accounts: plan.accounts.map((account) => ({ ...account, name: 'oncall' })),
});

/** The bonded node with only what every installer supports. */
const BONDED = { ...SAMPLE_PLANS.bonded, packages: [] };
const MIRRORED: Partial<Storage> = { layout: 'mirror', disks: [byId('ata-DISK_A'), byId('ata-DISK_B')] };

export type Case = readonly [name: string, plan: NodePlan, extras: InstallerExtras];

export const CLOUD_INIT_CASES: readonly Case[] = [
  ['image', SAMPLE_PLANS.debian, MANUAL],
  ['onboarded', onboarded(SAMPLE_PLANS.debian), MAAS],
  ['bonded', SAMPLE_PLANS.bonded, MANUAL],
  ['dhcp-beside-static', SAMPLE_PLANS.allInOne, MANUAL],
  ['bare', SAMPLE_PLANS.bare, MANUAL],
];

export const INSTALLER_CASES = {
  autoinstall: [
    ['single', onboarded(SAMPLE_PLANS.controlPlane), MAAS],
    ['mirror', SAMPLE_PLANS.bonded, MANUAL],
    ['mirror-bios', withStorage(SAMPLE_PLANS.worker, MIRRORED), BIOS],
    ['lvm', SAMPLE_PLANS.lvm, MANUAL],
    ['luks', SAMPLE_PLANS.luks, WITH_PASSPHRASE],
    ['bare', SAMPLE_PLANS.bare, MANUAL],
  ],
  preseed: [
    ['single', onboarded(SAMPLE_PLANS.controlPlane), MAAS],
    ['bonded', withStorage(SAMPLE_PLANS.bonded, { swapMegabytes: 1024, filesystem: 'xfs' }), BIOS],
    ['lvm', SAMPLE_PLANS.lvm, MANUAL],
    ['luks', SAMPLE_PLANS.luks, WITH_PASSPHRASE],
    ['bare', SAMPLE_PLANS.bare, MANUAL],
  ],
  kickstart: [
    ['single', people(onboarded(SAMPLE_PLANS.controlPlane)), MAAS],
    ['mirror', people(SAMPLE_PLANS.bonded), MANUAL],
    ['mirror-bios', people(withStorage(SAMPLE_PLANS.worker, MIRRORED)), BIOS],
    ['lvm', people(SAMPLE_PLANS.lvm), MANUAL],
    ['luks', people(SAMPLE_PLANS.luks), WITH_PASSPHRASE],
    ['bare', SAMPLE_PLANS.bare, MANUAL],
  ],
  ignition: [
    ['single', { ...people(onboarded(SAMPLE_PLANS.controlPlane)), packages: [] }, MAAS],
    ['mirror', people(BONDED), MANUAL],
    ['luks', { ...people(SAMPLE_PLANS.luks), packages: [] }, MANUAL],
    ['bare', { ...SAMPLE_PLANS.bare, storage: null }, MANUAL],
  ],
} as const satisfies Record<string, readonly Case[]>;
