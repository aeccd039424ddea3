// Handlers of the BMC operations.

import { chooseNetworkOnce } from '../../bmc/access/choose-network.ts';
import type { Bmc } from '../../bmc/bmc.ts';
import type { BMC_OPERATIONS } from '../../contract/operations/bmc.ts';
import type { PowerAction } from '../../contract/power-actions.ts';
import type { Machine } from '../../domain/machine.ts';
import { Secret } from '../../domain/secret.ts';
import { networkStart } from '../../machines/power-boot.ts';
import { carryConsole } from '../carry-console.ts';
import { findNode } from '../find-node.ts';
import { type Handlers, RawAnswer } from '../handler.ts';
import { CONSOLE_PROTOCOL } from '../upgrade.ts';
import { consoleLogView, logEntryView, quirkView, sensorView } from '../views/bmc.ts';

const DO_POWER: Readonly<Record<PowerAction, (bmc: Bmc) => Promise<void>>> = {
  on: (bmc) => bmc.powerOn(),
  off: (bmc) => bmc.powerOff(),
  cycle: (bmc) => bmc.powerCycle(),
  reset: (bmc) => bmc.powerReset(),
  soft: (bmc) => bmc.powerSoft(),
};

/** Actions after which the machine boots. */
const STARTS: readonly PowerAction[] = ['on', 'cycle', 'reset'];

const answered = (machine: Machine, mode: 'real' | 'recorder') => ({ node: machine.spec.hostname, mode });

export const bmcHandlers: Handlers<keyof typeof BMC_OPERATIONS> = {
  async getNodePower(deps, { params }) {
    const machine = await findNode(deps, params.node);
    const { mode, result } = await deps.bmc.nodes.ask(machine, (bmc) => bmc.powerState());
    return { ...answered(machine, mode), power: result };
  },

  async setNodePower(deps, { params, body: { action }, origin }) {
    const machine = await findNode(deps, params.node);
    const start = STARTS.includes(action) ? networkStart(machine) : null;
    const wish = { what: 'power', details: { action, ...(start !== null && { device: 'network' }) } } as const;
    const { mode, result } = await deps.bmc.nodes.act(machine, origin, wish, async (bmc) => {
      // A machine that is on does not start, and the override would wait for a later boot.
      const starts = start !== null && !(action === 'on' && (await bmc.powerState()) === 'on');
      if (starts) await chooseNetworkOnce(bmc, machine);
      await DO_POWER[action](bmc);
      return { power: await bmc.powerState(), note: starts ? start : null };
    });
    return { ...answered(machine, mode), power: result.power, ...(result.note !== null && { note: result.note }) };
  },

  async setNodeBootDevice(deps, { params, body, origin }) {
    const { device, persistent = false, firmware = null } = body;
    const choice = { device, persistent, firmware };
    const machine = await findNode(deps, params.node);
    const wish = { what: 'bootdev', details: choice } as const;
    const { mode, result } = await deps.bmc.nodes.act(machine, origin, wish, (bmc) => bmc.setBoot(choice));
    return { ...answered(machine, mode), device: result.device, differences: [...result.differences] };
  },

  async identifyNode(deps, { params, body: { light }, origin }) {
    const machine = await findNode(deps, params.node);
    const { mode } = await deps.bmc.nodes.act(machine, origin, { what: 'identify', details: { light } }, (bmc) =>
      bmc.identify(typeof light === 'number' ? { seconds: light } : light),
    );
    return answered(machine, mode);
  },

  async getNodeSensors(deps, { params }) {
    const machine = await findNode(deps, params.node);
    const { mode, result } = await deps.bmc.nodes.ask(machine, (bmc) => bmc.sensors());
    return { ...answered(machine, mode), sensors: result.map(sensorView) };
  },

  async getNodeEventLog(deps, { params }) {
    const machine = await findNode(deps, params.node);
    const { mode, result } = await deps.bmc.nodes.ask(machine, (bmc) => bmc.eventLog());
    return { ...answered(machine, mode), entries: result.map(logEntryView) };
  },

  async clearNodeEventLog(deps, { params, origin }) {
    const machine = await findNode(deps, params.node);
    const wish = { what: 'clear-event-log', details: {} } as const;
    const { mode } = await deps.bmc.nodes.act(machine, origin, wish, (bmc) => bmc.clearEventLog());
    return answered(machine, mode);
  },

  async openNodeConsole(deps, { params, query: { steal = false, read_only = false }, origin, log, upgrade }) {
    const takeStream = upgrade(CONSOLE_PROTOCOL);
    const machine = await findNode(deps, params.node);
    const opened = await deps.bmc.nodes.openConsole(machine, origin, { steal, readOnly: read_only });
    log.info({ node: machine.spec.hostname, actor: origin.actor, steal, read_only }, 'console opened');
    const because = await carryConsole(opened.console, takeStream());
    await opened.closed(because);
    log.info({ node: machine.spec.hostname, actor: origin.actor, because }, 'console closed');
    return new RawAnswer(101, 'taken-over');
  },

  async getNodeConsoleLog(deps, { params, query: { lines = 200, boot = 'current' } }) {
    const machine = await findNode(deps, params.node);
    const log = await deps.bmc.consoleLog(machine, boot, lines);
    return { node: machine.spec.hostname, boot, ...consoleLogView(log) };
  },

  async setBmcCredentials(deps, { params, body, origin }) {
    const { username, password, key, check = true } = body;
    const machine = await findNode(deps, params.node);
    const login = { username, password: new Secret(password), key: key === undefined ? null : new Secret(key) };
    const { checked } = await deps.bmc.keys.set(machine, origin, login, check);
    return { node: machine.spec.hostname, username, checked };
  },

  async rotateBmcPassword(deps, { params, origin }) {
    const machine = await findNode(deps, params.node);
    const { mode, result } = await deps.bmc.keys.rotate(machine, origin);
    return { node: machine.spec.hostname, mode, username: result.username };
  },

  async forgetBmcCertificate(deps, { params, origin }) {
    const machine = await findNode(deps, params.node);
    await deps.bmc.keys.forgetCertificate(machine, origin);
    return { node: machine.spec.hostname };
  },

  listBmcQuirks: async ({ store }) => ({ quirks: (await store.bmcQuirks()).map(quirkView) }),

  scanForBmcs: async ({ bmc }, { body, origin }) => ({ found: await bmc.scan(body.networks ?? null, origin) }),
};
