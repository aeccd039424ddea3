// The catalogue of faults, the cheapest first, and the causes that no fault of the rack leads to.

import { APPLIANCE_FAULTS } from './catalogue/appliance-faults.ts';
import { MACHINE_FAULTS } from './catalogue/machine-faults.ts';
import { NETWORK_FAULTS } from './catalogue/network-faults.ts';
import { SYSTEM_FAULTS } from './catalogue/system-faults.ts';
import type { Fault } from './fault.ts';

export const CATALOGUE: readonly Fault[] = [
  ...NETWORK_FAULTS,
  ...MACHINE_FAULTS,
  ...APPLIANCE_FAULTS,
  ...SYSTEM_FAULTS,
];

/** Causes that no fault of the catalogue can lead to, with the reason. Their rules are tested in test/trail/diagnose.test.ts. */
export const NOT_INJECTED: Readonly<Record<string, string>> = {
  removed: 'a removed machine has no name any more; diagnose answers that there is no such node',
  'listener-missing':
    'the appliance does not start without its listeners; an interface that vanishes takes the rack with it',
  'appliance-clock-wrong': 'the appliance has the clock of the machine that runs the tests',
  'session-refused':
    'a ticket can be presented only by a program that read it from another machine; tested in test/attacks',
  'sent-elsewhere':
    'the decision and the state come from one store: they differ only while a command is being carried out',
  'loader-not-running': 'SeaBIOS starts every loader that it fetched whole',
  'boot-loop': 'SeaBIOS and OVMF stop after one round; firmware that starts over without end is not in the rack',
  'address-refused': 'a lease of another network needs a machine that moves without a restart',
  'address-in-use': 'iPXE, OVMF and the service OS do not look whether their address is taken',
  'no-answer-by-policy': 'all machines of the rack are declared, and its network answers all others',
  'system-not-started': 'the machines of the rack have serial consoles, which name the reason',
  'boots-network-again': 'the BMC of the rack keeps the boot order that it was told',
  'certificate-expired': 'certificates of the rack outlive its runs; tested with the real agent in test/node-agent',
  'certificate-stale': 'needs two rotations of the authority in one run; tested in test/servers/node-api',
  'certificate-refused':
    'a certificate is revoked when its node is removed or enrolls again; tested in test/servers/node-api',
  'node-api-wrong-path': 'the agent of the rack has the URL of its bundle; tested in test/servers/node-api',
  'node-unreachable':
    'the agent keeps its network while its machine runs; the faults of the network stop the installation first',
  'agent-settings-stale': 'the rack keeps its addresses; tested with the real agent in test/node-agent',
  'agent-update-failed': 'the rack installs the agent of its appliance; tested with the real agent in test/node-agent',
  'authority-unknown':
    'the installed files contain the authority of the appliance that made them; tested with curl in test/servers/node-api',
  'node-handshake-failed': 'no proxy or old TLS library is between the machines of the rack and the appliance',
  'enrollment-refused': 'a token is refused when another machine used it first; tested in test/attacks',
  'boot-device-not-kept':
    'the BMC of the rack keeps the boot device that it accepted; tested with ipmi_sim in test/bmc/ipmi',
  'switch-port-shared': 'the machines of the rack declare no switch ports; tested in test/api/diagnosis.test.ts',
  'first-boot-part-failed':
    'a first boot reports it with its token; tested in test/servers/node-api and test/render/bundle',
  'unit-failed': 'reported by the agent of a running node; tested with the real agent in test/node-agent',
  'cloud-init-errors': 'reported by the agent of a running node; tested with the real agent in test/node-agent',
  'node-clock-off': 'a clock that is off in the rack is off before the enrollment; tested in test/servers/node-api',
  'stranger-appeared': 'all machines of the rack are known by their chassis; then the cause is card-replaced',
};

const NOT_YET = 'no run with this fault is recorded yet';

/** Faults without a recording, with the reason. A refused command leaves nothing to record. */
export const NOT_RECORDED: Readonly<Record<string, string>> = {
  'cable-out-briefly': NOT_YET,
  'switch-dead': NOT_YET,
  'other-dhcp-server': NOT_YET,
  'pool-taken': NOT_YET,
  'cable-out-at-initrd': NOT_YET,
  'power-cut-in-erase': NOT_YET,
  'reset-in-write-image': NOT_YET,
  'disk-too-small': NOT_YET,
  'disk-read-only': NOT_YET,
  'disk-hangs': NOT_YET,
  'initrd-truncated': NOT_YET,
  'initrd-removed': NOT_YET,
  'state-disk-full': NOT_YET,
  'appliance-killed': NOT_YET,
  'node-api-blocked-at-rehearsal': NOT_YET,
  'system-without-agent': NOT_YET,
  'node-api-blocked': NOT_YET,
  'clock-years-back': NOT_YET,
  'user-data-broken': NOT_YET,
  'heartbeats-blocked': NOT_YET,
  'unplugged-while-active': NOT_YET,
  'switched-off-while-active': NOT_YET,
};

export const faultById = (id: string): Fault => {
  const fault = CATALOGUE.find((each) => each.id === id);
  if (fault) return fault;
  throw new Error(`the catalogue has no fault ${id}; it has ${CATALOGUE.map((each) => each.id).join(', ')}`);
};
