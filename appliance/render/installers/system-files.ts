// Files that are the same on every installed system, whatever its installer.

import { sudoersRule } from '../../domain/sudo-policy.ts';
import type { NodePlan } from '../node-plan.ts';
import type { Templates } from '../templates.ts';
import { type FirstBootExtras, firstBoot, partsWithRunner, type TargetFile } from './first-boot.ts';

/** No password logins and no root logins. sshd uses the first value it reads, so the lowest file number wins. */
export const sshFile = (): TargetFile => ({
  path: '/etc/ssh/sshd_config.d/10-coldiron.conf',
  text: ['PasswordAuthentication no', 'KbdInteractiveAuthentication no', 'PermitRootLogin no', ''].join('\n'),
  mode: 0o600,
});

/** Only what the inventory grants, with its reviewer. Accounts have no password, so a rule asks for none. */
export function sudoersFiles(plan: NodePlan): TargetFile[] {
  const rules = plan.accounts.flatMap(({ name, sudo }) =>
    sudo ? [`# reviewed by ${sudo.reviewer}\n${name} ${sudoersRule(sudo.commands)}\n`] : [],
  );
  return rules.length === 0 ? [] : [{ path: '/etc/sudoers.d/90-coldiron', text: rules.join(''), mode: 0o440 }];
}

export const ROCE_UNIT = 'coldiron-roce.service';

/** Sets the lossless traffic class of a RoCE link. Network configurations cannot express it, so a unit sets it. */
export function roceUnit(plan: NodePlan, templates: Templates): string | null {
  const links = plan.roce.flatMap(({ name, priority }) =>
    priority === null ? [] : [{ name, lossless: `${priority}:on` }],
  );
  return links.length === 0 ? null : templates.render('installers/coldiron-roce.service', { links });
}

export const unitPath = (name: string): string => `/etc/systemd/system/${name}`;

interface Unit {
  readonly name: string;
  readonly text: string;
}

/** For systems without cloud-init: the first-boot scripts, and the units that run them. */
export function firstBootSystem(
  plan: NodePlan,
  extras: FirstBootExtras,
  templates: Templates,
): { readonly files: readonly TargetFile[]; readonly units: readonly Unit[] } {
  const { site, node } = firstBoot(plan, extras, templates);
  const files = partsWithRunner([...(site === null ? [] : [site]), ...node], templates);
  const roce = roceUnit(plan, templates);
  const first = templates.render('installers/coldiron-first-boot.service', {});
  return {
    files,
    units: [
      ...(files.length === 0 ? [] : [{ name: 'coldiron-first-boot.service', text: first }]),
      ...(roce === null ? [] : [{ name: ROCE_UNIT, text: roce }]),
    ],
  };
}

export const systemFiles = (plan: NodePlan): TargetFile[] => [sshFile(), ...sudoersFiles(plan)];

export const unitFile = ({ name, text }: Unit): TargetFile => ({ path: unitPath(name), text, mode: 0o644 });

export const KERNEL_PARAMETERS = '/var/lib/coldiron/kernel-parameters';

/** For systems whose boot loader was configured before our scripts run. */
export function kernelParameterFiles(plan: NodePlan, templates: Templates): TargetFile[] {
  if (plan.kernelParameters.length === 0) return [];
  const text = templates.render('installers/kernel-parameters.sh', { parameters: plan.kernelParameters.join(' ') });
  return [{ path: KERNEL_PARAMETERS, text, mode: 0o700 }];
}
