// What happens in MAAS while nobody asks: commissioning, installation, release and erasure go on with the clock, and leave events and results.

import { type DoubleMachine, type DoubleResult, S } from './machine.ts';

const MINUTE = 60_000;

export interface DoubleEvent {
  id: number;
  node: string;
  hostname: string;
  level: 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';
  type: string;
  description: string;
  created: number;
  /** When it becomes visible: node messages are batched, and rows may be committed in another order than their ids. */
  visible: number;
}

export interface MaasAtWork {
  readonly now: number;
  readonly minor: number;
  readonly syncInterval: number;
  readonly nextId: () => number;
  readonly event: (machine: DoubleMachine, level: DoubleEvent['level'], type: string, description?: string) => void;
}

const INSTALL_OK = 'curtin: Installation started.\nimage written\ncurtin: Installation finished.\n';
const INSTALL_DISK =
  "curtin: Installation started.\nCommand: ['sgdisk', '--new', '0:2048:']\nsgdisk: Problem opening /dev/sda for writing: I/O error\n" +
  'curtin: Installation failed with exception: Unexpected error while running command.\n';
const INSTALL_NETWORK =
  'curtin: Installation started.\nE: Failed to fetch http://archive/x.deb Temporary failure resolving\npassword=hunter2secret\n' +
  'curtin: Installation failed with exception: Unexpected error while running command.\n';

export function progress(machine: DoubleMachine, around: MaasAtWork): void {
  const { now } = around;
  const age = now - machine.since;
  if (machine.ownerUntil !== null && now >= machine.ownerUntil) {
    machine.owner = null;
    machine.ownerUntil = null;
    machine.power.state = 'off';
  }
  const { commissioning = 'passes', erasing = 'passes', releasing = 'passes' } = machine.behaviour;
  switch (machine.status) {
    case S.COMMISSIONING:
      commission(machine, age, commissioning, around);
      break;
    case S.DEPLOYING:
      deploy(machine, age, around);
      break;
    case S.RELEASING:
      if (releasing === 'fails-once' && age >= 5 * MINUTE) {
        machine.behaviour.releasing = 'passes';
        around.event(machine, 'ERROR', 'Failed to power off node', 'timed out');
        move(machine, S.RELEASING_FAILED, now);
      } else if (releasing !== 'fails-once' && age >= (releasing === 'slow' ? 4 * MINUTE : 20_000))
        released(machine, around);
      return;
    case S.DISK_ERASING:
      if (erasing === 'stuck' || age < 2 * MINUTE) return;
      around.event(
        machine,
        erasing === 'fails' ? 'ERROR' : 'INFO',
        erasing === 'fails' ? 'Failed to erase disks' : 'Erased disks',
      );
      if (erasing === 'fails') move(machine, S.FAILED_DISK_ERASING, now);
      else move(machine, S.RELEASING, now);
      return;
    case S.DEPLOYED:
      if (machine.hwSync && !machine.behaviour.syncStalls) {
        const due = Math.floor((now - machine.since) / around.syncInterval);
        machine.lastSync = machine.since + due * around.syncInterval;
      }
      return;
  }
}

export function move(machine: DoubleMachine, status: number, now: number): void {
  machine.previous = machine.status;
  machine.status = status;
  machine.since = now;
  machine.phase = 0;
}

export function released(machine: DoubleMachine, { now, event }: Pick<MaasAtWork, 'now' | 'event'>): void {
  move(machine, machine.commissioned ? S.READY : S.NEW, now);
  machine.owner = null;
  machine.annotations = {};
  machine.agentName = '';
  machine.series = '';
  machine.userData = null;
  machine.hwSync = false;
  machine.lastSync = null;
  machine.power.state = 'off';
  machine.results = machine.results.filter(({ set }) => set !== 'installation');
  for (const card of machine.interfaces) for (const link of card.links) delete link.ip;
  event(machine, 'INFO', 'Released');
}

function step(machine: DoubleMachine, index: number, due: boolean, run: () => void): void {
  if (!due || machine.phase !== index) return;
  machine.phase = index + 1;
  run();
}

function commission(machine: DoubleMachine, age: number, how: string, around: MaasAtWork): void {
  const { event, now, nextId } = around;
  if (how === 'silent' || how === 'stuck') {
    if (how === 'stuck') step(machine, 0, age >= 30_000, () => event(machine, 'INFO', 'Performing PXE boot'));
    if (age < 30 * MINUTE) return;
    event(machine, 'ERROR', 'Marking node failed', "Node operation 'Commissioning' timed out after 30 minutes.");
    move(machine, S.FAILED_COMMISSIONING, now);
    return;
  }
  step(machine, 0, age >= 30_000, () => event(machine, 'INFO', 'Performing PXE boot'));
  step(machine, 1, age >= MINUTE, () => {
    event(machine, 'INFO', 'Loading ephemeral');
    discoverCards(machine, nextId);
  });
  step(machine, 2, age >= 2 * MINUTE, () => event(machine, 'INFO', 'Gathering information'));
  if (age < 5 * MINUTE) return;
  const fails = how === 'fails' || how === 'disk-test-fails';
  addResult(machine, nextId, 'commissioning', '20-maas-01-install-lldpd', 2, 0, 'ok');
  if (how === 'disk-test-fails')
    addResult(machine, nextId, 'testing', 'smartctl-validate', 3, 1, 'SMART overall-health: FAILED\n');
  if (how === 'fails')
    addResult(machine, nextId, 'commissioning', '50-maas-01-commissioning', 3, 1, 'Traceback: no such thing\n');
  machine.commissioned = true;
  event(machine, fails ? 'ERROR' : 'INFO', fails ? 'Failed commissioning' : 'Ready');
  move(machine, how === 'disk-test-fails' ? S.FAILED_TESTING : fails ? S.FAILED_COMMISSIONING : S.READY, now);
  // Ready precedes the release of the owner and the power-off.
  machine.ownerUntil = now + (machine.behaviour.ownerLingers ?? 10_000);
}

function deploy(machine: DoubleMachine, age: number, around: MaasAtWork): void {
  const { event, now, nextId, minor } = around;
  const how = machine.behaviour.deploying ?? 'passes';
  const timeOut = (): void => {
    event(
      machine,
      'ERROR',
      'Marking node failed',
      minor >= 7 ? 'time-out during deployment' : "Node operation 'Deploying' timed out after 30 minutes.",
    );
    move(machine, S.FAILED_DEPLOYMENT, now);
  };
  if (how === 'silent') {
    if (age >= 30 * MINUTE) timeOut();
    return;
  }
  step(machine, 0, age >= 30_000, () => event(machine, 'INFO', 'Performing PXE boot'));
  step(machine, 1, age >= MINUTE, () => event(machine, 'INFO', 'Loading ephemeral'));
  step(machine, 2, age >= 2 * MINUTE, () => {
    for (const card of machine.interfaces)
      for (const link of card.links) if (link.mode === 'auto') link.ip = `10.5.0.${100 + card.id}`;
    event(machine, 'INFO', 'Installing OS');
  });
  if (how === 'stuck') {
    if (age >= 30 * MINUTE) timeOut();
    return;
  }
  if (how === 'curtin-disk' || how === 'curtin-network') {
    if (age < 4 * MINUTE) return;
    addResult(
      machine,
      nextId,
      'installation',
      '/tmp/install.log',
      3,
      3,
      how === 'curtin-disk' ? INSTALL_DISK : INSTALL_NETWORK,
    );
    event(machine, 'ERROR', 'Node installation failure', "'curtin' curtin command install");
    move(machine, S.FAILED_DEPLOYMENT, now);
    return;
  }
  step(machine, 3, age >= 6 * MINUTE, () => {
    addResult(machine, nextId, 'installation', '/tmp/install.log', 2, 0, INSTALL_OK);
    event(machine, 'INFO', 'Installation complete', 'Node disabled netboot');
    event(machine, 'INFO', 'Rebooting');
  });
  if (how === 'datasource') {
    if (age >= 30 * MINUTE) timeOut();
    return;
  }
  if (age < 8 * MINUTE) return;
  event(machine, 'INFO', 'Deployed');
  move(machine, S.DEPLOYED, now);
  if (machine.hwSync) machine.lastSync = now;
}

export function discoverCards(machine: DoubleMachine, nextId: () => number): void {
  if (machine.interfaces.length > 0) return;
  const { bootVlan = 5001 } = machine.behaviour;
  const card = (name: string, octet: string, vlan: number | null) => ({
    ...{
      id: nextId(),
      name,
      vlan,
      mac: `52:54:00:${machine.systemId
        .slice(-2)
        .padStart(2, '0')
        .replace(/[^0-9a-f]/g, '0')}:00:${octet}`,
    },
    links: [{ id: nextId(), mode: 'link_up' as const, subnet: null }],
  });
  machine.interfaces = [card('ens1', '01', bootVlan), card('ens2', '02', 5002)];
}

function addResult(
  machine: DoubleMachine,
  nextId: () => number,
  set: DoubleResult['set'],
  name: string,
  status: number,
  exit: number,
  output: string,
): void {
  machine.results.push({ id: nextId(), set, name, status, exit, output });
}
