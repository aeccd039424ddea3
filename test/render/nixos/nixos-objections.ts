// Errors although every option exists and has its type: what NixOS would fail or warn with, by its module (below
// nixos/modules), and invalid firewall rules.

import { at, namesIn } from './expected-configuration.ts';
import type { Evaluated } from './nix-evaluation.ts';

type Rule = (configuration: Evaluated) => string[];

/** system/boot/systemd.nix */
const units: Rule = (configuration) => {
  const services = at(configuration, 'systemd', 'services');
  return namesIn(services).flatMap((name) => {
    const unit = at(services, name);
    const restart = at(unit, 'serviceConfig', 'Restart');
    const isOneshot = at(unit, 'serviceConfig', 'Type') === 'oneshot';
    const waits = textsAt(unit, 'after').includes('network-online.target');
    const isWanted = [...textsAt(unit, 'wants'), ...textsAt(unit, 'bindsTo')].includes('network-online.target');
    return [
      ...(isOneshot && (restart === 'always' || restart === 'on-success')
        ? [`${name}: a oneshot cannot be restarted ${restart}`]
        : []),
      ...(waits && !isWanted ? [`${name}: after network-online.target, but nothing wants it`] : []),
    ];
  });
};

/** system/boot/loader/grub/grub.nix */
const grub: Rule = (configuration) => {
  const loader = at(configuration, 'boot', 'loader');
  const mirrors = listAt(loader, 'grub', 'mirroredBoots');
  const devices = mirrors.flatMap((mirror) => textsAt(mirror, 'devices')).filter((device) => device !== 'nodev');
  const isOn = at(loader, 'grub', 'enable') === true;
  return [
    ...(isOn &&
    at(loader, 'grub', 'efiInstallAsRemovable') === true &&
    at(loader, 'efi', 'canTouchEfiVariables') === true
      ? ['GRUB both as removable and in the EFI variables']
      : []),
    ...(isOn && mirrors.length === 0 && biosDisks(configuration) === 0 ? ['GRUB on no disk'] : []),
    ...(new Set(devices).size < devices.length ? ['GRUB twice on one disk'] : []),
    ...mirrors.flatMap((mirror) =>
      textsAt(mirror, 'devices').length === 0 ? [`GRUB for ${at(mirror, 'path')} on no disk`] : [],
    ),
  ];
};

/** disko itself adds these to GRUB's devices (lib/types/gpt.nix). */
function biosDisks(configuration: Evaluated): number {
  const disks = at(configuration, 'disko', 'devices', 'disk');
  return namesIn(disks).filter((disk) => {
    const partitions = at(disks, disk, 'content', 'partitions');
    return namesIn(partitions).some((name) => at(partitions, name, 'type') === 'EF02');
  }).length;
}

/** config/users-groups.nix */
const accounts: Rule = (configuration) => {
  const users = at(configuration, 'users', 'users');
  const groups = at(configuration, 'users', 'groups');
  const letsIn = (name: string): boolean =>
    (name === 'root' || textsAt(users, name, 'extraGroups').includes('wheel')) &&
    textsAt(users, name, 'openssh', 'authorizedKeys', 'keys').length > 0;
  const isClosed = at(configuration, 'users', 'mutableUsers') === false;
  return [
    ...(isClosed && !namesIn(users).some(letsIn) ? ['nobody could ever log in'] : []),
    ...namesIn(users).flatMap((name) => {
      const group = at(users, name, 'group');
      if (typeof group !== 'string') return at(users, name, 'isSystemUser') === true ? [`${name} has no group`] : [];
      return namesIn(groups).includes(group) ? [] : [`${name} has the undefined group ${group}`];
    }),
  ];
};

/** tasks/network-interfaces.nix, config/networking.nix */
const links: Rule = (configuration) => {
  const networking = at(configuration, 'networking');
  const interfaces = at(networking, 'interfaces');
  const bonds = at(networking, 'bonds');
  const members = namesIn(bonds).flatMap((bond) => textsAt(bonds, bond, 'interfaces'));
  const hosts = at(networking, 'hosts');
  return [
    ...namesIn(interfaces).flatMap((name) => (name.length < 16 ? [] : [`${name} is too long for a link`])),
    ...members.flatMap((name) =>
      listAt(interfaces, name, 'ipv4', 'addresses').length === 0 ? [] : [`${name} is in a bond and has an address`],
    ),
    ...namesIn(hosts).flatMap((address) =>
      textsAt(hosts, address).includes('localhost') ? [`${address} is called localhost`] : [],
    ),
  ];
};

/** tasks/network-interfaces-scripted.nix sets an MTU with 40-NAME.link; udev applies only the first matching file. */
const linkFiles: Rule = (configuration) => {
  const files = at(configuration, 'systemd', 'network', 'links');
  return namesIn(files).flatMap((file) => {
    const name = String(at(files, file, 'linkConfig', 'Name'));
    const mtu = at(configuration, 'networking', 'interfaces', name, 'mtu') ?? null;
    const isHidden = file < `40-${name}` && mtu !== null && at(files, file, 'linkConfig', 'MTUBytes') !== String(mtu);
    return isHidden ? [`${file}.link hides the MTU of ${name}`] : [];
  });
};

/** tasks/swraid.nix */
const arrays: Rule = (configuration) => {
  const settings = at(configuration, 'boot', 'swraid');
  const alerts = /MAILADDR|PROGRAM/.test(String(at(settings, 'mdadmConf')));
  return at(settings, 'enable') === true && !alerts ? ['RAID arrays without an alert for a failed disk'] : [];
};

/** misc/version.nix, services/networking/firewall-nftables.nix */
const system: Rule = (configuration) => {
  const networking = at(configuration, 'networking');
  const rules = at(networking, 'firewall', 'extraInputRules');
  return [
    ...(at(configuration, 'system', 'stateVersion') ? [] : ['no state version']),
    ...(rules && at(networking, 'nftables', 'enable') !== true ? ['rules although nftables is disabled'] : []),
  ];
};

const RULES: readonly Rule[] = [units, grub, accounts, links, linkFiles, arrays, system];

export const objectionsIn = (configuration: Evaluated): string[] => RULES.flatMap((rule) => rule(configuration));

function listAt(value: Evaluated | undefined, ...path: readonly string[]): readonly Evaluated[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

const textsAt = (value: Evaluated | undefined, ...path: readonly string[]): string[] =>
  listAt(value, ...path).filter((one) => typeof one === 'string');
